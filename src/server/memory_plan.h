// What a model will take, item by item, before any of it is taken.
#pragma once

#include <cstdint>
#include <string>

#include "backend/backend.h"
#include "base/result.h"
#include "model/model_config.h"
#include "server/local_model.h"

namespace sluice::server {

struct MemoryPlan {
  std::uint64_t weights = 0;      // bytes, once packed
  std::uint64_t kv = 0;           // bytes of the KV pool
  std::uint64_t activations = 0;  // bytes of one step's
  std::uint64_t available = 0;    // bytes this process may still take
  std::size_t kv_blocks = 0;

  // "weights 0.09 GiB + KV cache 1.50 GiB (69,888 tokens) + activations 0.01 GiB = ... of 20.1 GiB available"
  std::string text() const;
};

// Free memory of the machine, or of the control group when that has less left.
std::uint64_t available_bytes();

// `context`: tokens of the longest sequence. Errors: kResourceExhausted with the plan and what to change.
Result<MemoryPlan> plan_memory(std::uint64_t weight_bytes, std::uint64_t available,
                               const LoadOptions& options, const model::ModelConfig& config,
                               std::size_t context);

}  // namespace sluice::server
