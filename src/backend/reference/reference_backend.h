// Every operator as the obvious loop: the specification that the other back ends are compared with, and a
// slow way to run a model. One thread; sums are doubles and rounded once, when they are stored; nothing is
// packed, fused or approximated.
#pragma once

#include "backend/backend.h"

namespace sluice::backend::reference {

class ReferenceBackend final : public Backend {
 public:
  const char* name() const override { return "reference"; }
  std::unique_ptr<Buffer> allocate(std::size_t floats) override;
  std::unique_ptr<KVCache> allocate_kv(const KVShape& shape) override;
  std::unique_ptr<Weight> prepare(std::span<const RowSegment> segments, std::size_t columns) override;
  void embed(Tensor out, const Weight& table, std::span<const std::int32_t> ids) override;
  void linear(Tensor out, const Weight& weight, Tensor x) override;
  void add_bias(Tensor x, std::span<const float> bias) override;
  void add_rms_norm(Tensor out, Tensor residual, Tensor x, std::span<const float> gain, float eps) override;
  void qk_norm_rope(Tensor q, Tensor k, std::size_t head_dim, const QKNorm& norm, const Rope& rope,
                    std::span<const std::int32_t> positions) override;
  void store_kv(KVCache& cache, std::size_t layer, Tensor k, Tensor v,
                std::span<const std::int64_t> slots) override;
  void paged_attention(Tensor out, Tensor q, const KVCache& cache, std::size_t layer,
                       const AttentionBatch& batch) override;
  void silu_and_mul(Tensor out, Tensor gate_up) override;
  void gather_rows(Tensor out, Tensor x, std::span<const std::int32_t> rows) override;
  void parallel_for(std::size_t count, const std::function<void(std::size_t)>& body) override;
};

}  // namespace sluice::backend::reference
