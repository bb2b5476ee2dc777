// Rows of a file format to a strip of 16 rows and back (layouts: weight_packing.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/dtype.h"

namespace sluice::backend::cpu {

std::size_t strip_bytes(DType format, std::size_t columns);

// rows[16]: stored rows, null for padding, which becomes zero.
void pack_strip(DType format, std::size_t columns, const std::byte* const* rows, std::uint8_t* strip);

// out[columns] = the values of row `row` of the strip.
void unpack_strip_row(DType format, std::size_t columns, const std::uint8_t* strip, std::size_t row,
                      float* out);

}  // namespace sluice::backend::cpu
