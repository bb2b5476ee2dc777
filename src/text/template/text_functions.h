// Python's string methods on marked text, which keeps who wrote each byte.
#pragma once

#include <string_view>

#include "base/result.h"
#include "text/template/value.h"

namespace sluice::text {

// No text that a filter or method makes is longer.
inline constexpr std::size_t kTextBytesMax = std::size_t{256} << 20;
Status check_bytes(std::size_t bytes);

// By code points. Null `characters`: Unicode blanks.
MarkedText strip(const MarkedText& text, const MarkedText* characters, bool front, bool back);
ValueList split_blank(const MarkedText& text);
// At most `splits_max` cuts; negative: all.
ValueList split_by(const MarkedText& text, std::string_view separator, std::int64_t splits_max);
Result<MarkedText> replace_all(const MarkedText& text, std::string_view from, const MarkedText& to);
// ASCII alone, which is what templates change the case of (roles, types); other letters are refused, not left
// wrong.
Result<Value> change_case(MarkedText text, bool upper);
std::size_t count_points(std::string_view text);

}  // namespace sluice::text
