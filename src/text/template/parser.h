// Template source to syntax tree. What the evaluator cannot do is refused here, with line and construct, so a
// model with such a template does not load at all (field report F006).
#pragma once

#include <string_view>

#include "base/result.h"
#include "text/template/ast.h"

namespace sluice::text {

inline constexpr std::size_t kTemplateBytesMax = 1 << 20;

Result<NodeList> parse_template(std::string_view source);

}  // namespace sluice::text
