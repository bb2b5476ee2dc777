#include "text/detokenizer.h"

#include "text/tokenizer/unicode.h"

namespace sluice::text {
namespace {

// Bytes at the end of `text` that may be the beginning of a character.
std::size_t incomplete_tail(std::string_view text) {
  for (std::size_t back = 1; back <= 3 && back <= text.size(); ++back) {
    const auto lead = static_cast<unsigned char>(text[text.size() - back]);
    if ((lead & 0xC0U) == 0x80) continue;
    const std::size_t size = lead >= 0xF0 && lead <= 0xF4 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC2 ? 2 : 1;
    return lead <= 0xF4 && size > back ? back : 0;
  }
  return 0;
}

}  // namespace

std::string Detokenizer::push(std::string_view bytes) {
  held_ += bytes;
  const std::size_t complete = held_.size() - incomplete_tail(held_);
  std::string out;
  const std::string_view ready(held_.data(), complete);
  for (std::size_t at = 0; at < complete;) {
    const std::size_t begin = at;
    const char32_t c = next_code_point(ready, at);
    const bool is_bad = c == kReplacement && at - begin == 1;
    if (!is_bad)
      out += ready.substr(begin, at - begin);
    else if (!was_bad_)
      append_utf8(out, kReplacement);
    was_bad_ = is_bad;
  }
  held_.erase(0, complete);
  return out;
}

}  // namespace sluice::text
