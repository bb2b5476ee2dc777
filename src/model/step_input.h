// One step of the engine as flat arrays: what an executor needs, and nothing it could not receive over a
// wire.
#pragma once

#include <cstdint>
#include <vector>

#include "sampling/sampler.h"
#include "sampling/sampling_params.h"

namespace sluice::model {

// S sequences, T tokens. Row r of the output belongs to token logit_rows[r].
struct StepInput {
  std::vector<std::int32_t> token_ids;        // [T]
  std::vector<std::int32_t> positions;        // [T]
  std::vector<std::int64_t> slots;            // [T] block * 16 + offset where the token's keys and values go
  std::vector<std::int32_t> query_starts;     // [S + 1]
  std::vector<std::int32_t> context_lengths;  // [S] tokens of the context after this step
  std::vector<std::int32_t> block_tables;     // [S, blocks_per_sequence_max], padded with 0
  std::int32_t blocks_per_sequence_max = 0;
  std::vector<std::int32_t> logit_rows;  // [R] token indices whose logits are wanted: 0..k+1 per sequence

  // What the sampler needs for output row r.
  struct SampleRow {
    sampling::SamplingParams params;
    std::vector<TokenId> prompt;  // empty unless a penalty looks at it
    std::vector<TokenId> output;  // empty unless a penalty or min_tokens looks at it
    std::uint64_t position = 0;
    std::vector<std::uint32_t> allowed;  // bitmask, empty: all
    std::vector<TokenId> end_ids;
  };
  std::vector<SampleRow> samples;  // [R]
};

struct StepOutput {
  std::vector<sampling::SampledToken> tokens;  // [R]
};

}  // namespace sluice::model
