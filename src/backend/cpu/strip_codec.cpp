#include "backend/cpu/strip_codec.h"

#include <cstring>

#include "backend/cpu/kernels/kernel_table.h"
#include "backend/quant_formats.h"
#include "base/check.h"

namespace sluice::backend::cpu {
namespace {

constexpr std::size_t kHalves = 2 * kStripRows;  // bytes of one half float per row

// Columns and bytes of one group of a strip.
struct Group {
  std::size_t columns;
  std::size_t bytes;
};

Group group_of(DType format) {
  switch (format) {
    case DType::kF32:
      return {1, kLineBytes};
    case DType::kF16:
    case DType::kBF16:
      return {2, kLineBytes};
    case DType::kQ8_0:
      return {32, kHalves + 8 * kLineBytes};
    case DType::kQ4_0:
      return {32, kHalves + 4 * kLineBytes};
    case DType::kQ4_1:
      return {32, 2 * kHalves + 4 * kLineBytes};
    case DType::kQ4_K:
      return {256, 2 * kHalves + 256 + 32 * kLineBytes};
    case DType::kQ6_K:
      return {256, kHalves + 256 + 48 * kLineBytes};
    case DType::kI32:
      break;
  }
  SLUICE_CHECK(false, "format cannot be packed");
}

// Byte of row r and column k (of 4 per line) in a sequence of lines.
std::size_t line_byte(std::size_t k, std::size_t r) { return k / 4 * kLineBytes + 4 * r + k % 4; }

// Sets the nibble of column k (0..31) of row r in four lines.
void put_nibble(std::uint8_t* lines, std::size_t k, std::size_t r, unsigned value) {
  lines[line_byte(k % 16, r)] |= static_cast<std::uint8_t>(k < 16 ? value : value << 4);
}
unsigned get_nibble(const std::uint8_t* lines, std::size_t k, std::size_t r) {
  const unsigned both = lines[line_byte(k % 16, r)];
  return k < 16 ? both & 15U : both >> 4;
}
// Top two bits of column k: line j = k / 4 shares its byte with lines j + 2, j + 4, j + 6.
void put_top(std::uint8_t* lines, std::size_t k, std::size_t r, unsigned value) {
  const std::size_t j = k / 4;
  lines[(j % 2) * kLineBytes + 4 * r + k % 4] |= static_cast<std::uint8_t>(value << (2 * (j / 2)));
}
unsigned get_top(const std::uint8_t* lines, std::size_t k, std::size_t r) {
  const std::size_t j = k / 4;
  return (lines[(j % 2) * kLineBytes + 4 * r + k % 4] >> (2 * (j / 2))) & 3U;
}

unsigned nibble_of(const std::uint8_t* quants, std::size_t k) {  // of a Q4_0 or Q4_1 block
  return k < 16 ? quants[k] & 15U : static_cast<unsigned>(quants[k - 16]) >> 4;
}

void pack_q8_0(const std::uint8_t* block, std::size_t r, std::uint8_t* out) {
  std::memcpy(out + 2 * r, block, 2);
  for (std::size_t k = 0; k < 32; ++k) out[kHalves + line_byte(k, r)] = block[2 + k] ^ 0x80U;
}

void pack_q4_0(const std::uint8_t* block, std::size_t r, std::uint8_t* out) {
  std::memcpy(out + 2 * r, block, 2);
  for (std::size_t k = 0; k < 32; ++k) put_nibble(out + kHalves, k, r, nibble_of(block + 2, k));
}

void pack_q4_1(const std::uint8_t* block, std::size_t r, std::uint8_t* out) {
  std::memcpy(out + 2 * r, block, 2);
  std::memcpy(out + kHalves + 2 * r, block + 2, 2);
  for (std::size_t k = 0; k < 32; ++k) put_nibble(out + 2 * kHalves, k, r, nibble_of(block + 4, k));
}

void pack_q4_k(const std::uint8_t* block, std::size_t r, std::uint8_t* out) {
  std::memcpy(out + 2 * r, block, 2);
  std::memcpy(out + kHalves + 2 * r, block + 2, 2);
  std::uint8_t* sub = out + 2 * kHalves;
  for (std::size_t s = 0; s < 8; ++s) {
    const ScaleMin packed = unpack_q4_k_scale(block + 4, s);
    sub[s * 16 + r] = packed.scale;
    sub[128 + s * 16 + r] = packed.minimum;
    const std::uint8_t* nibbles = block + 16 + s / 2 * 32;
    for (std::size_t k = 0; k < 32; ++k) {
      const unsigned q = s % 2 == 0 ? nibbles[k] & 15U : static_cast<unsigned>(nibbles[k]) >> 4;
      put_nibble(sub + 256 + s * 4 * kLineBytes, k, r, q);
    }
  }
}

void pack_q6_k(const std::uint8_t* block, std::size_t r, std::uint8_t* out) {
  std::memcpy(out + 2 * r, block + 208, 2);
  std::uint8_t* sub = out + kHalves;
  for (std::size_t s = 0; s < 16; ++s) sub[s * 16 + r] = block[192 + s];
  for (std::size_t i = 0; i < 256; ++i) {
    const std::size_t half = i / 128;
    const std::size_t quarter = i % 128 / 32;
    const std::size_t lane = i % 32;
    const unsigned both = block[half * 64 + (quarter % 2) * 32 + lane];
    std::uint8_t* lines = sub + 256 + i / 32 * 6 * kLineBytes;
    put_nibble(lines, lane, r, quarter < 2 ? both & 15U : both >> 4);
    put_top(lines + 4 * kLineBytes, lane, r, (block[128 + half * 32 + lane] >> (2 * quarter)) & 3U);
  }
}

void pack_plain(const std::uint8_t* element, std::size_t r, std::uint8_t* out) {
  std::memcpy(out + 4 * r, element, 4);  // one F32 or two 16-bit values
}

using PackBlock = void (*)(const std::uint8_t* block, std::size_t r, std::uint8_t* out);

PackBlock packer_of(DType format) {
  switch (format) {
    case DType::kQ8_0:
      return pack_q8_0;
    case DType::kQ4_0:
      return pack_q4_0;
    case DType::kQ4_1:
      return pack_q4_1;
    case DType::kQ4_K:
      return pack_q4_k;
    case DType::kQ6_K:
      return pack_q6_k;
    default:
      return pack_plain;
  }
}

float half_at(const std::uint8_t* base, std::size_t r) {
  std::uint16_t bits = 0;
  std::memcpy(&bits, base + 2 * r, 2);
  return half_to_float(bits);
}

// Value of column k within one group.
float value_of(DType format, const std::uint8_t* group, std::size_t k, std::size_t r) {
  switch (format) {
    case DType::kQ8_0:
      return half_at(group, r) * static_cast<float>(static_cast<int>(group[kHalves + line_byte(k, r)]) - 128);
    case DType::kQ4_0:
      return half_at(group, r) * static_cast<float>(static_cast<int>(get_nibble(group + kHalves, k, r)) - 8);
    case DType::kQ4_1:
      return half_at(group, r) * static_cast<float>(get_nibble(group + 2 * kHalves, k, r)) +
             half_at(group + kHalves, r);
    case DType::kQ4_K: {
      const std::uint8_t* sub = group + 2 * kHalves;
      const std::size_t s = k / 32;
      const auto q = static_cast<float>(get_nibble(sub + 256 + s * 4 * kLineBytes, k % 32, r));
      return half_at(group, r) * sub[s * 16 + r] * q - half_at(group + kHalves, r) * sub[128 + s * 16 + r];
    }
    case DType::kQ6_K: {
      const std::uint8_t* sub = group + kHalves;
      const std::uint8_t* lines = sub + 256 + k / 32 * 6 * kLineBytes;
      const unsigned q = get_nibble(lines, k % 32, r) | get_top(lines + 4 * kLineBytes, k % 32, r) << 4;
      const auto scale = static_cast<float>(static_cast<std::int8_t>(sub[k / 16 * 16 + r]));
      return half_at(group, r) * scale * static_cast<float>(static_cast<int>(q) - 32);
    }
    default:
      SLUICE_CHECK(false, "plain formats are read directly");
  }
}

void unpack_plain(DType format, std::size_t columns, const std::uint8_t* strip, std::size_t row, float* out) {
  const std::size_t per_line = group_of(format).columns;
  for (std::size_t k = 0; k < columns; k += per_line) {
    const auto* element = reinterpret_cast<const std::byte*>(strip + k / per_line * kLineBytes + 4 * row);
    dequantize_row(format, element, per_line, out + k);
  }
}

}  // namespace

std::size_t strip_bytes(DType format, std::size_t columns) {
  const Group group = group_of(format);
  SLUICE_CHECK(columns % group.columns == 0, "columns must fill whole groups");
  return columns / group.columns * group.bytes;
}

void pack_strip(DType format, std::size_t columns, const std::byte* const* rows, std::uint8_t* strip) {
  const Group group = group_of(format);
  const std::size_t stored = row_bytes(format, group.columns);
  const PackBlock pack = packer_of(format);
  std::memset(strip, 0, columns / group.columns * group.bytes);
  for (std::size_t r = 0; r < kStripRows; ++r) {
    if (rows[r] == nullptr) continue;
    const auto* from = reinterpret_cast<const std::uint8_t*>(rows[r]);
    std::uint8_t* to = strip;
    for (std::size_t k = 0; k < columns; k += group.columns, from += stored, to += group.bytes)
      pack(from, r, to);
  }
}

void unpack_strip_row(DType format, std::size_t columns, const std::uint8_t* strip, std::size_t row,
                      float* out) {
  const Group group = group_of(format);
  if (group.columns <= 2) return unpack_plain(format, columns, strip, row, out);
  for (std::size_t k = 0; k < columns; ++k) {
    out[k] = value_of(format, strip + k / group.columns * group.bytes, k % group.columns, row);
  }
}

}  // namespace sluice::backend::cpu
