// Filters, methods, tests and operators of the template language, with Python's results.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "text/template/value.h"

namespace sluice::text {

using NamedValues = std::vector<std::pair<std::string, Value>>;

// Messages do not name the line: the evaluator adds it.
Result<Value> apply_filter(std::string_view name, const Value& value, const ValueList& arguments,
                           const NamedValues& named);
Result<Value> call_method(std::string_view name, const Value& value, const ValueList& arguments);
Result<Value> apply_operator(std::string_view op, const Value& a, const Value& b);
bool passes_test(std::string_view name, const Value& value);
// As {{ value }} prints it; undefined prints nothing.
Result<MarkedText> to_text(const Value& value);
// Python's json.dumps(value, ensure_ascii=False); `indent` < 0: on one line. Values are at most
// kValueDepthMax deep.
Result<MarkedText> to_json(const Value& value, int indent);

}  // namespace sluice::text
