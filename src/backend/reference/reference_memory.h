// What the reference back end keeps: weights as the checkpoint stores them, keys and values by slot.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/backend.h"

namespace sluice::backend::reference {

class VectorBuffer final : public Buffer {
 public:
  explicit VectorBuffer(std::size_t floats) : values_(floats) {}
  float* data() override { return values_.data(); }
  std::size_t size() const override { return values_.size(); }

 private:
  std::vector<float> values_;
};

// A copy of the stored rows; a row becomes floats when it is asked for.
class StoredWeight final : public Weight {
 public:
  StoredWeight(std::span<const RowSegment> segments, std::size_t columns);
  std::size_t rows() const override { return rows_.size(); }
  std::size_t columns() const override { return columns_; }
  std::size_t bytes() const override { return bytes_.size(); }

  std::vector<float> row(std::size_t index) const;

 private:
  struct Row {
    DType format;
    std::size_t offset;  // in bytes_
  };
  std::size_t columns_;
  std::vector<std::byte> bytes_;
  std::vector<Row> rows_;
};

// Keys and values [layer][slot][kv_head][head_dim], one array each.
class SlotKV final : public KVCache {
 public:
  explicit SlotKV(const KVShape& shape);
  const KVShape& shape() const override { return shape_; }

  // k, v [kv_heads * head_dim]; kBF16 keeps each value's nearest bfloat16.
  void store(std::size_t layer, std::size_t slot, const float* k, const float* v);
  float key(std::size_t layer, std::size_t slot, std::size_t head, std::size_t d) const;
  float value(std::size_t layer, std::size_t slot, std::size_t head, std::size_t d) const;

 private:
  class Array {
   public:
    Array(KVFormat format, std::size_t size);
    void set(std::size_t index, float value);
    float get(std::size_t index) const;

   private:
    std::vector<float> f32_;  // one of the two is empty
    std::vector<std::uint16_t> bf16_;
  };
  std::size_t index(std::size_t layer, std::size_t slot, std::size_t head, std::size_t d) const;

  KVShape shape_;
  Array keys_;
  Array values_;
};

}  // namespace sluice::backend::reference
