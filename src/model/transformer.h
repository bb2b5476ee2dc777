// The network: Qwen3, Qwen2 and Llama as one readable forward over the back end's operators.
#pragma once

#include <memory>
#include <vector>

#include "backend/backend.h"
#include "model/model_config.h"

namespace sluice::model {

struct LayerWeights {
  std::vector<float> attention_norm;         // [E]
  std::unique_ptr<backend::Weight> qkv;      // [(H + 2K) * D, E]
  std::vector<float> qkv_bias;               // [(H + 2K) * D], empty: none
  std::vector<float> q_norm, k_norm;         // [D], empty: none
  std::unique_ptr<backend::Weight> output;   // [E, H * D]
  std::vector<float> ffn_norm;               // [E]
  std::unique_ptr<backend::Weight> gate_up;  // [2F, E]
  std::unique_ptr<backend::Weight> down;     // [E, F]
};

struct ModelWeights {
  std::shared_ptr<backend::Weight> embedding;  // [V, E]
  std::shared_ptr<backend::Weight> head;       // [V, E]; the embedding itself when tied
  std::vector<float> final_norm;               // [E]
  std::vector<LayerWeights> layers;
  std::size_t bytes = 0;  // streamed by one decode step
};

// Activations of one step, allocated once for `tokens_max` tokens.
class Activations {
 public:
  Activations(backend::Backend& backend, const ModelConfig& config, std::size_t tokens_max);
  static std::size_t floats_per_token(const ModelConfig& config);
  backend::Tensor residual, normed, qkv, attention, gate_up, activated;

 private:
  std::unique_ptr<backend::Buffer> memory_;
};

// One step's inputs for the layers.
struct ForwardBatch {
  std::span<const std::int32_t> token_ids;  // [T]
  std::span<const std::int32_t> positions;  // [T]
  std::span<const std::int64_t> slots;      // [T]
  backend::AttentionBatch attention;
};

// Final hidden states of all tokens, normed: rows [T, E] of `activations.normed`.
backend::Tensor forward(backend::Backend& backend, const ModelConfig& config, const ModelWeights& weights,
                        Activations& activations, backend::KVCache& cache, const ForwardBatch& batch);

}  // namespace sluice::model
