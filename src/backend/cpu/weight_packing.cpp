#include "backend/cpu/weight_packing.h"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <new>

#include "backend/cpu/kernels/kernel_table.h"
#include "backend/cpu/strip_codec.h"
#include "base/check.h"
#include "base/compute_pool.h"

namespace sluice::backend::cpu {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;

}  // namespace

Arena::Arena(std::size_t bytes) {
  const std::size_t rounded = (bytes + kHugePage - 1) / kHugePage * kHugePage;
  void* memory = std::aligned_alloc(kHugePage, rounded);
  if (memory == nullptr) throw std::bad_alloc();
  ::madvise(memory, rounded, MADV_HUGEPAGE);
  data_.reset(static_cast<std::uint8_t*>(memory));
}

void Arena::Free::operator()(std::uint8_t* memory) const { std::free(memory); }

PackedWeight::PackedWeight(std::span<const RowSegment> segments, std::size_t columns, ComputePool& pool)
    : columns_(columns) {
  for (const RowSegment& segment : segments) {
    SLUICE_CHECK(columns % traits(segment.format).block_elements == 0, "columns must fill whole blocks");
    SLUICE_CHECK(segment.values.size() == segment.rows * row_bytes(segment.format, columns), "segment size");
    PackedSegment packed;
    packed.format = segment.format;
    packed.first_row = rows_;
    packed.rows = segment.rows;
    packed.strips = (segment.rows + kStripRows - 1) / kStripRows;
    packed.strip_bytes = strip_bytes(segment.format, columns);
    rows_ += segment.rows;
    bytes_ += packed.strips * packed.strip_bytes;
    segments_.push_back(packed);
  }
  arena_ = std::make_unique<Arena>(bytes_);
  std::uint8_t* next = arena_->data();
  for (std::size_t i = 0; i < segments_.size(); ++i) {
    PackedSegment& packed = segments_[i];
    const RowSegment& source = segments[i];
    packed.data = next;
    const std::size_t stride = row_bytes(source.format, columns);
    pool.run(packed.strips, [&](std::size_t strip, std::size_t) {
      const std::byte* rows[kStripRows] = {};
      for (std::size_t r = 0; r < kStripRows && strip * kStripRows + r < source.rows; ++r) {
        rows[r] = source.values.data() + (strip * kStripRows + r) * stride;
      }
      pack_strip(source.format, columns, rows, next + strip * packed.strip_bytes);
    });
    next += packed.strips * packed.strip_bytes;
  }
}

void PackedWeight::unpack_row(std::size_t row, float* out) const {
  for (const PackedSegment& segment : segments_) {
    if (row < segment.first_row || row >= segment.first_row + segment.rows) continue;
    const std::size_t local = row - segment.first_row;
    unpack_strip_row(segment.format, columns_, segment.data + local / kStripRows * segment.strip_bytes,
                     local % kStripRows, out);
    return;
  }
  SLUICE_CHECK(false, "row out of range");
}

}  // namespace sluice::backend::cpu
