// The fold of a TextEvent log: what a plain reply says, and what the pieces of a stream add up to.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "api/generation.h"

namespace sluice::api {

struct FoldedToolCall {
  std::string id;
  std::string name;
  std::string arguments;  // JSON text
};

struct FoldedToken {
  TokenLogprobs logprobs;
  bool is_reasoning = false;
};

struct FoldedChoice {
  std::string reasoning;
  std::string content;
  std::vector<FoldedToolCall> tool_calls;
  std::vector<FoldedToken> tokens;  // when log-probabilities were asked for
  Finish finish;
};

struct Folded {
  std::map<std::int32_t, FoldedChoice> choices;
  Usage usage;
};

// An Error in the log is passed over: see find_error.
Folded fold(std::span<const TextEvent> events);

// The error that ended the log, or null.
const Error* find_error(std::span<const TextEvent> events);

}  // namespace sluice::api
