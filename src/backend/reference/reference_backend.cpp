#include "backend/reference/reference_backend.h"

#include <algorithm>
#include <cmath>

#include "backend/quant_formats.h"
#include "base/check.h"

namespace sluice::backend {
namespace {

class PlainBuffer : public Buffer {
 public:
  explicit PlainBuffer(std::size_t floats) : values_(floats) {}
  float* data() override { return values_.data(); }
  std::size_t size() const override { return values_.size(); }

 private:
  std::vector<float> values_;
};

// [rows, columns] as floats.
class PlainWeight : public Weight {
 public:
  PlainWeight(std::span<const RowSegment> segments, std::size_t columns) : columns_(columns) {
    for (const RowSegment& segment : segments) {
      const std::size_t stride = row_bytes(segment.format, columns);
      for (std::size_t row = 0; row < segment.rows; ++row) {
        values_.resize(values_.size() + columns);
        dequantize_row(segment.format, segment.values.data() + row * stride, columns,
                       values_.data() + values_.size() - columns);
      }
    }
  }
  std::size_t rows() const override { return values_.size() / columns_; }
  std::size_t columns() const override { return columns_; }
  std::size_t bytes() const override { return values_.size() * sizeof(float); }
  const float* row(std::size_t index) const { return values_.data() + index * columns_; }

 private:
  std::size_t columns_;
  std::vector<float> values_;
};

// Keys and values as [layer, slot, head, dim] floats, rounded as the format asks.
class PlainKV : public KVCache {
 public:
  explicit PlainKV(const KVShape& shape)
      : shape_(shape), keys_(shape.layers * shape.blocks * kBlockTokens * width()), values_(keys_.size()) {}
  const KVShape& shape() const override { return shape_; }
  void store(std::vector<float>& side, std::size_t layer, std::int64_t slot, const float* from) {
    float* to = side.data() + offset(layer, slot);
    for (std::size_t i = 0; i < width(); ++i)
      to[i] = shape_.format == KVFormat::kBF16 ? bf16_to_float(float_to_bf16(from[i])) : from[i];
  }
  std::vector<float>& keys() { return keys_; }
  std::vector<float>& values() { return values_; }
  const float* key(std::size_t layer, std::int64_t slot, std::size_t head) const {
    return keys_.data() + offset(layer, slot) + head * shape_.head_dim;
  }
  const float* value(std::size_t layer, std::int64_t slot, std::size_t head) const {
    return values_.data() + offset(layer, slot) + head * shape_.head_dim;
  }

 private:
  std::size_t width() const { return shape_.kv_heads * shape_.head_dim; }
  std::size_t offset(std::size_t layer, std::int64_t slot) const {
    const std::size_t slots = shape_.blocks * kBlockTokens;
    SLUICE_CHECK(slot >= 0 && static_cast<std::size_t>(slot) < slots, "slot outside the KV pool");
    return (layer * slots + static_cast<std::size_t>(slot)) * width();
  }
  KVShape shape_;
  std::vector<float> keys_, values_;
};

const PlainWeight& plain(const Weight& weight) { return static_cast<const PlainWeight&>(weight); }

void rms_norm(float* out, const float* x, std::span<const float> gain, float eps) {
  double squares = 0;
  for (std::size_t i = 0; i < gain.size(); ++i) squares += double{x[i]} * x[i];
  const double scale = 1 / std::sqrt(squares / static_cast<double>(gain.size()) + double{eps});
  for (std::size_t i = 0; i < gain.size(); ++i) out[i] = static_cast<float>(x[i] * scale * gain[i]);
}

// Pair (i, i + D/2) turns by position * inverse_frequency[i].
void rotate(float* head, const Rope& rope, std::int32_t position) {
  const std::size_t half = rope.inverse_frequency.size();
  for (std::size_t i = 0; i < half; ++i) {
    // The angle is float32 in transformers too, so it is part of the model.
    const double angle = static_cast<float>(position) * rope.inverse_frequency[i];
    const double a = head[i];
    const double b = head[i + half];
    head[i] = static_cast<float>((a * std::cos(angle) - b * std::sin(angle)) * rope.attention_factor);
    head[i + half] = static_cast<float>((b * std::cos(angle) + a * std::sin(angle)) * rope.attention_factor);
  }
}

// One query head over the slots of its context: softmax(q k / sqrt(D)) v.
void attend(float* out, const float* q, const PlainKV& kv, std::size_t layer, std::size_t head,
            std::span<const std::int64_t> slots) {
  const std::size_t dim = kv.shape().head_dim;
  std::vector<double> weights;
  for (const std::int64_t slot : slots) {
    double dot = 0;
    for (std::size_t i = 0; i < dim; ++i) dot += double{q[i]} * kv.key(layer, slot, head)[i];
    weights.push_back(dot / std::sqrt(static_cast<double>(dim)));
  }
  const double largest = *std::ranges::max_element(weights);
  double total = 0;
  for (double& weight : weights) total += weight = std::exp(weight - largest);
  for (std::size_t i = 0; i < dim; ++i) {
    double sum = 0;
    for (std::size_t s = 0; s < slots.size(); ++s)
      sum += weights[s] / total * kv.value(layer, slots[s], head)[i];
    out[i] = static_cast<float>(sum);
  }
}

}  // namespace

std::unique_ptr<Buffer> ReferenceBackend::allocate(std::size_t floats) {
  return std::make_unique<PlainBuffer>(floats);
}

std::unique_ptr<KVCache> ReferenceBackend::allocate_kv(const KVShape& shape) {
  return std::make_unique<PlainKV>(shape);
}

std::unique_ptr<Weight> ReferenceBackend::prepare(std::span<const RowSegment> segments, std::size_t columns) {
  return std::make_unique<PlainWeight>(segments, columns);
}

void ReferenceBackend::embed(Tensor out, const Weight& table, std::span<const std::int32_t> ids) {
  for (std::size_t t = 0; t < ids.size(); ++t)
    std::copy_n(plain(table).row(static_cast<std::size_t>(ids[t])), out.columns, out.row(t));
}

void ReferenceBackend::linear(Tensor out, const Weight& weight, Tensor x) {
  for (std::size_t t = 0; t < x.rows; ++t) {
    for (std::size_t n = 0; n < weight.rows(); ++n) {
      double sum = 0;
      for (std::size_t i = 0; i < x.columns; ++i) sum += double{x.row(t)[i]} * plain(weight).row(n)[i];
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
    if (x.data != nullptr)
      for (std::size_t i = 0; i < gain.size(); ++i) residual.row(t)[i] += x.row(t)[i];
    rms_norm(out.row(t), residual.row(t), gain, eps);
  }
}

void ReferenceBackend::qk_norm_rope(Tensor q, Tensor k, std::size_t head_dim, const QKNorm& norm,
                                    const Rope& rope, std::span<const std::int32_t> positions) {
  const auto turn = [&](Tensor heads, std::span<const float> gain) {
    for (std::size_t t = 0; t < heads.rows; ++t) {
      for (std::size_t at = 0; at < heads.columns; at += head_dim) {
        float* head = heads.row(t) + at;
        if (!gain.empty()) rms_norm(head, head, gain, norm.eps);
        rotate(head, rope, positions[t]);
      }
    }
  };
  turn(q, norm.q_gain);
  turn(k, norm.k_gain);
}

void ReferenceBackend::store_kv(KVCache& cache, std::size_t layer, Tensor k, Tensor v,
                                std::span<const std::int64_t> slots) {
  auto& kv = static_cast<PlainKV&>(cache);
  for (std::size_t t = 0; t < slots.size(); ++t) {
    kv.store(kv.keys(), layer, slots[t], k.row(t));
    kv.store(kv.values(), layer, slots[t], v.row(t));
  }
}

void ReferenceBackend::paged_attention(Tensor out, Tensor q, const KVCache& cache, std::size_t layer,
                                       const AttentionBatch& batch) {
  const auto& kv = static_cast<const PlainKV&>(cache);
  const std::size_t dim = kv.shape().head_dim;
  const std::size_t group = q.columns / dim / kv.shape().kv_heads;  // query heads of a key-value head
  for (std::size_t s = 0; s < batch.sequences(); ++s) {
    const std::int32_t* table = batch.block_tables.data() + s * batch.blocks_per_sequence_max;
    const std::int32_t queries = batch.query_starts[s + 1] - batch.query_starts[s];
    std::vector<std::int64_t> slots;
    for (std::int32_t p = 0; p < batch.context_lengths[s]; ++p)
      slots.push_back(std::int64_t{table[p / 16]} * 16 + p % 16);
    for (std::int32_t i = 0; i < queries; ++i) {
      const auto row = static_cast<std::size_t>(batch.query_starts[s] + i);
      const auto seen = static_cast<std::size_t>(batch.context_lengths[s] - queries + i + 1);
      for (std::size_t head = 0; head < q.columns / dim; ++head)
        attend(out.row(row) + head * dim, q.row(row) + head * dim, kv, layer, head / group,
               std::span(slots).first(seen));
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
  for (std::size_t t = 0; t < rows.size(); ++t)
    std::copy_n(x.row(static_cast<std::size_t>(rows[t])), x.columns, out.row(t));
}

void ReferenceBackend::parallel_for(std::size_t count, const std::function<void(std::size_t)>& body) {
  for (std::size_t i = 0; i < count; ++i) body(i);
}

}  // namespace sluice::backend
