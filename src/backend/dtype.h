// Element formats of tensors in files and memory, and how many bytes they take.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace sluice::backend {

enum class DType : std::uint8_t { kF32, kF16, kBF16, kI32, kQ8_0, kQ4_0, kQ4_1, kQ4_K, kQ6_K };

// A format stores `block_elements` consecutive values of a row in `block_bytes` bytes (1 value for plain
// formats).
struct DTypeTraits {
  std::string_view name;  // as GGUF and the error texts spell it: "F32", "Q8_0"
  std::size_t block_elements;
  std::size_t block_bytes;
};

const DTypeTraits& traits(DType dtype);

// Bytes of one row of `columns` values; `columns` must be a multiple of block_elements.
inline std::size_t row_bytes(DType dtype, std::size_t columns) {
  return columns / traits(dtype).block_elements * traits(dtype).block_bytes;
}

}  // namespace sluice::backend
