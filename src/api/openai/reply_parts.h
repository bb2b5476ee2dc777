// JSON fragments that chat and completion replies share, streamed or not.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/generation.h"
#include "api/json_writer.h"
#include "api/openai/chat.h"

namespace sluice::api::openai {

inline constexpr std::string_view kDone = "data: [DONE]\n\n";

// `{"id":...,"object":...,"created":...,"model":...` without the closing brace.
std::string reply_head(const ReplyHeader& header, std::string_view object);

std::string_view finish_name(FinishReason reason);

// finish_reason, and stop_reason: null (end of turn, length), the stop string, or the stop token's id.
void write_finish(JsonWriter& json, const Finish& finish, std::span<const TokenId> stop_token_ids);

// The member "usage".
void write_usage(JsonWriter& json, const Usage& usage);

// The member "logprobs" of a chat choice; `tokens` null: JSON null.
void write_chat_logprobs(JsonWriter& json, const std::vector<TokenLogprobs>* tokens, bool tokens_as_ids);

// The member "logprobs" of a completion choice. `text_offset` is where the first token begins, in code
// points, and moves on to the end of the last.
void write_completion_logprobs(JsonWriter& json, const std::vector<TokenLogprobs>* tokens, bool tokens_as_ids,
                               std::int64_t& text_offset);

// Code points that begin in `text`: the parts of one that is cut count once.
std::int64_t count_code_points(std::string_view text);

}  // namespace sluice::api::openai
