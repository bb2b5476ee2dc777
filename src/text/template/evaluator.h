// Walks a syntax tree and writes the output. Bounded in steps, output and nesting.
#pragma once

#include "base/result.h"
#include "text/template/ast.h"

namespace sluice::text {

inline constexpr std::size_t kStepsMax = 5'000'000;
inline constexpr std::size_t kOutputBytesMax = std::size_t{256} << 20;
inline constexpr std::size_t kWorkBytesMax = std::size_t{512} << 20;  // of all values made on the way
inline constexpr int kValueDepthMax = 64;                             // of lists and mappings in each other

// `globals`: the names a template sees. Errors: kInvalidArgument with the line (raise_exception, wrong types,
// bounds).
Result<MarkedText> evaluate_template(const NodeList& nodes, ValueDict globals);

}  // namespace sluice::text
