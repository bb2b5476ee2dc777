// Syntax tree of a chat template, made by parser.h and walked by evaluator.h.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "text/template/value.h"

namespace sluice::text {

struct Expression;
using ExpressionPtr = std::unique_ptr<Expression>;

struct Expression {
  enum class Kind {
    kLiteral,    // value
    kName,       // text
    kList,       // items
    kDict,       // items: key, value, key, value …
    kNot,        // a
    kNegate,     // a
    kBinary,     // text: operator; a, b
    kCondition,  // a if b else c (c may be null)
    kMember,     // a . text
    kIndex,      // a [ b ]
    kSlice,      // a [ items[0] : items[1] : items[2] ], each may be null
    kCall,       // text: function; items
    kMethod,     // a . text ( items )
    kFilter,     // a | text ( items )
    kTest,       // a is text; `negated`
  } kind = Kind::kLiteral;
  int line = 0;
  std::string text;
  Value value;
  ExpressionPtr a, b, c;
  std::vector<ExpressionPtr> items;
  std::vector<std::pair<std::string, ExpressionPtr>> named;  // keyword arguments
  bool negated = false;
  int depth = 1;  // of the tree below: what walking it needs of the stack
};

struct Node {
  enum class Kind { kText, kOutput, kIf, kFor, kSet } kind = Kind::kText;
  int line = 0;
  std::string text;                  // kText; kSet: attribute of a namespace, or empty
  std::vector<std::string> targets;  // kFor, kSet
  ExpressionPtr expression;          // output, condition, iterable, value
  ExpressionPtr filter;              // kFor: … if filter
  std::vector<std::unique_ptr<Node>> body;
  std::vector<std::unique_ptr<Node>> otherwise;  // else; an elif is an if inside
};
using NodeList = std::vector<std::unique_ptr<Node>>;

}  // namespace sluice::text
