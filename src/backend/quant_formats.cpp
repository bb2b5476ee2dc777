#include "backend/quant_formats.h"

#include <bit>
#include <cstring>

#include "base/check.h"

namespace sluice::backend {
namespace {

std::uint16_t read_u16(const std::uint8_t* bytes) {
  std::uint16_t value = 0;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

void dequantize_q8_0(const std::uint8_t* block, float* out) {
  const float scale = half_to_float(read_u16(block));
  for (int i = 0; i < 32; ++i) out[i] = scale * static_cast<float>(static_cast<std::int8_t>(block[2 + i]));
}

void dequantize_q4_0(const std::uint8_t* block, float* out) {
  const float scale = half_to_float(read_u16(block));
  for (int i = 0; i < 16; ++i) {
    out[i] = scale * static_cast<float>((block[2 + i] & 15) - 8);
    out[i + 16] = scale * static_cast<float>((block[2 + i] >> 4) - 8);
  }
}

void dequantize_q4_1(const std::uint8_t* block, float* out) {
  const float scale = half_to_float(read_u16(block));
  const float minimum = half_to_float(read_u16(block + 2));
  for (int i = 0; i < 16; ++i) {
    out[i] = scale * static_cast<float>(block[4 + i] & 15) + minimum;
    out[i + 16] = scale * static_cast<float>(block[4 + i] >> 4) + minimum;
  }
}

void dequantize_q4_k(const std::uint8_t* block, float* out) {
  const float scale = half_to_float(read_u16(block));
  const float minimum = half_to_float(read_u16(block + 2));
  const std::uint8_t* quants = block + 16;
  for (std::size_t sub = 0; sub < 8; ++sub) {
    const ScaleMin packed = unpack_q4_k_scale(block + 4, sub);
    const std::uint8_t* nibbles = quants + sub / 2 * 32;
    for (std::size_t i = 0; i < 32; ++i) {
      const int q = sub % 2 == 0 ? nibbles[i] & 15 : nibbles[i] >> 4;
      out[sub * 32 + i] = scale * packed.scale * static_cast<float>(q) - minimum * packed.minimum;
    }
  }
}

void dequantize_q6_k(const std::uint8_t* block, float* out) {
  const std::uint8_t* low = block;
  const std::uint8_t* high = block + 128;
  const auto* scales = reinterpret_cast<const std::int8_t*>(block + 192);
  const float scale = half_to_float(read_u16(block + 208));
  for (std::size_t i = 0; i < 256; ++i) {
    const std::size_t half = i / 128;
    const std::size_t within = i % 128;
    const std::size_t quarter = within / 32;
    const std::size_t lane = within % 32;
    const std::uint8_t packed = low[half * 64 + (quarter % 2) * 32 + lane];
    const int nibble = quarter < 2 ? packed & 15 : packed >> 4;
    const int top = (high[half * 32 + lane] >> (2 * quarter)) & 3;
    out[i] = scale * static_cast<float>(scales[i / 16]) * static_cast<float>((nibble | top << 4) - 32);
  }
}

template <void (*kBlock)(const std::uint8_t*, float*)>
void dequantize_blocks(DType format, const std::byte* row, std::size_t columns, float* out) {
  const DTypeTraits& layout = traits(format);
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(row);
  for (std::size_t column = 0; column < columns; column += layout.block_elements) {
    kBlock(bytes, out + column);
    bytes += layout.block_bytes;
  }
}

}  // namespace

float half_to_float(std::uint16_t bits) {
  const std::uint32_t sign = (bits & 0x8000U) << 16;
  const std::uint32_t exponent = (bits >> 10) & 31U;
  const std::uint32_t mantissa = bits & 0x3ffU;
  if (exponent == 0) {  // zero or subnormal: mantissa * 2^-24, exact in float
    const float value = static_cast<float>(mantissa) * 0x1p-24F;
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) | sign);
  }
  const std::uint32_t wide = exponent == 31 ? 0xffU : exponent + 112;
  return std::bit_cast<float>(sign | wide << 23 | mantissa << 13);
}

std::uint16_t float_to_half(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000U);
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  if (magnitude >= 0x7f800000U) return sign | (magnitude > 0x7f800000U ? 0x7e00U : 0x7c00U);
  if (magnitude >= 0x477ff000U) return sign | 0x7c00U;
  if (magnitude < 0x38800000U) {  // subnormal: let float addition round to a multiple of 2^-24
    const float shifted = std::bit_cast<float>(magnitude) + 0.5F;
    return sign | static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(shifted) - 0x3f000000U);
  }
  const std::uint32_t odd = (magnitude >> 13) & 1U;
  return sign | static_cast<std::uint16_t>((magnitude - 0x38000000U + 0xfffU + odd) >> 13);
}

float bf16_to_float(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

std::uint16_t float_to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffU) > 0x7f800000U) return static_cast<std::uint16_t>((bits >> 16) | 0x40U);
  return static_cast<std::uint16_t>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16);
}

ScaleMin unpack_q4_k_scale(const std::uint8_t* packed, std::size_t index) {
  if (index < 4) {
    return {static_cast<std::uint8_t>(packed[index] & 63), static_cast<std::uint8_t>(packed[index + 4] & 63)};
  }
  const std::uint8_t low = packed[index + 4];
  return {static_cast<std::uint8_t>((low & 15) | (packed[index - 4] >> 6) << 4),
          static_cast<std::uint8_t>((low >> 4) | (packed[index] >> 6) << 4)};
}

void dequantize_row(DType format, const std::byte* row, std::size_t columns, float* out) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(row);
  switch (format) {
    case DType::kF32:
      std::memcpy(out, row, columns * sizeof(float));
      return;
    case DType::kF16:
      for (std::size_t i = 0; i < columns; ++i) out[i] = half_to_float(read_u16(bytes + 2 * i));
      return;
    case DType::kBF16:
      for (std::size_t i = 0; i < columns; ++i) out[i] = bf16_to_float(read_u16(bytes + 2 * i));
      return;
    case DType::kQ8_0:
      return dequantize_blocks<dequantize_q8_0>(format, row, columns, out);
    case DType::kQ4_0:
      return dequantize_blocks<dequantize_q4_0>(format, row, columns, out);
    case DType::kQ4_1:
      return dequantize_blocks<dequantize_q4_1>(format, row, columns, out);
    case DType::kQ4_K:
      return dequantize_blocks<dequantize_q4_k>(format, row, columns, out);
    case DType::kQ6_K:
      return dequantize_blocks<dequantize_q6_k>(format, row, columns, out);
    case DType::kI32:
      break;
  }
  SLUICE_CHECK(false, "format has no values");
}

}  // namespace sluice::backend
