#include "text/tokenizer/unicode.h"

#include <algorithm>
#include <bitset>
#include <memory>

#include "text/tokenizer/unicode_tables.h"

namespace sluice::text {
namespace {

constexpr std::size_t kPoints = 0x110000;

// One bit per code point: look-ups are the scanner's inner loop.
struct Bits {
  std::unique_ptr<std::bitset<kPoints>> bits = std::make_unique<std::bitset<kPoints>>();
  Bits(const std::uint32_t* ranges, std::size_t size) {
    for (std::size_t i = 0; i < size; i += 2)
      for (std::uint32_t c = ranges[i]; c <= ranges[i + 1]; ++c) bits->set(c);
  }
};

// Hangul syllables compose by arithmetic (Unicode standard 3.12).
constexpr char32_t kSBase = 0xAC00, kLBase = 0x1100, kVBase = 0x1161, kTBase = 0x11A7;
constexpr char32_t kLCount = 19, kVCount = 21, kTCount = 28, kSCount = kLCount * kVCount * kTCount;

unsigned combining_class(char32_t c) {
  const std::uint32_t* end = kCombiningClasses + kCombiningClassesSize;
  const std::uint32_t* found = std::lower_bound(kCombiningClasses, end, static_cast<std::uint32_t>(c) << 8);
  return found != end && *found >> 8 == c ? *found & 0xFFU : 0;
}

void decompose(char32_t c, std::u32string& out) {
  if (c >= kSBase && c < kSBase + kSCount) {
    const char32_t s = c - kSBase;
    out += kLBase + s / (kVCount * kTCount);
    out += kVBase + s % (kVCount * kTCount) / kTCount;
    if (s % kTCount != 0) out += kTBase + s % kTCount;
    return;
  }
  std::size_t low = 0;
  std::size_t high = kDecompositionsSize / 3;
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    if (kDecompositions[3 * middle] < c)
      low = middle + 1;
    else
      high = middle;
  }
  if (low == kDecompositionsSize / 3 || kDecompositions[3 * low] != c) {
    out += c;
    return;
  }
  decompose(kDecompositions[3 * low + 1], out);  // the table is well founded: a few levels at most
  if (kDecompositions[3 * low + 2] != 0) decompose(kDecompositions[3 * low + 2], out);
}

// 0: the pair does not compose.
char32_t compose(char32_t a, char32_t b) {
  if (a >= kLBase && a < kLBase + kLCount && b >= kVBase && b < kVBase + kVCount)
    return kSBase + ((a - kLBase) * kVCount + (b - kVBase)) * kTCount;
  if (a >= kSBase && a < kSBase + kSCount && (a - kSBase) % kTCount == 0 && b > kTBase &&
      b < kTBase + kTCount)
    return a + (b - kTBase);
  std::size_t low = 0;
  std::size_t high = kCompositionsSize / 3;
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    const std::uint32_t* entry = kCompositions + 3 * middle;
    if (entry[0] < a || (entry[0] == a && entry[1] < b))
      low = middle + 1;
    else
      high = middle;
  }
  const std::uint32_t* entry = kCompositions + 3 * low;
  return low < kCompositionsSize / 3 && entry[0] == a && entry[1] == b ? entry[2] : 0;
}

void order_marks(std::u32string& text) {
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i;
    while (end < text.size() && combining_class(text[end]) != 0) ++end;
    if (end > i + 1) {
      std::stable_sort(text.begin() + static_cast<std::ptrdiff_t>(i),
                       text.begin() + static_cast<std::ptrdiff_t>(end),
                       [](char32_t a, char32_t b) { return combining_class(a) < combining_class(b); });
    }
    i = std::max(end, i + 1);
  }
}

void compose_all(std::u32string& text) {
  std::u32string out;
  std::size_t starter = std::u32string::npos;
  unsigned last_class = 0;
  for (const char32_t c : text) {
    const unsigned own = combining_class(c);
    if (starter != std::u32string::npos && (last_class < own || last_class == 0)) {
      const bool is_adjacent = last_class != 0 || starter + 1 == out.size();
      const char32_t joined = is_adjacent ? compose(out[starter], c) : 0;
      if (joined != 0) {
        out[starter] = joined;
        continue;
      }
    }
    if (own == 0) starter = out.size();
    last_class = own;
    out += c;
  }
  text = std::move(out);
}

}  // namespace

char32_t next_code_point(std::string_view text, std::size_t& at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(at);
  if (lead < 0x80) return static_cast<char32_t>(text[at++]);
  const std::size_t size = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  static constexpr char32_t kLowest[] = {0, 0, 0x80, 0x800, 0x10000};
  char32_t c = lead & (0xFFU >> (size + 1));
  bool is_good = lead >= 0xC2 && lead <= 0xF4 && at + size <= text.size();
  for (std::size_t i = 1; is_good && i < size; ++i) {
    is_good = (byte(at + i) & 0xC0U) == 0x80;
    c = c << 6 | (byte(at + i) & 0x3FU);
  }
  if (!is_good || c < kLowest[size] || c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF)) {
    ++at;
    return kReplacement;
  }
  at += size;
  return c;
}

void append_utf8(std::string& out, char32_t c) {
  const auto put = [&](char32_t byte) { out += static_cast<char>(byte); };
  if (c < 0x80) return put(c);
  if (c < 0x800) {
    put(0xC0 | c >> 6);
  } else if (c < 0x10000) {
    put(0xE0 | c >> 12);
    put(0x80 | (c >> 6 & 0x3F));
  } else {
    put(0xF0 | c >> 18);
    put(0x80 | (c >> 12 & 0x3F));
    put(0x80 | (c >> 6 & 0x3F));
  }
  put(0x80 | (c & 0x3F));
}

bool is_letter(char32_t c) {
  if (c < 0x80) return (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
  static const Bits kBits(kLetterRanges, kLetterRangesSize);
  return c < kPoints && kBits.bits->test(c);
}

bool is_number(char32_t c) {
  if (c < 0x80) return c >= '0' && c <= '9';
  static const Bits kBits(kNumberRanges, kNumberRangesSize);
  return c < kPoints && kBits.bits->test(c);
}

bool is_space(char32_t c) {
  return (c >= 9 && c <= 13) || c == 32 || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
         c == 0x3000;
}

std::string to_nfc(std::string_view text) {
  // Nothing below U+0300 composes with what follows it unless a mark from there on appears.
  if (std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0xCC; })) {
    return std::string(text);
  }
  std::u32string points;
  for (std::size_t at = 0; at < text.size();) decompose(next_code_point(text, at), points);
  order_marks(points);
  compose_all(points);
  std::string out;
  out.reserve(text.size());
  for (const char32_t c : points) append_utf8(out, c);
  return out;
}

}  // namespace sluice::text
