#include "text/template/expression_parser.h"

#include <algorithm>
#include <array>

namespace sluice::text {

using TokenKind = TemplateToken::Kind;
using Kind = Expression::Kind;

namespace {

constexpr std::array kFunctions = {"namespace", "range", "raise_exception"};
constexpr std::array kMethods = {"startswith", "endswith", "split", "strip", "lstrip", "rstrip", "replace",
                                 "upper",      "lower",    "items", "keys",  "values", "get"};
constexpr std::array kFilters = {"tojson", "trim", "length",  "count",  "upper", "lower", "join",
                                 "first",  "last", "default", "string", "list",  "items", "safe"};
constexpr std::array kTests = {"defined", "undefined", "none",    "string", "mapping", "iterable", "sequence",
                               "number",  "integer",   "boolean", "true",   "false",   "odd",      "even"};

template <typename Names>
bool contains(const Names& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

}  // namespace

const TemplateToken& ExpressionParser::peek(std::size_t ahead) const {
  return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
}
bool ExpressionParser::is_symbol(std::string_view text) const {
  return peek().kind == TokenKind::kSymbol && peek().text == text;
}
bool ExpressionParser::is_name(std::string_view text) const {
  return peek().kind == TokenKind::kName && peek().text == text;
}
bool ExpressionParser::take_symbol(std::string_view text) {
  if (!is_symbol(text)) return false;
  ++at_;
  return true;
}
bool ExpressionParser::take_name(std::string_view text) {
  if (!is_name(text)) return false;
  ++at_;
  return true;
}
Status ExpressionParser::expect(TokenKind kind, const char* what) {
  if (peek().kind != kind)
    return fail(ErrorCode::kInvalidArgument, "line {}: expected {}, found \"{}\"", peek().line, what,
                peek().text);
  ++at_;
  return {};
}
Status ExpressionParser::expect_symbol(std::string_view text) {
  if (take_symbol(text)) return {};
  return fail(ErrorCode::kInvalidArgument, "line {}: expected \"{}\", found \"{}\"", peek().line, text,
              peek().text);
}
Result<std::string> ExpressionParser::take_word() {
  const std::string word = peek().text;
  SLUICE_TRY_STATUS(expect(TokenKind::kName, "a name"));
  return word;
}
tl::unexpected<Error> ExpressionParser::unsupported(std::string_view what, std::string_view name) const {
  return fail(ErrorCode::kUnimplemented, "line {}: {} \"{}\" is not supported", peek().line, what, name);
}

ExpressionPtr ExpressionParser::make(Kind kind) const {
  auto expression = std::make_unique<Expression>();
  expression->kind = kind;
  expression->line = peek().line;
  return expression;
}
Result<ExpressionPtr> ExpressionParser::binary(std::string op, ExpressionPtr a, ExpressionPtr b) const {
  auto expression = make(Kind::kBinary);
  expression->text = std::move(op);
  expression->a = std::move(a);
  expression->b = std::move(b);
  return complete(std::move(expression));
}
Result<ExpressionPtr> ExpressionParser::complete(ExpressionPtr expression) {
  const auto add = [&](const ExpressionPtr& child) {
    if (child) expression->depth = std::max(expression->depth, child->depth + 1);
  };
  for (const ExpressionPtr* child : {&expression->a, &expression->b, &expression->c}) add(*child);
  for (const ExpressionPtr& item : expression->items) add(item);
  for (const auto& [name, value] : expression->named) add(value);
  if (expression->depth <= kExpressionDepthMax) return expression;
  return fail(ErrorCode::kInvalidArgument, "line {}: an expression is deeper than {}", expression->line,
              kExpressionDepthMax);
}

Result<ExpressionPtr> ExpressionParser::parse_expression() {
  if (++depth_ > kNestingMax)
    return fail(ErrorCode::kInvalidArgument, "line {}: nested too deeply", peek().line);
  SLUICE_TRY(ExpressionPtr value, parse_or());
  if (take_name("if")) {
    auto condition = make(Kind::kCondition);
    condition->a = std::move(value);
    SLUICE_TRY(condition->b, parse_or());
    if (take_name("else")) {
      SLUICE_TRY(condition->c, parse_expression());
    }
    SLUICE_TRY(value, complete(std::move(condition)));
  }
  --depth_;
  return value;
}

Result<ExpressionPtr> ExpressionParser::parse_or() {
  SLUICE_TRY(ExpressionPtr left, parse_and());
  while (take_name("or")) {
    SLUICE_TRY(ExpressionPtr right, parse_and());
    SLUICE_TRY(left, binary("or", std::move(left), std::move(right)));
  }
  return left;
}

Result<ExpressionPtr> ExpressionParser::parse_and() {
  SLUICE_TRY(ExpressionPtr left, parse_not());
  while (take_name("and")) {
    SLUICE_TRY(ExpressionPtr right, parse_not());
    SLUICE_TRY(left, binary("and", std::move(left), std::move(right)));
  }
  return left;
}

Result<ExpressionPtr> ExpressionParser::parse_not() {
  std::size_t count = 0;
  while (take_name("not")) ++count;
  SLUICE_TRY(ExpressionPtr value, parse_comparison());
  for (; count > 0; --count) {
    auto negation = make(Kind::kNot);
    negation->a = std::move(value);
    SLUICE_TRY(value, complete(std::move(negation)));
  }
  return value;
}

Result<ExpressionPtr> ExpressionParser::parse_comparison() {
  SLUICE_TRY(ExpressionPtr left, parse_binary(0));
  for (bool is_chained = false;; is_chained = true) {
    std::string op;
    for (const char* symbol : {"==", "!=", "<=", ">=", "<", ">"})
      if (op.empty() && take_symbol(symbol)) op = symbol;
    if (op.empty() && take_name("in")) op = "in";
    if (op.empty() && is_name("not") && peek(1).text == "in") {
      at_ += 2;
      op = "not in";
    }
    if (op.empty()) return left;
    if (is_chained) return unsupported("chained comparison", op);  // Python's a < b < c
    SLUICE_TRY(ExpressionPtr right, parse_binary(0));
    SLUICE_TRY(left, binary(op, std::move(left), std::move(right)));
  }
}

// ~, then + and -, then * / // %.
Result<ExpressionPtr> ExpressionParser::parse_binary(int level) {
  static const std::vector<std::string> kOperators[] = {{"+", "-"}, {"~"}, {"*", "/", "//", "%"}};
  if (level == 3) return parse_unary();
  SLUICE_TRY(ExpressionPtr left, parse_binary(level + 1));
  while (peek().kind == TokenKind::kSymbol && contains(kOperators[level], peek().text)) {
    const std::string op = tokens_[at_++].text;
    SLUICE_TRY(ExpressionPtr right, parse_binary(level + 1));
    SLUICE_TRY(left, binary(op, std::move(left), std::move(right)));
  }
  return left;
}

Result<ExpressionPtr> ExpressionParser::parse_unary() {
  if (!take_symbol("-")) {
    SLUICE_TRY(ExpressionPtr primary, parse_primary());
    return parse_postfix(std::move(primary));
  }
  auto negation = make(Kind::kNegate);
  SLUICE_TRY(ExpressionPtr primary, parse_primary());
  SLUICE_TRY(negation->a, parse_postfix(std::move(primary)));
  return complete(std::move(negation));
}

Result<ExpressionPtr> ExpressionParser::parse_primary() {
  auto literal = make(Kind::kLiteral);
  const std::string text = peek().text;
  switch (peek().kind) {
    case TokenKind::kString:
      ++at_;
      literal->value = Value::scaffold(text);
      while (peek().kind == TokenKind::kString) {  // neighbours join, as in Python
        literal->value = Value::scaffold(literal->value.text()->chars + tokens_[at_++].text);
      }
      return literal;
    case TokenKind::kInteger:
      ++at_;
      literal->value = {static_cast<std::int64_t>(std::stoll(text))};
      return literal;
    case TokenKind::kFloat:
      ++at_;
      literal->value = {std::stod(text)};
      return literal;
    case TokenKind::kName:
      return parse_name();
    default:
      return parse_brackets();
  }
}

Result<ExpressionPtr> ExpressionParser::parse_name() {
  SLUICE_TRY(const std::string name, take_word());
  auto expression = make(Kind::kLiteral);
  if (name == "true" || name == "True" || name == "false" || name == "False") {
    expression->value = {name == "true" || name == "True"};
    return expression;
  }
  if (name == "none" || name == "None") {
    expression->value = {None{}};
    return expression;
  }
  expression->text = name;
  expression->kind = Kind::kName;
  if (!is_symbol("(")) return expression;
  if (!contains(kFunctions, name)) return unsupported("function", name);
  expression->kind = Kind::kCall;
  SLUICE_TRY_STATUS(parse_arguments(*expression));
  return complete(std::move(expression));
}

Result<ExpressionPtr> ExpressionParser::parse_brackets() {
  if (take_symbol("(")) {
    SLUICE_TRY(ExpressionPtr inner, parse_expression());
    SLUICE_TRY_STATUS(expect_symbol(")"));
    return inner;
  }
  const bool is_list = is_symbol("[");
  if (!is_list && !is_symbol("{")) {
    return fail(ErrorCode::kInvalidArgument, "line {}: expected an expression, found \"{}\"", peek().line,
                peek().text);
  }
  ++at_;
  auto expression = make(is_list ? Kind::kList : Kind::kDict);
  const std::string_view close = is_list ? "]" : "}";
  while (!take_symbol(close)) {
    SLUICE_TRY(ExpressionPtr item, parse_expression());
    expression->items.push_back(std::move(item));
    if (!is_list) {
      SLUICE_TRY_STATUS(expect_symbol(":"));
      SLUICE_TRY(ExpressionPtr value, parse_expression());
      expression->items.push_back(std::move(value));
    }
    if (!take_symbol(",") && !is_symbol(close))
      return expect_symbol(close).map([] { return ExpressionPtr(); });
  }
  return complete(std::move(expression));
}

Result<ExpressionPtr> ExpressionParser::parse_postfix(ExpressionPtr value) {
  while (true) {
    if (take_symbol(".")) {
      SLUICE_TRY(value, parse_member(std::move(value)));
    } else if (take_symbol("[")) {
      SLUICE_TRY(value, parse_subscript(std::move(value)));
    } else if (take_symbol("|")) {
      auto filter = make(Kind::kFilter);
      SLUICE_TRY(filter->text, take_word());
      if (!contains(kFilters, filter->text)) return unsupported("filter", filter->text);
      filter->a = std::move(value);
      if (is_symbol("(")) {
        SLUICE_TRY_STATUS(parse_arguments(*filter));
      }
      SLUICE_TRY(value, complete(std::move(filter)));
    } else if (take_name("is")) {
      auto test = make(Kind::kTest);
      test->negated = take_name("not");
      SLUICE_TRY(test->text, take_word());
      if (!contains(kTests, test->text)) return unsupported("test", test->text);
      test->a = std::move(value);
      SLUICE_TRY(value, complete(std::move(test)));
    } else {
      return value;
    }
  }
}

Result<ExpressionPtr> ExpressionParser::parse_member(ExpressionPtr value) {
  auto member = make(Kind::kMember);
  SLUICE_TRY(member->text, take_word());
  member->a = std::move(value);
  if (!is_symbol("(")) return complete(std::move(member));
  if (!contains(kMethods, member->text)) return unsupported("method", member->text);
  member->kind = Kind::kMethod;
  SLUICE_TRY_STATUS(parse_arguments(*member));
  return complete(std::move(member));
}

Result<ExpressionPtr> ExpressionParser::parse_subscript(ExpressionPtr value) {
  auto slice = make(Kind::kSlice);
  slice->a = std::move(value);
  bool is_slice = false;
  for (int part = 0; part < 3; ++part) {
    ExpressionPtr bound;
    if (!is_symbol(":") && !is_symbol("]")) {
      SLUICE_TRY(bound, parse_expression());
    }
    slice->items.push_back(std::move(bound));
    if (!take_symbol(":")) break;
    is_slice = true;
  }
  SLUICE_TRY_STATUS(expect_symbol("]"));
  slice->items.resize(3);
  if (is_slice) return complete(std::move(slice));
  slice->kind = Kind::kIndex;
  slice->b = std::move(slice->items[0]);
  if (!slice->b) return fail(ErrorCode::kInvalidArgument, "line {}: empty subscript", slice->line);
  return complete(std::move(slice));
}

Status ExpressionParser::parse_arguments(Expression& call) {
  SLUICE_TRY_STATUS(expect_symbol("("));
  while (!take_symbol(")")) {
    if (peek().kind == TokenKind::kName && peek(1).kind == TokenKind::kSymbol && peek(1).text == "=") {
      SLUICE_TRY(std::string name, take_word());
      ++at_;
      SLUICE_TRY(ExpressionPtr value, parse_expression());
      call.named.emplace_back(std::move(name), std::move(value));
    } else {
      SLUICE_TRY(ExpressionPtr value, parse_expression());
      call.items.push_back(std::move(value));
    }
    if (!take_symbol(",") && !is_symbol(")")) return expect_symbol(")");
  }
  return {};
}

}  // namespace sluice::text
