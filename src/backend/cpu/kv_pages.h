// Keys and values of all layers in blocks of 16 tokens. Per layer and block, per KV head: keys
// [head_dim][16], so that 16 scores fill a register without horizontal sums, then values [16][head_dim].
#pragma once

#include <cstdint>
#include <memory>

#include "backend/backend.h"
#include "backend/cpu/weight_packing.h"

namespace sluice::backend::cpu {

class KVPages : public KVCache {
 public:
  explicit KVPages(const KVShape& shape);
  const KVShape& shape() const override { return shape_; }

  // k, v [kv_heads * head_dim] of one token. Layer and slot must be in the pool (check_store).
  void store(std::size_t layer, std::int64_t slot, const float* k, const float* v);

  // Elements (not bytes) from the pool's start: 64-bit whatever the pool's size (field report F040).
  static std::uint64_t key_offset(const KVShape& shape, std::uint64_t layer, std::uint64_t block,
                                  std::uint64_t head);
  static std::uint64_t value_offset(const KVShape& shape, std::uint64_t layer, std::uint64_t block,
                                    std::uint64_t head);
  const void* at(std::uint64_t offset) const;
  std::size_t block_stride() const { return 2 * kBlockTokens * shape_.kv_heads * shape_.head_dim; }

 private:
  KVShape shape_;
  std::unique_ptr<Arena> arena_;
};

}  // namespace sluice::backend::cpu
