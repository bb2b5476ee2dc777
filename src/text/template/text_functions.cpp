#include "text/template/text_functions.h"

#include <algorithm>

namespace sluice::text {
namespace {

// What str.strip() and str.split() of Python take for blank.
bool is_blank(char32_t c) {
  return (c >= 9 && c <= 13) || (c >= 28 && c <= 32) || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
         c == 0x3000;
}

// The code point at `at` and its bytes; a byte that is no UTF-8 stands for itself.
struct Point {
  char32_t value;
  std::size_t bytes;
};
Point point_at(std::string_view text, std::size_t at) {
  const auto first = static_cast<unsigned char>(text[at]);
  const std::size_t bytes = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : first >= 0xC0 ? 2 : 1;
  if (bytes == 1 || at + bytes > text.size()) return {first, 1};
  char32_t value = first & (0x7FU >> bytes);
  for (std::size_t i = 1; i < bytes; ++i)
    value = (value << 6) | (static_cast<unsigned char>(text[at + i]) & 0x3FU);
  return {value, bytes};
}
// The code point that ends before `end`.
Point point_before(std::string_view text, std::size_t end) {
  std::size_t begin = end - 1;
  while (begin > 0 && end - begin < 4 && (text[begin] & 0xC0) == 0x80) --begin;
  const Point point = point_at(text, begin);
  return begin + point.bytes == end ? point : Point{static_cast<unsigned char>(text[end - 1]), 1};
}

}  // namespace

MarkedText strip(const MarkedText& text, const MarkedText* characters, bool front, bool back) {
  const auto goes = [&](std::size_t at, const Point& point) {
    if (characters == nullptr) return is_blank(point.value);
    const std::string_view one = std::string_view(text.chars).substr(at, point.bytes);
    return characters->chars.find(one) != std::string::npos;
  };
  std::size_t begin = 0;
  std::size_t end = text.chars.size();
  while (front && begin < end) {
    const Point point = point_at(text.chars, begin);
    if (!goes(begin, point)) break;
    begin += point.bytes;
  }
  while (back && end > begin) {
    const Point point = point_before(text.chars, end);
    if (!goes(end - point.bytes, point)) break;
    end -= point.bytes;
  }
  return text.substr(begin, end - begin);
}

ValueList split_blank(const MarkedText& text) {
  ValueList parts;
  std::size_t begin = std::string::npos;  // of the part that is open
  for (std::size_t at = 0; at < text.chars.size();) {
    const Point point = point_at(text.chars, at);
    if (is_blank(point.value) && begin != std::string::npos) {
      parts.push_back({text.substr(begin, at - begin)});
      begin = std::string::npos;
    } else if (!is_blank(point.value) && begin == std::string::npos) {
      begin = at;
    }
    at += point.bytes;
  }
  if (begin != std::string::npos) parts.push_back({text.substr(begin)});
  return parts;
}

ValueList split_by(const MarkedText& text, std::string_view separator, std::int64_t splits_max) {
  ValueList parts;
  std::size_t at = 0;
  for (std::int64_t i = 0; splits_max < 0 || i < splits_max; ++i) {
    const std::size_t found = text.chars.find(separator, at);
    if (found == std::string::npos) break;
    parts.push_back({text.substr(at, found - at)});
    at = found + separator.size();
  }
  parts.push_back({text.substr(at)});
  return parts;
}

Status check_bytes(std::size_t bytes) {
  if (bytes <= kTextBytesMax) return {};
  return fail(ErrorCode::kInvalidArgument, "a text of more than {} bytes", kTextBytesMax);
}

Result<MarkedText> replace_all(const MarkedText& text, std::string_view from, const MarkedText& to) {
  MarkedText out;
  const ValueList parts = split_by(text, from, -1);
  SLUICE_TRY_STATUS(check_bytes(text.chars.size() + parts.size() * to.chars.size()));
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) out.append(to);
    out.append(*parts[i].text());
  }
  return out;
}

Result<Value> change_case(MarkedText text, bool upper) {
  for (char& c : text.chars) {
    if ((c & 0x80) != 0) return fail(ErrorCode::kInvalidArgument, "upper and lower work on ASCII text only");
    if (upper && c >= 'a' && c <= 'z') c = static_cast<char>(c - 32);
    if (!upper && c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  }
  return Value{std::move(text)};
}

std::size_t count_points(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

}  // namespace sluice::text
