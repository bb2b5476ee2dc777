// Packed weights of the CPU back end. A matrix is cut into strips of 16 rows (kernel_table.h); a fused matrix
// is several segments, each with its own format, whose rows follow one another in the product.
//
// Strip layouts per group of columns (line = 64 bytes = 16 rows x 4 bytes of k):
//   F32            1 column   a line
//   F16, BF16      2 columns  a line
//   Q8_0           32         16 half scales, 8 lines of q + 128
//   Q4_0           32         16 half scales, 4 lines: low nibbles columns 0..15, high 16..31
//   Q4_1           32         16 half scales, 16 half minima, 4 lines
//   Q4_K           256        16 + 16 halves, 8 x 16 sub-scales, 8 x 16 sub-minima, 8 x 4 lines
//   Q6_K           256        16 halves, 16 x 16 sub-scales, 8 x (4 lines of nibbles, 2 lines of top bits)
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "backend/backend.h"

namespace sluice {
class ComputePool;
}

namespace sluice::backend::cpu {

// 2 MiB-aligned memory that asks for huge pages.
class Arena {
 public:
  explicit Arena(std::size_t bytes);
  std::uint8_t* data() const { return data_.get(); }

 private:
  struct Free {
    void operator()(std::uint8_t* memory) const;
  };
  std::unique_ptr<std::uint8_t, Free> data_;
};

struct PackedSegment {
  DType format = DType::kF32;
  std::size_t first_row = 0;
  std::size_t rows = 0;
  std::size_t strips = 0;
  std::size_t strip_bytes = 0;
  const std::uint8_t* data = nullptr;
};

class PackedWeight : public Weight {
 public:
  PackedWeight(std::span<const RowSegment> segments, std::size_t columns, ComputePool& pool);
  std::size_t rows() const override { return rows_; }
  std::size_t columns() const override { return columns_; }
  std::size_t bytes() const override { return bytes_; }
  const std::vector<PackedSegment>& segments() const { return segments_; }
  // Values of one row, as floats.
  void unpack_row(std::size_t row, float* out) const;

 private:
  std::size_t rows_ = 0;
  std::size_t columns_ = 0;
  std::size_t bytes_ = 0;
  std::vector<PackedSegment> segments_;
  std::unique_ptr<Arena> arena_;
};

}  // namespace sluice::backend::cpu
