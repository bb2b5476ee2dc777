#include "backend/reference/reference_memory.h"

#include "backend/quant_formats.h"
#include "base/check.h"

namespace sluice::backend::reference {

StoredWeight::StoredWeight(std::span<const RowSegment> segments, std::size_t columns) : columns_(columns) {
  for (const RowSegment& segment : segments) {
    SLUICE_CHECK(columns % traits(segment.format).block_elements == 0, "columns must fill whole blocks");
    const std::size_t stride = row_bytes(segment.format, columns);
    SLUICE_CHECK(segment.values.size() == segment.rows * stride, "segment size");
    for (std::size_t r = 0; r < segment.rows; ++r) {
      rows_.push_back({segment.format, bytes_.size() + r * stride});
    }
    bytes_.insert(bytes_.end(), segment.values.begin(), segment.values.end());
  }
}

std::vector<float> StoredWeight::row(std::size_t index) const {
  std::vector<float> values(columns_);
  dequantize_row(rows_.at(index).format, bytes_.data() + rows_[index].offset, columns_, values.data());
  return values;
}

SlotKV::Array::Array(KVFormat format, std::size_t size)
    : f32_(format == KVFormat::kF32 ? size : 0), bf16_(format == KVFormat::kBF16 ? size : 0) {}

void SlotKV::Array::set(std::size_t index, float value) {
  if (bf16_.empty()) {
    f32_[index] = value;
  } else {
    bf16_[index] = float_to_bf16(value);
  }
}

float SlotKV::Array::get(std::size_t index) const {
  return bf16_.empty() ? f32_[index] : bf16_to_float(bf16_[index]);
}

SlotKV::SlotKV(const KVShape& shape)
    : shape_(shape),
      keys_(shape.format, shape.layers * shape.blocks * kBlockTokens * shape.kv_heads * shape.head_dim),
      values_(keys_) {}

std::size_t SlotKV::index(std::size_t layer, std::size_t slot, std::size_t head, std::size_t d) const {
  const std::size_t token = layer * shape_.blocks * kBlockTokens + slot;
  return (token * shape_.kv_heads + head) * shape_.head_dim + d;
}

void SlotKV::store(std::size_t layer, std::size_t slot, const float* k, const float* v) {
  for (std::size_t head = 0; head < shape_.kv_heads; ++head) {
    for (std::size_t d = 0; d < shape_.head_dim; ++d) {
      keys_.set(index(layer, slot, head, d), k[head * shape_.head_dim + d]);
      values_.set(index(layer, slot, head, d), v[head * shape_.head_dim + d]);
    }
  }
}

float SlotKV::key(std::size_t layer, std::size_t slot, std::size_t head, std::size_t d) const {
  return keys_.get(index(layer, slot, head, d));
}

float SlotKV::value(std::size_t layer, std::size_t slot, std::size_t head, std::size_t d) const {
  return values_.get(index(layer, slot, head, d));
}

}  // namespace sluice::backend::reference
