// The neutral question and the neutral streamed answer that both dialects translate to and from.
// A TextEvent list is the log that cache and replay store: a stream renders it one by one, a plain reply is
// its fold.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "sampling/sampling_params.h"
#include "text/message.h"

namespace sluice::api {

struct TextRequest {
  std::string model;  // as the client named it; empty: the first served
  std::string request_id;
  // Exactly one of the three.
  std::optional<text::Conversation> chat;
  std::optional<std::string> prompt;  // raw text, special tokens parsed
  std::optional<std::vector<TokenId>> prompt_ids;

  sampling::SamplingParams sampling;
  // Which fields of `sampling` the client set: the others take the model's defaults (generation_config,
  // Modelfile).
  struct Given {
    bool temperature = false, top_k = false, top_p = false, min_p = false, repetition_penalty = false,
         repetition_window = false, presence_penalty = false, frequency_penalty = false, seed = false;
  } given;
  std::optional<std::int32_t> max_tokens;          // unset: what remains of the context
  std::optional<std::int32_t> context_tokens_max;  // Ollama num_ctx
  std::vector<std::string> stop;
  bool include_stop_in_output = false;
  bool skip_special_tokens = true;
  std::int32_t choices = 1;  // n
  bool echo = false;
  std::optional<bool> thinking;  // unset: the model's default
  bool split_reasoning = true;   // false: raw text, think tags included (completions, raw)
  std::string cache_salt;
  std::optional<std::chrono::steady_clock::time_point> deadline;
  bool shift_or_truncate = false;  // Ollama: an over-long chat loses its oldest turns instead of failing
};

struct TokenText {
  TokenId token = 0;
  std::string bytes;  // the token's true bytes, not always UTF-8
  float logprob = 0;
};
struct TokenLogprobs {
  TokenText chosen;
  std::vector<TokenText> top;
};

enum class FinishReason : std::uint8_t { kStop, kLength, kToolCalls, kCancelled, kDeadline, kError };

struct Usage {
  std::int32_t prompt_tokens = 0;
  std::int32_t completion_tokens = 0;
  std::int32_t reasoning_tokens = 0;
  std::int32_t cached_tokens = 0;
  std::chrono::nanoseconds load_time{};  // waiting for the model
  std::chrono::nanoseconds prefill_time{};
  std::chrono::nanoseconds decode_time{};
  std::chrono::nanoseconds total_time{};
};

struct RoleDelta {
  std::string role;
};
struct ReasoningDelta {
  std::string text;
};
struct TextDelta {
  std::string text;
};  // whole code points only
struct ToolCallStart {
  std::int32_t call = 0;
  std::string id;
  std::string name;
};
struct ToolCallArguments {
  std::int32_t call = 0;
  std::string fragment;
};
struct ToolCallEnd {
  std::int32_t call = 0;
};
struct LogprobsDelta {
  std::vector<TokenLogprobs> tokens;
};  // belongs to the text delta that follows it
struct PromptIds {
  std::vector<TokenId> ids;
};  // first event, when echo or Ollama's context needs it
struct Finish {
  FinishReason reason = FinishReason::kStop;
  std::optional<std::string> stop_string;
  std::optional<TokenId> stop_token;
};
struct UsageReport {
  Usage usage;
};  // after every choice has finished; last event of a good answer

struct TextEvent {
  std::int32_t choice = 0;
  std::variant<RoleDelta, ReasoningDelta, TextDelta, ToolCallStart, ToolCallArguments, ToolCallEnd,
               LogprobsDelta, PromptIds, Finish, UsageReport, Error>
      body;
};

// Receives the events of one answer, in order, from any one thread at a time. Must not block.
class TextSink {
 public:
  virtual ~TextSink() = default;
  virtual void deliver(TextEvent event) = 0;  // UsageReport or Error is the last
};

// A running answer. Destroying it, or cancel(), aborts the generation.
class Generation {
 public:
  virtual ~Generation() = default;
  virtual void cancel() = 0;
};

// Anything that answers: the local engine, a replica, a foreign server.
class Upstream {
 public:
  virtual ~Upstream() = default;
  // Errors found before the first event: bad parameters, over-long prompt, unknown model, full queue.
  virtual Result<std::unique_ptr<Generation>> start(const TextRequest& request,
                                                    std::shared_ptr<TextSink> sink) = 0;
};

}  // namespace sluice::api
