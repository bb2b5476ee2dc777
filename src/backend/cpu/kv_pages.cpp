#include "backend/cpu/kv_pages.h"

#include <cstring>

#include "backend/quant_formats.h"
#include "base/check.h"

namespace sluice::backend::cpu {

KVPages::KVPages(const KVShape& shape) : shape_(shape) {
  arena_ = std::make_unique<Arena>(shape.block_bytes() * shape.blocks);
}

std::uint64_t KVPages::key_offset(const KVShape& shape, std::uint64_t layer, std::uint64_t block,
                                  std::uint64_t head) {
  const std::uint64_t head_elements = std::uint64_t{kBlockTokens} * shape.head_dim;
  return ((layer * shape.blocks + block) * shape.kv_heads + head) * 2 * head_elements;
}

std::uint64_t KVPages::value_offset(const KVShape& shape, std::uint64_t layer, std::uint64_t block,
                                    std::uint64_t head) {
  return key_offset(shape, layer, block, head) + std::uint64_t{kBlockTokens} * shape.head_dim;
}

const void* KVPages::at(std::uint64_t offset) const {
  return arena_->data() + offset * (shape_.format == KVFormat::kF32 ? 4 : 2);
}

void KVPages::store(std::size_t layer, std::int64_t slot, const float* k, const float* v) {
  const auto block = static_cast<std::uint64_t>(slot) / kBlockTokens;
  const auto token = static_cast<std::size_t>(slot) % kBlockTokens;
  SLUICE_CHECK(layer < shape_.layers && block < shape_.blocks, "slot outside the pool");
  const std::size_t dim = shape_.head_dim;
  for (std::size_t head = 0; head < shape_.kv_heads; ++head, k += dim, v += dim) {
    const std::uint64_t keys = key_offset(shape_, layer, block, head);
    const std::uint64_t values = value_offset(shape_, layer, block, head) + token * dim;
    if (shape_.format == KVFormat::kF32) {
      auto* base = reinterpret_cast<float*>(arena_->data());
      for (std::size_t d = 0; d < dim; ++d) base[keys + d * kBlockTokens + token] = k[d];
      std::memcpy(base + values, v, dim * sizeof(float));
    } else {
      auto* base = reinterpret_cast<std::uint16_t*>(arena_->data());
      for (std::size_t d = 0; d < dim; ++d) base[keys + d * kBlockTokens + token] = float_to_bf16(k[d]);
      for (std::size_t d = 0; d < dim; ++d) base[values + d] = float_to_bf16(v[d]);
    }
  }
}

}  // namespace sluice::backend::cpu
