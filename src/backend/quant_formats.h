// The element formats of GGUF files as byte layouts, and their exact values as floats.
// Source: the ggml format definitions; every multi-byte field is little endian.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "backend/dtype.h"

namespace sluice::backend {

float half_to_float(std::uint16_t bits);
std::uint16_t float_to_half(float value);
float bf16_to_float(std::uint16_t bits);
std::uint16_t float_to_bf16(float value);  // nearest even; NaN stays NaN

// Six-bit scale and minimum of sub-block `index` (0..7) in the 12 packed bytes of a Q4_K block.
struct ScaleMin {
  std::uint8_t scale = 0;
  std::uint8_t minimum = 0;
};
ScaleMin unpack_q4_k_scale(const std::uint8_t* packed, std::size_t index);

// out[columns] = the values of one stored row. Columns is a multiple of the format's block_elements.
void dequantize_row(DType format, const std::byte* row, std::size_t columns, float* out);

}  // namespace sluice::backend
