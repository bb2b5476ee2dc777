// One rank: weights, KV pages and activations; runs a step and samples its rows.
#pragma once

#include <memory>
#include <vector>

#include "backend/backend.h"
#include "model/model_config.h"
#include "model/step_input.h"
#include "model/transformer.h"

namespace sluice::model {

class ModelRunner {
 public:
  // `tokens_max`: most tokens of one step. Throws std::bad_alloc.
  ModelRunner(std::shared_ptr<backend::Backend> backend, ModelConfig config, ModelWeights weights,
              const backend::KVShape& kv, std::size_t tokens_max);

  // Memory beside weights and KV pages that a runner of `tokens_max` takes.
  static std::uint64_t activation_bytes(const ModelConfig& config, std::size_t tokens_max);

  StepOutput execute(const StepInput& input);
  // Logits [R, V] of the wanted rows; for tests and tools, execute() samples them.
  std::vector<float> logits(const StepInput& input);

  const ModelConfig& config() const { return config_; }
  const ModelWeights& weights() const { return weights_; }

 private:
  // Logits of rows [first, first + count) of the wanted rows, after run_layers().
  backend::Tensor head(const StepInput& input, backend::Tensor hidden, std::size_t first, std::size_t count);
  backend::Tensor run_layers(const StepInput& input);

  std::shared_ptr<backend::Backend> backend_;
  ModelConfig config_;
  ModelWeights weights_;
  std::unique_ptr<backend::KVCache> cache_;
  Activations activations_;
  std::unique_ptr<backend::Buffer> head_memory_;
};

}  // namespace sluice::model
