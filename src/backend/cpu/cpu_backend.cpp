#include "backend/cpu/cpu_backend.h"

#include <cmath>
#include <cstring>

#include "backend/cpu/attention.h"
#include "backend/cpu/kernels/kernel_table.h"
#include "backend/cpu/kv_pages.h"
#include "backend/cpu/linear.h"
#include "backend/operand_checks.h"
#include "base/check.h"
#include "base/compute_pool.h"

namespace sluice::backend::cpu {
namespace {

class AlignedBuffer : public Buffer {
 public:
  explicit AlignedBuffer(std::size_t floats) : arena_(floats * sizeof(float)), size_(floats) {}
  float* data() override { return reinterpret_cast<float*>(arena_.data()); }
  std::size_t size() const override { return size_; }

 private:
  Arena arena_;
  std::size_t size_;
};

const PackedWeight& packed(const Weight& weight) { return static_cast<const PackedWeight&>(weight); }

}  // namespace

CpuBackend::CpuBackend(const KernelTable& kernels, std::shared_ptr<ComputePool> pool)
    : kernels_(kernels), pool_(std::move(pool)) {}

const char* CpuBackend::name() const { return kernels_.name; }

std::unique_ptr<Buffer> CpuBackend::allocate(std::size_t floats) {
  return std::make_unique<AlignedBuffer>(floats);
}

std::unique_ptr<KVCache> CpuBackend::allocate_kv(const KVShape& shape) {
  return std::make_unique<KVPages>(shape);
}

std::unique_ptr<Weight> CpuBackend::prepare(std::span<const RowSegment> segments, std::size_t columns) {
  return std::make_unique<PackedWeight>(segments, columns, *pool_);
}

void CpuBackend::for_rows(std::size_t rows, const std::function<void(std::size_t)>& body) {
  constexpr std::size_t kParallelRows = 8;
  if (rows >= kParallelRows) return pool_->run(rows, [&](std::size_t row, std::size_t) { body(row); });
  for (std::size_t row = 0; row < rows; ++row) body(row);
}

void CpuBackend::embed(Tensor out, const Weight& table, std::span<const std::int32_t> ids) {
  check_indices(ids, table.rows());
  for_rows(ids.size(),
           [&](std::size_t i) { packed(table).unpack_row(static_cast<std::size_t>(ids[i]), out.row(i)); });
}

void CpuBackend::linear(Tensor out, const Weight& weight, Tensor x) {
  cpu::linear(kernels_, *pool_, out, packed(weight), x);
}

void CpuBackend::add_bias(Tensor x, std::span<const float> bias) {
  for_rows(x.rows, [&](std::size_t i) { kernels_.add(x.row(i), bias.data(), bias.size()); });
}

void CpuBackend::add_rms_norm(Tensor out, Tensor residual, Tensor x, std::span<const float> gain, float eps) {
  for_rows(out.rows, [&](std::size_t i) {
    if (x.data != nullptr) kernels_.add(residual.row(i), x.row(i), out.columns);
    kernels_.rms_norm(out.row(i), residual.row(i), gain.data(), eps, out.columns);
  });
}

void CpuBackend::grow_rope(const Rope& rope, std::size_t positions) {
  const std::size_t half = rope.inverse_frequency.size();
  if (rope_frequency_ != rope.inverse_frequency || rope_factor_ != rope.attention_factor) {
    rope_frequency_ = rope.inverse_frequency;
    rope_factor_ = rope.attention_factor;
    cosine_.clear();
    sine_.clear();
  }
  std::size_t known = cosine_.size() / half;
  if (known >= positions) return;
  positions = std::max(positions, known * 2);
  cosine_.resize(positions * half);
  sine_.resize(positions * half);
  for (; known < positions; ++known) {
    for (std::size_t i = 0; i < half; ++i) {
      // transformers takes the angle in float32, which is part of the model.
      const float angle = static_cast<float>(known) * rope.inverse_frequency[i];
      cosine_[known * half + i] = std::cos(angle) * rope.attention_factor;
      sine_[known * half + i] = std::sin(angle) * rope.attention_factor;
    }
  }
}

void CpuBackend::qk_norm_rope(Tensor q, Tensor k, std::size_t head_dim, const QKNorm& norm, const Rope& rope,
                              std::span<const std::int32_t> positions) {
  check_rope(q, k, head_dim, norm, rope, positions);
  std::int32_t last = 0;
  for (const std::int32_t position : positions) last = std::max(last, position);
  grow_rope(rope, static_cast<std::size_t>(last) + 1);
  const std::size_t half = head_dim / 2;
  const auto turn = [&](float* head, std::span<const float> gain, std::size_t position) {
    if (!gain.empty()) kernels_.rms_norm(head, head, gain.data(), norm.eps, head_dim);
    kernels_.rotate_halves(head, cosine_.data() + position * half, sine_.data() + position * half, half);
  };
  for_rows(q.rows, [&](std::size_t i) {
    const auto position = static_cast<std::size_t>(positions[i]);
    for (std::size_t at = 0; at < q.columns; at += head_dim) turn(q.row(i) + at, norm.q_gain, position);
    for (std::size_t at = 0; at < k.columns; at += head_dim) turn(k.row(i) + at, norm.k_gain, position);
  });
}

void CpuBackend::store_kv(KVCache& cache, std::size_t layer, Tensor k, Tensor v,
                          std::span<const std::int64_t> slots) {
  check_store(cache.shape(), layer, k, v, slots);
  auto& pages = static_cast<KVPages&>(cache);
  for_rows(slots.size(), [&](std::size_t i) { pages.store(layer, slots[i], k.row(i), v.row(i)); });
}

void CpuBackend::paged_attention(Tensor out, Tensor q, const KVCache& cache, std::size_t layer,
                                 const AttentionBatch& batch) {
  check_attention(cache.shape(), layer, out, q, batch);
  attention(kernels_, *pool_, out, q, static_cast<const KVPages&>(cache), layer, batch);
}

void CpuBackend::silu_and_mul(Tensor out, Tensor gate_up) {
  for_rows(out.rows, [&](std::size_t i) {
    kernels_.silu_and_mul(out.row(i), gate_up.row(i), gate_up.row(i) + out.columns, out.columns);
  });
}

void CpuBackend::gather_rows(Tensor out, Tensor x, std::span<const std::int32_t> rows) {
  check_indices(rows, x.rows);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::memcpy(out.row(i), x.row(static_cast<std::size_t>(rows[i])), x.columns * sizeof(float));
  }
}

void CpuBackend::parallel_for(std::size_t count, const std::function<void(std::size_t)>& body) {
  pool_->run(count, [&](std::size_t i, std::size_t) { body(i); });
}

}  // namespace sluice::backend::cpu
