// What a request may ask of the choice of a token. Neutral defaults: the model's own distribution.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/strong_id.h"

namespace sluice::sampling {

struct SamplingParams {
  float temperature = 1.0F;         // < 1e-5: greedy; below 0.01 it is raised to 0.01
  std::int32_t top_k = 0;           // <= 0: off
  float top_p = 1.0F;               // (0, 1]
  float min_p = 0.0F;               // [0, 1]
  float repetition_penalty = 1.0F;  // > 0; tokens of prompt and output
  std::int32_t repetition_window =
      -1;                          // last N tokens that it looks at (Ollama's repeat_last_n); -1: all, 0: off
  float presence_penalty = 0.0F;   // [-2, 2]; output tokens only
  float frequency_penalty = 0.0F;  // [-2, 2]; output tokens only
  std::uint64_t seed = 0;          // resolved by the caller; same seed and position, same token
  std::vector<std::pair<TokenId, float>> logit_bias;
  std::int32_t logprobs = -1;   // alternatives to report; -1: none, 0: the chosen token's only
  std::int32_t min_tokens = 0;  // end and stop ids are masked before
  std::vector<TokenId> stop_token_ids;
  bool ignore_eos = false;

  bool is_greedy() const { return temperature < 1e-5F; }
};

// Errors: kInvalidArgument naming the field (`param`), for NaN, out of range and token ids outside [0,
// vocabulary).
Status validate(const SamplingParams& params, std::int32_t vocabulary);

}  // namespace sluice::sampling
