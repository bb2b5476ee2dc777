// Takes every tensor of a checkpoint and packs it for a back end, fusing q, k, v and gate, up.
#pragma once

#include <functional>

#include "base/result.h"
#include "model/transformer.h"
#include "weights/checkpoint.h"

namespace sluice::model {

// Called after each tensor with bytes packed so far and in all, for a progress bar. False: stop loading.
using LoadProgress = std::function<bool(std::uint64_t done, std::uint64_t total)>;

// Files' pages are dropped as they are packed, so peak memory stays near the weights' own size.
// Errors: a missing, misshapen or left-over tensor, by name; kCancelled.
Result<ModelWeights> load_weights(weights::Checkpoint& checkpoint, const ModelConfig& config,
                                  backend::Backend& backend, const LoadProgress& progress);

}  // namespace sluice::model
