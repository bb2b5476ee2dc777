#include "text/template/parser.h"

#include "text/template/expression_parser.h"

namespace sluice::text {
namespace {

using TokenKind = TemplateToken::Kind;

class Parser : private ExpressionParser {
 public:
  using ExpressionParser::ExpressionParser;

  Result<NodeList> run() {
    NodeList nodes;
    SLUICE_TRY(const std::string end, parse_nodes(nodes));
    if (!end.empty())
      return fail(ErrorCode::kInvalidArgument, "line {}: {} without its beginning", peek().line, end);
    return nodes;
  }

 private:
  // Nodes up to a block that ends or continues an outer one, whose name is returned (its tag still open).
  Result<std::string> parse_nodes(NodeList& nodes) {
    if (++depth_ > kNestingMax)
      return fail(ErrorCode::kInvalidArgument, "line {}: nested too deeply", peek().line);
    while (peek().kind != TokenKind::kEnd) {
      auto node = std::make_unique<Node>();
      node->line = peek().line;
      if (peek().kind == TokenKind::kText) {
        node->text = tokens_[at_++].text;
      } else if (peek().kind == TokenKind::kOutputBegin) {
        ++at_;
        node->kind = Node::Kind::kOutput;
        SLUICE_TRY(node->expression, parse_expression());
        SLUICE_TRY_STATUS(expect(TokenKind::kOutputEnd, "}}"));
      } else {
        SLUICE_TRY_STATUS(expect(TokenKind::kBlockBegin, "a block"));
        SLUICE_TRY(const std::string word, take_word());
        if (word == "elif" || word == "else" || word == "endif" || word == "endfor") {
          --depth_;
          return word;
        }
        SLUICE_TRY_STATUS(parse_block(word, *node));
      }
      nodes.push_back(std::move(node));
    }
    --depth_;
    return std::string();
  }

  Status parse_block(const std::string& word, Node& node) {
    if (word == "if") return parse_if(node);
    if (word == "for") return parse_for(node);
    if (word == "set") return parse_set(node);
    return unsupported("block", word);
  }

  Status parse_if(Node& node) {
    node.kind = Node::Kind::kIf;
    SLUICE_TRY(node.expression, parse_expression());
    SLUICE_TRY_STATUS(expect(TokenKind::kBlockEnd, "%}"));
    SLUICE_TRY(std::string end, parse_nodes(node.body));
    if (end == "elif") {
      auto inner = std::make_unique<Node>();
      inner->line = peek().line;
      if (++depth_ > kNestingMax)
        return fail(ErrorCode::kInvalidArgument, "line {}: more than {} elif", inner->line, kNestingMax);
      SLUICE_TRY_STATUS(parse_if(*inner));  // takes the endif
      --depth_;
      node.otherwise.push_back(std::move(inner));
      return {};
    }
    if (end == "else") {
      SLUICE_TRY_STATUS(expect(TokenKind::kBlockEnd, "%}"));
      SLUICE_TRY(end, parse_nodes(node.otherwise));
    }
    if (end != "endif") return fail(ErrorCode::kInvalidArgument, "line {}: if without endif", node.line);
    return expect(TokenKind::kBlockEnd, "%}");
  }

  Status parse_for(Node& node) {
    node.kind = Node::Kind::kFor;
    do {
      SLUICE_TRY(std::string target, take_word());
      node.targets.push_back(std::move(target));
    } while (take_symbol(","));
    if (!take_name("in")) return fail(ErrorCode::kInvalidArgument, "line {}: for without in", node.line);
    SLUICE_TRY(node.expression, parse_or());
    if (take_name("if")) {
      SLUICE_TRY(node.filter, parse_expression());
    }
    SLUICE_TRY_STATUS(expect(TokenKind::kBlockEnd, "%}"));
    SLUICE_TRY(std::string end, parse_nodes(node.body));
    if (end == "else") {
      SLUICE_TRY_STATUS(expect(TokenKind::kBlockEnd, "%}"));
      SLUICE_TRY(end, parse_nodes(node.otherwise));
    }
    if (end != "endfor") return fail(ErrorCode::kInvalidArgument, "line {}: for without endfor", node.line);
    return expect(TokenKind::kBlockEnd, "%}");
  }

  Status parse_set(Node& node) {
    node.kind = Node::Kind::kSet;
    SLUICE_TRY(std::string target, take_word());
    node.targets.push_back(std::move(target));
    if (take_symbol(".")) {
      SLUICE_TRY(node.text, take_word());
    }
    if (!is_symbol("=")) return unsupported("form of set", peek().text);
    ++at_;
    SLUICE_TRY(node.expression, parse_expression());
    return expect(TokenKind::kBlockEnd, "%}");
  }
};

}  // namespace

Result<NodeList> parse_template(std::string_view source) {
  if (source.size() > kTemplateBytesMax) {
    return fail(ErrorCode::kInvalidArgument, "the template has {} bytes, limit {}", source.size(),
                kTemplateBytesMax);
  }
  SLUICE_TRY(auto tokens, lex_template(source));
  return Parser(std::move(tokens)).run();
}

}  // namespace sluice::text
