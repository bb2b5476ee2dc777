#include "text/template/lexer.h"

#include <algorithm>
#include <cctype>

namespace sluice::text {
namespace {

using Kind = TemplateToken::Kind;

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(source) {
    // Jinja drops one line break at the end of the source.
    if (source_.ends_with("\n")) source_.remove_suffix(1);
  }

  Result<std::vector<TemplateToken>> run() {
    while (at_ < source_.size()) {
      const std::size_t open = find_open();
      add_text(source_.substr(at_, open - at_), open);
      if (open == source_.size()) break;
      advance_to(open);
      if (source_[at_ + 1] == '#') {
        SLUICE_TRY_STATUS(skip_comment());
      } else {
        SLUICE_TRY_STATUS(lex_tag());
      }
    }
    add(Kind::kEnd, "");
    return std::move(tokens_);
  }

 private:
  void add(Kind kind, std::string_view text) { tokens_.push_back({kind, std::string(text), line_}); }

  void advance_to(std::size_t position) {
    line_ += static_cast<int>(std::count(source_.begin() + static_cast<std::ptrdiff_t>(at_),
                                         source_.begin() + static_cast<std::ptrdiff_t>(position), '\n'));
    at_ = position;
  }

  std::size_t find_open() const {
    for (std::size_t i = at_; i + 1 < source_.size(); ++i)
      if (source_[i] == '{' && (source_[i + 1] == '{' || source_[i + 1] == '%' || source_[i + 1] == '#'))
        return i;
    return source_.size();
  }

  // Text up to the tag at `open`, after the rules of the tags on both sides.
  void add_text(std::string_view text, std::size_t open) {
    if (strip_next_)
      text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
    else if (trim_newline_ && text.starts_with("\n"))
      text.remove_prefix(1);
    strip_next_ = trim_newline_ = false;
    if (open < source_.size()) {
      const char kind = source_[open + 1];
      const char sign = open + 2 < source_.size() ? source_[open + 2] : ' ';
      if (sign == '-') {
        const std::size_t last = text.find_last_not_of(" \t\r\n");
        text = text.substr(0, last == std::string_view::npos ? 0 : last + 1);
      } else if (kind != '{' &&
                 sign != '+') {  // lstrip_blocks: a tag alone on its line leaves no indentation
        const std::size_t last = text.find_last_not_of(" \t");
        const bool from_line_start = last == std::string_view::npos
                                         ? (text.size() == open || is_line_start(open - text.size()))
                                         : text[last] == '\n';
        if (from_line_start) text = text.substr(0, last == std::string_view::npos ? 0 : last + 1);
      }
    }
    if (!text.empty()) add(Kind::kText, text);
  }
  bool is_line_start(std::size_t position) const { return position == 0 || source_[position - 1] == '\n'; }

  Status skip_comment() {
    const std::size_t end = source_.find("#}", at_ + 2);
    if (end == std::string_view::npos)
      return fail(ErrorCode::kInvalidArgument, "line {}: comment without end", line_);
    strip_next_ = source_[end - 1] == '-';
    trim_newline_ = true;
    advance_to(end + 2);
    return {};
  }

  Status lex_tag() {
    const bool is_block = source_[at_ + 1] == '%';
    add(is_block ? Kind::kBlockBegin : Kind::kOutputBegin, "");
    at_ += 2;
    if (at_ < source_.size() && (source_[at_] == '-' || source_[at_] == '+')) ++at_;
    const std::string_view close = is_block ? "%}" : "}}";
    int depth = 0;  // of braces, so that }} of a dictionary does not end the tag
    while (true) {
      advance_to(std::min(source_.find_first_not_of(" \t\r\n", at_), source_.size()));
      if (at_ >= source_.size()) return fail(ErrorCode::kInvalidArgument, "line {}: tag without end", line_);
      const bool strips = source_[at_] == '-' && source_.substr(at_ + 1, 2) == close;
      if (strips || (depth == 0 && source_.substr(at_, 2) == close)) {
        at_ += strips ? 3 : 2;
        strip_next_ = strips;
        trim_newline_ = is_block;
        add(is_block ? Kind::kBlockEnd : Kind::kOutputEnd, "");
        return {};
      }
      if (source_[at_] == '{') ++depth;
      if (source_[at_] == '}') --depth;
      SLUICE_TRY_STATUS(lex_token());
    }
  }

  Status lex_token() {
    const char c = source_[at_];
    const auto is_word = [](char x) { return std::isalnum(static_cast<unsigned char>(x)) != 0 || x == '_'; };
    if (c == '"' || c == '\'') return lex_string(c);
    if (std::isdigit(static_cast<unsigned char>(c)) != 0) {
      std::size_t end = at_;
      while (end < source_.size() &&
             (std::isdigit(static_cast<unsigned char>(source_[end])) != 0 || source_[end] == '.'))
        ++end;
      const std::string_view digits = source_.substr(at_, end - at_);
      if (digits.size() > 18) return fail(ErrorCode::kInvalidArgument, "line {}: number is too long", line_);
      add(digits.find('.') == std::string_view::npos ? Kind::kInteger : Kind::kFloat, digits);
      at_ = end;
      return {};
    }
    if (is_word(c)) {
      std::size_t end = at_;
      while (end < source_.size() && is_word(source_[end])) ++end;
      add(Kind::kName, source_.substr(at_, end - at_));
      at_ = end;
      return {};
    }
    for (const std::string_view symbol : {"==", "!=", "<=", ">=", "//", "**"}) {
      if (source_.substr(at_, 2) != symbol) continue;
      add(Kind::kSymbol, symbol);
      at_ += 2;
      return {};
    }
    if (std::string_view("+-*/%~|.,:()[]{}<>=").find(c) == std::string_view::npos) {
      return fail(ErrorCode::kInvalidArgument, "line {}: unexpected character '{}'", line_, c);
    }
    add(Kind::kSymbol, source_.substr(at_++, 1));
    return {};
  }

  Status lex_string(char quote) {
    std::string text;
    std::size_t i = at_ + 1;
    for (; i < source_.size() && source_[i] != quote; ++i) {
      if (source_[i] != '\\' || i + 1 >= source_.size()) {
        text += source_[i];
        continue;
      }
      static constexpr std::string_view kFrom = "nrt\\'\"";
      static constexpr std::string_view kTo = "\n\r\t\\'\"";
      const std::size_t known = kFrom.find(source_[++i]);
      if (known == std::string_view::npos) {
        return fail(ErrorCode::kUnimplemented, "line {}: escape \\{} in a string is not supported", line_,
                    source_[i]);
      }
      text += kTo[known];
    }
    if (i >= source_.size()) return fail(ErrorCode::kInvalidArgument, "line {}: string without end", line_);
    add(Kind::kString, text);
    advance_to(i + 1);
    return {};
  }

  std::string_view source_;
  std::size_t at_ = 0;
  int line_ = 1;
  bool strip_next_ = false;
  bool trim_newline_ = false;
  std::vector<TemplateToken> tokens_;
};

}  // namespace

Result<std::vector<TemplateToken>> lex_template(std::string_view source) { return Lexer(source).run(); }

}  // namespace sluice::text
