// Expressions of the template language: precedence climbing over a token list. parser.h adds the statements.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/template/ast.h"
#include "text/template/lexer.h"

namespace sluice::text {

inline constexpr int kNestingMax = 100;          // of blocks and brackets
inline constexpr int kExpressionDepthMax = 200;  // of a tree: also chains such as a + b + c or x.a.b.c

class ExpressionParser {
 public:
  explicit ExpressionParser(std::vector<TemplateToken> tokens) : tokens_(std::move(tokens)) {}

  // With `a if b else c`. Errors name line and construct.
  Result<ExpressionPtr> parse_expression();
  // Without it: the iterable of a for, whose own `if` follows.
  Result<ExpressionPtr> parse_or();

 protected:
  const TemplateToken& peek(std::size_t ahead = 0) const;
  bool is_symbol(std::string_view text) const;
  bool is_name(std::string_view text) const;
  bool take_symbol(std::string_view text);
  bool take_name(std::string_view text);
  Status expect(TemplateToken::Kind kind, const char* what);
  Status expect_symbol(std::string_view text);
  Result<std::string> take_word();
  tl::unexpected<Error> unsupported(std::string_view what, std::string_view name) const;

  std::vector<TemplateToken> tokens_;
  std::size_t at_ = 0;
  int depth_ = 0;

 private:
  ExpressionPtr make(Expression::Kind kind) const;
  Result<ExpressionPtr> binary(std::string op, ExpressionPtr a, ExpressionPtr b) const;
  // Sets the depth of a node whose children are complete; error when it is too deep.
  static Result<ExpressionPtr> complete(ExpressionPtr expression);
  Result<ExpressionPtr> parse_and();
  Result<ExpressionPtr> parse_not();
  Result<ExpressionPtr> parse_comparison();
  Result<ExpressionPtr> parse_binary(int level);
  Result<ExpressionPtr> parse_unary();
  Result<ExpressionPtr> parse_primary();
  Result<ExpressionPtr> parse_name();
  Result<ExpressionPtr> parse_brackets();
  Result<ExpressionPtr> parse_postfix(ExpressionPtr value);
  Result<ExpressionPtr> parse_subscript(ExpressionPtr value);
  Result<ExpressionPtr> parse_member(ExpressionPtr value);
  Status parse_arguments(Expression& call);
};

}  // namespace sluice::text
