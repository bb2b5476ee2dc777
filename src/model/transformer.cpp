#include "model/transformer.h"

#include <array>

namespace sluice::model {

using backend::Tensor;

namespace {

// Widths of Activations' tensors, in their order.
std::array<std::size_t, 6> widths_of(const ModelConfig& c) {
  const std::size_t qkv_width = (c.heads + 2 * c.kv_heads) * c.head_dim;
  return {c.hidden, c.hidden, qkv_width, c.heads * c.head_dim, 2 * c.ffn, c.ffn};
}

}  // namespace

std::size_t Activations::floats_per_token(const ModelConfig& config) {
  std::size_t total = 0;
  for (const std::size_t width : widths_of(config)) total += width;
  return total;
}

Activations::Activations(backend::Backend& backend, const ModelConfig& config, std::size_t tokens_max) {
  const auto widths = widths_of(config);
  Tensor* parts[] = {&residual, &normed, &qkv, &attention, &gate_up, &activated};
  memory_ = backend.allocate(floats_per_token(config) * tokens_max);
  float* next = memory_->data();
  for (std::size_t i = 0; i < widths.size(); ++i) {
    *parts[i] = {next, tokens_max, widths[i], widths[i]};
    next += widths[i] * tokens_max;
  }
}

Tensor forward(backend::Backend& backend, const ModelConfig& c, const ModelWeights& weights, Activations& a,
               backend::KVCache& cache, const ForwardBatch& batch) {
  const std::size_t tokens = batch.token_ids.size();
  const std::size_t q_width = c.heads * c.head_dim;
  const std::size_t kv_width = c.kv_heads * c.head_dim;
  const Tensor residual = a.residual.rows_at(0, tokens);
  const Tensor normed = a.normed.rows_at(0, tokens);
  const Tensor qkv = a.qkv.rows_at(0, tokens);
  const Tensor q = qkv.columns_at(0, q_width);
  const Tensor k = qkv.columns_at(q_width, kv_width);
  const Tensor v = qkv.columns_at(q_width + kv_width, kv_width);
  const Tensor attention = a.attention.rows_at(0, tokens);
  const Tensor gate_up = a.gate_up.rows_at(0, tokens);
  const Tensor activated = a.activated.rows_at(0, tokens);

  backend.embed(residual, *weights.embedding, batch.token_ids);
  Tensor pending;  // a block's output that is not yet added to the residual
  for (std::size_t layer = 0; layer < c.layers; ++layer) {
    const LayerWeights& w = weights.layers[layer];
    backend.add_rms_norm(normed, residual, pending, w.attention_norm, c.rms_eps);
    backend.linear(qkv, *w.qkv, normed);
    if (!w.qkv_bias.empty()) backend.add_bias(qkv, w.qkv_bias);
    const backend::QKNorm qk_norm{w.q_norm, w.k_norm, c.rms_eps};
    backend.qk_norm_rope(q, k, c.head_dim, qk_norm, c.rope, batch.positions);
    backend.store_kv(cache, layer, k, v, batch.slots);
    backend.paged_attention(attention, q, cache, layer, batch.attention);
    backend.linear(normed, *w.output, attention);
    pending = normed;
    // The norm reads `pending` row by row before it writes the same row of its output.
    backend.add_rms_norm(normed, residual, pending, w.ffn_norm, c.rms_eps);
    backend.linear(gate_up, *w.gate_up, normed);
    backend.silu_and_mul(activated, gate_up);
    backend.linear(normed, *w.down, activated);
  }
  backend.add_rms_norm(normed, residual, pending, weights.final_norm, c.rms_eps);
  return normed;
}

}  // namespace sluice::model
