// What chat and completion bodies have in common: sampling, stops, streaming, and what must be refused.
#pragma once

#include "api/generation.h"
#include "api/validation.h"

namespace sluice::api::openai {

inline constexpr std::int32_t kLogprobsMax = 20;
inline constexpr std::int32_t kChoicesMax = 128;

struct StreamOptions {
  bool stream = false;
  bool include_usage = false;
  bool continuous_usage = false;
};

// Errors: kInvalidArgument for stream_options without stream.
Result<StreamOptions> read_stream_options(const Fields& fields);

// Model, sampling parameters, stops, seed, n, cache_salt. max_tokens is not among them.
Status read_request(const Fields& fields, TextRequest& request);

// `name` when given: at least `low`. Also checks min_tokens against it.
Status read_max_tokens(const Fields& fields, std::string_view name, std::int32_t low, TextRequest& request);

// Refuses what would change the answer and cannot be done: structured output, prompt logprobs, beam search...
Status refuse_unsupported(const Fields& fields, bool stream);

}  // namespace sluice::api::openai
