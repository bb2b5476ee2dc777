// POST /v1/completions: many prompts in one body become one neutral request each; their events, with `choice`
// rewritten to prompt * n + choice, become SSE frames or one reply. Pure functions of their input.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/generation.h"
#include "api/openai/chat.h"
#include "base/json.h"

namespace sluice::api::openai {

// What the renderer must know of the request.
struct CompletionReplyOptions {
  bool include_usage = false;
  bool continuous_usage = false;
  std::int32_t logprobs = -1;  // alternatives; -1: none
  bool echo = false;
  bool drops_output = false;  // max_tokens 0: the echo alone, though the engine makes a token
  bool tokens_as_ids = false;
  std::int32_t choices = 1;               // n, of each prompt
  std::vector<std::string> prompt_texts;  // with `echo`
  std::vector<TokenId> stop_token_ids;    // those a stop_reason may name
};

struct CompletionCall : CompletionReplyOptions {
  std::vector<TextRequest> requests;  // one per prompt, at least one
  bool stream = false;
};

// Errors: kInvalidArgument or kUnimplemented; `param` names the field.
Result<CompletionCall> parse_completion(const json::value& body);

class CompletionStreamWriter {
 public:
  CompletionStreamWriter(const ReplyHeader& header, const CompletionReplyOptions& options);

  // Whole SSE frames, possibly none. The caller sends one UsageReport, the sum over all prompts, as the last
  // event, or one Error: both end with "data: [DONE]".
  std::string write(const TextEvent& event);

 private:
  struct Choice {
    bool has_begun = false;
    std::int32_t tokens = 0;             // running usage: one at least per delta
    std::int64_t text_offset = 0;        // code points before the next token
    std::vector<TokenLogprobs> waiting;  // for the delta that follows
  };
  std::string frame(std::int32_t index, std::string_view text, const Finish* finish);
  std::string last(Usage usage) const;

  std::string prefix_;  // of every frame
  CompletionReplyOptions options_;
  std::map<std::int32_t, std::int32_t> prompt_tokens_;  // by prompt
  std::map<std::int32_t, Choice> choices_;
};

// The fold of a complete log that has no Error.
std::string completion_reply(const ReplyHeader& header, const CompletionCall& call,
                             std::span<const TextEvent> events);

}  // namespace sluice::api::openai
