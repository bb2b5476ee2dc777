// POST /v1/chat/completions: the body to a neutral request, and the events of the answer to SSE frames or to
// one reply. Pure functions of their input; a writer belongs to one thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/generation.h"
#include "base/json.h"

namespace sluice::api::openai {

// What the renderer must know of the request.
struct ChatReplyOptions {
  bool include_usage = false;
  bool continuous_usage = false;
  bool logprobs = false;
  bool include_reasoning = true;
  bool tokens_as_ids = false;           // logprobs name tokens "token_id:N"
  std::string echo;                     // what the answer repeats first; empty: nothing
  std::vector<TokenId> stop_token_ids;  // those a stop_reason may name
};

struct ChatCall : ChatReplyOptions {
  TextRequest request;
  bool stream = false;
};

// Errors: kInvalidArgument or kUnimplemented; `param` names the field.
Result<ChatCall> parse_chat(const json::value& body);

struct ReplyHeader {
  std::string id;            // with its prefix: chatcmpl-..., cmpl-...
  std::string model;         // the served name
  std::int64_t created = 0;  // Unix seconds
};

// Renders the events of one answer, in order. The role is sent with the first output of the model, not
// before, so that its time is the time to the first token.
class ChatStreamWriter {
 public:
  ChatStreamWriter(const ReplyHeader& header, const ChatReplyOptions& options);

  // Whole SSE frames, possibly none. The last event (UsageReport or Error) ends with "data: [DONE]".
  std::string write(const TextEvent& event);

 private:
  struct Choice {
    bool has_begun = false;
    std::int32_t tokens = 0;             // running usage: one at least per delta
    std::vector<TokenLogprobs> waiting;  // for the delta that follows
  };
  std::string begin(std::int32_t index);
  std::string text_delta(std::int32_t index, bool is_reasoning, std::string_view text);
  std::string tool_delta(const TextEvent& event);
  std::string frame(std::int32_t index, std::string_view delta_json, const Finish* finish);
  std::string last(const Usage& usage) const;

  std::string prefix_;  // of every frame
  ChatReplyOptions options_;
  std::int32_t prompt_tokens_ = 0;
  std::map<std::int32_t, Choice> choices_;
};

// The fold of a complete log that has no Error (see find_error): what the stream says, in one body.
std::string chat_reply(const ReplyHeader& header, const ChatCall& call, std::span<const TextEvent> events);

}  // namespace sluice::api::openai
