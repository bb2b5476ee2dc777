#include "backend/reference/reference_backend.h"

#include <algorithm>
#include <cmath>

#include "backend/operand_checks.h"
#include "backend/reference/reference_memory.h"
#include "base/check.h"

namespace sluice::backend::reference {
namespace {

const StoredWeight& stored(const Weight& weight) { return static_cast<const StoredWeight&>(weight); }

void rms_norm(float* out, const float* x, std::span<const float> gain, float eps) {
  double squares = 0;
  for (std::size_t i = 0; i < gain.size(); ++i) squares += double{x[i]} * x[i];
  const double rms = std::sqrt(squares / static_cast<double>(gain.size()) + eps);
  for (std::size_t i = 0; i < gain.size(); ++i) out[i] = static_cast<float>(x[i] / rms * gain[i]);
}

void rotate(float* head, const Rope& rope, std::int32_t position) {
  const std::size_t half = rope.inverse_frequency.size();
  for (std::size_t i = 0; i < half; ++i) {
    // transformers takes the angle in float32, which is part of the model.
    const double angle = static_cast<float>(position) * rope.inverse_frequency[i];
    const double a = head[i];
    const double b = head[i + half];
    head[i] = static_cast<float>((a * std::cos(angle) - b * std::sin(angle)) * rope.attention_factor);
    head[i + half] = static_cast<float>((b * std::cos(angle) + a * std::sin(angle)) * rope.attention_factor);
  }
}

// One query head over the tokens in `slots`, which are its context in order.
void attend(float* out, const float* q, const SlotKV& kv, std::size_t layer, std::size_t head,
            std::span<const std::size_t> slots) {
  const std::size_t dim = kv.shape().head_dim;
  std::vector<double> weights(slots.size());
  for (std::size_t t = 0; t < slots.size(); ++t) {
    double dot = 0;
    for (std::size_t d = 0; d < dim; ++d) dot += double{q[d]} * kv.key(layer, slots[t], head, d);
    weights[t] = dot / std::sqrt(static_cast<double>(dim));
  }
  const double largest = *std::max_element(weights.begin(), weights.end());
  double total = 0;
  for (double& weight : weights) {
    weight = std::exp(weight - largest);
    total += weight;
  }
  for (std::size_t d = 0; d < dim; ++d) {
    double sum = 0;
    for (std::size_t t = 0; t < slots.size(); ++t) sum += weights[t] * kv.value(layer, slots[t], head, d);
    out[d] = static_cast<float>(sum / total);
  }
}

}  // namespace

std::unique_ptr<Buffer> ReferenceBackend::allocate(std::size_t floats) {
  return std::make_unique<VectorBuffer>(floats);
}

std::unique_ptr<KVCache> ReferenceBackend::allocate_kv(const KVShape& shape) {
  return std::make_unique<SlotKV>(shape);
}

std::unique_ptr<Weight> ReferenceBackend::prepare(std::span<const RowSegment> segments, std::size_t columns) {
  return std::make_unique<StoredWeight>(segments, columns);
}

void ReferenceBackend::embed(Tensor out, const Weight& table, std::span<const std::int32_t> ids) {
  check_indices(ids, table.rows());
  for (std::size_t t = 0; t < ids.size(); ++t) {
    const std::vector<float> row = stored(table).row(static_cast<std::size_t>(ids[t]));
    std::copy(row.begin(), row.end(), out.row(t));
  }
}

void ReferenceBackend::linear(Tensor out, const Weight& weight, Tensor x) {
  SLUICE_CHECK(x.columns == weight.columns() && out.columns == weight.rows() && out.rows == x.rows,
               "linear shapes");
  for (std::size_t n = 0; n < weight.rows(); ++n) {
    const std::vector<float> row = stored(weight).row(n);
    for (std::size_t t = 0; t < x.rows; ++t) {
      double sum = 0;
      for (std::size_t k = 0; k < row.size(); ++k) sum += double{x.row(t)[k]} * row[k];
      out.row(t)[n] = static_cast<float>(sum);
    }
  }
}

void ReferenceBackend::add_bias(Tensor x, std::span<const float> bias) {
  for (std::size_t t = 0; t < x.rows; ++t)
    for (std::size_t i = 0; i < bias.size(); ++i) x.row(t)[i] += bias[i];
}

void ReferenceBackend::add_rms_norm(Tensor out, Tensor residual, Tensor x, std::span<const float> gain,
                                    float eps) {
  for (std::size_t t = 0; t < out.rows; ++t) {
    for (std::size_t i = 0; x.data != nullptr && i < out.columns; ++i) residual.row(t)[i] += x.row(t)[i];
    rms_norm(out.row(t), residual.row(t), gain, eps);
  }
}

void ReferenceBackend::qk_norm_rope(Tensor q, Tensor k, std::size_t head_dim, const QKNorm& norm,
                                    const Rope& rope, std::span<const std::int32_t> positions) {
  check_rope(q, k, head_dim, norm, rope, positions);
  const auto apply = [&](Tensor heads, std::span<const float> gain) {
    for (std::size_t t = 0; t < heads.rows; ++t) {
      for (std::size_t at = 0; at < heads.columns; at += head_dim) {
        float* head = heads.row(t) + at;
        if (!gain.empty()) rms_norm(head, head, gain, norm.eps);
        rotate(head, rope, positions[t]);
      }
    }
  };
  apply(q, norm.q_gain);
  apply(k, norm.k_gain);
}

void ReferenceBackend::store_kv(KVCache& cache, std::size_t layer, Tensor k, Tensor v,
                                std::span<const std::int64_t> slots) {
  check_store(cache.shape(), layer, k, v, slots);
  for (std::size_t t = 0; t < slots.size(); ++t) {
    static_cast<SlotKV&>(cache).store(layer, static_cast<std::size_t>(slots[t]), k.row(t), v.row(t));
  }
}

void ReferenceBackend::paged_attention(Tensor out, Tensor q, const KVCache& cache, std::size_t layer,
                                       const AttentionBatch& batch) {
  check_attention(cache.shape(), layer, out, q, batch);
  const auto& kv = static_cast<const SlotKV&>(cache);
  const std::size_t dim = kv.shape().head_dim;
  const std::size_t group = q.columns / dim / kv.shape().kv_heads;  // query heads of one KV head
  for (std::size_t s = 0; s < batch.sequences(); ++s) {
    const auto context = static_cast<std::size_t>(batch.context_lengths[s]);
    std::vector<std::size_t> slots(context);
    for (std::size_t p = 0; p < context; ++p) {
      const auto block = batch.block_tables[s * batch.blocks_per_sequence_max + p / kBlockTokens];
      slots[p] = static_cast<std::size_t>(block) * kBlockTokens + p % kBlockTokens;
    }
    const auto end = static_cast<std::size_t>(batch.query_starts[s + 1]);
    for (auto t = static_cast<std::size_t>(batch.query_starts[s]); t < end; ++t) {
      const std::span seen(slots.data(), context - (end - 1 - t));
      for (std::size_t at = 0; at < q.columns; at += dim)
        attend(out.row(t) + at, q.row(t) + at, kv, layer, at / dim / group, seen);
    }
  }
}

void ReferenceBackend::silu_and_mul(Tensor out, Tensor gate_up) {
  for (std::size_t t = 0; t < out.rows; ++t) {
    for (std::size_t i = 0; i < out.columns; ++i) {
      const double gate = gate_up.row(t)[i];
      out.row(t)[i] = static_cast<float>(gate / (1 + std::exp(-gate)) * gate_up.row(t)[out.columns + i]);
    }
  }
}

void ReferenceBackend::gather_rows(Tensor out, Tensor x, std::span<const std::int32_t> rows) {
  check_indices(rows, x.rows);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const float* from = x.row(static_cast<std::size_t>(rows[i]));
    std::copy(from, from + x.columns, out.row(i));
  }
}

void ReferenceBackend::parallel_for(std::size_t count, const std::function<void(std::size_t)>& body) {
  for (std::size_t i = 0; i < count; ++i) body(i);
}

}  // namespace sluice::backend::reference
