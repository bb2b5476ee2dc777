// JSON parsing with the bounds every untrusted document gets. The type is Boost.JSON's; nothing else parses
// JSON.
#pragma once

#include <boost/json/fwd.hpp>
#include <boost/json/value.hpp>
#include <cstddef>
#include <string_view>

#include "base/result.h"

namespace sluice::json {

using boost::json::array;
using boost::json::object;
using boost::json::string;
using boost::json::value;

inline constexpr std::size_t kDepthMax = 64;

// Errors: kInvalidArgument with the byte offset. Refuses invalid UTF-8 and nesting over kDepthMax.
Result<value> parse(std::string_view text);

}  // namespace sluice::json
