// What goes into the engine and what comes out: tokens only, no text.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/strong_id.h"
#include "sampling/sampler.h"
#include "sampling/sampling_params.h"
#include "sampling/token_constraint.h"

namespace sluice::engine {

enum class FinishReason : std::uint8_t { kStop, kLength, kCancelled, kDeadline, kError };

// A batch of tokens of one sequence. The last event of a sequence carries `finish`.
struct TokenEvent {
  std::vector<sampling::SampledToken> tokens;
  std::optional<FinishReason> finish;
  std::optional<TokenId> stop_token;  // the stop or end id that finished it; it is also the last of `tokens`
  std::optional<Error> error;         // with kError
  // Set once prefill is over, for usage and timings.
  std::int32_t cached_tokens = 0;           // prompt tokens taken from the prefix cache
  std::chrono::nanoseconds queue_time{};    // arrival to first scheduled
  std::chrono::nanoseconds prefill_time{};  // first scheduled to first token
};

// Where a generation's tokens go. Called on the engine thread: must not block, must not call the engine.
class TokenSink {
 public:
  virtual ~TokenSink() = default;
  virtual void deliver(TokenEvent event) = 0;
};

struct GenerationRequest {
  SequenceId id;                // unique in the process
  std::vector<TokenId> prompt;  // at least one token
  sampling::SamplingParams sampling;
  std::int32_t max_tokens = 16;  // >= 1
  std::vector<TokenId> end_ids;  // end-of-turn ids of the model
  std::string cache_salt;        // tenant; different salts never share blocks
  bool use_prefix_cache = true;
  std::optional<std::chrono::steady_clock::time_point> deadline;
  std::shared_ptr<sampling::TokenConstraint> constraint;
  std::shared_ptr<TokenSink> sink;
};

}  // namespace sluice::engine
