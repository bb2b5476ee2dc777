// Logits to token as a pure function of one row: nothing here knows the batch. Order: openai.md 2.2 (vLLM's).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sampling/sampling_params.h"

namespace sluice::sampling {

struct TokenLogprob {
  TokenId token = 0;
  float logprob = 0;
  std::int32_t rank = 0;  // 1-based in the raw distribution
};

struct SampledToken {
  TokenId token = 0;
  // When asked for: [0] is the chosen token, then the most likely ones, descending (raw model distribution).
  std::vector<TokenLogprob> logprobs;
};

// One row of a step.
struct SamplingRow {
  const SamplingParams* params = nullptr;
  std::span<const TokenId> prompt;  // for repetition_penalty
  std::span<const TokenId> output;  // generated so far
  std::uint64_t position =
      0;  // of the token being chosen, counted over prompt and output: keys the generator
  std::span<const std::uint32_t> allowed;  // bitmask over the vocabulary, empty: everything is allowed
  std::span<const TokenId> end_ids;        // masked while output.size() < min_tokens (eos and extra end ids)
};

// Chooses a token. `logits` [V] is scratch and is overwritten. Deterministic in (logits, row).
SampledToken sample_row(std::span<float> logits, const SamplingRow& row);

}  // namespace sluice::sampling
