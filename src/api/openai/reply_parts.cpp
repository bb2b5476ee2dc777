#include "api/openai/reply_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace sluice::api::openai {
namespace {

std::string token_name(const TokenText& token, bool as_id) {
  return as_id ? fmt::format("token_id:{}", token.token) : valid_utf8(token.bytes);
}

// The members of a chat logprob entry, but for top_logprobs.
void write_token(JsonWriter& json, const TokenText& token, bool as_id) {
  json.field("token", token_name(token, as_id)).key("logprob").number(token.logprob);
  json.key("bytes").begin_array();  // true bytes, also of a part of a code point (field report F044)
  for (const char byte : token.bytes) json.integer(static_cast<unsigned char>(byte));
  json.end_array();
}

// Token text to log-probability: the chosen token first, then the others, each text once.
void write_top(JsonWriter& json, const TokenLogprobs& token, bool as_id) {
  std::set<std::string> seen;
  const auto write = [&](const TokenText& entry) {
    std::string name = token_name(entry, as_id);
    if (!seen.insert(name).second) return;
    json.key(name).number(entry.logprob);
  };
  json.begin_object();
  write(token.chosen);
  std::ranges::for_each(token.top, write);
  json.end_object();
}

}  // namespace

std::string reply_head(const ReplyHeader& header, std::string_view object) {
  JsonWriter json;
  json.begin_object().field("id", header.id).field("object", object);
  json.field("created", header.created).field("model", header.model);
  return json.take();
}

std::string_view finish_name(FinishReason reason) {
  switch (reason) {
    case FinishReason::kStop:
      return "stop";
    case FinishReason::kLength:
      return "length";
    case FinishReason::kToolCalls:
      return "tool_calls";
    case FinishReason::kCancelled:
    case FinishReason::kDeadline:
      return "abort";
    case FinishReason::kError:
      break;
  }
  return "error";
}

void write_finish(JsonWriter& json, const Finish& finish, std::span<const TokenId> stop_token_ids) {
  json.field("finish_reason", finish_name(finish.reason)).key("stop_reason");
  if (finish.stop_string) {
    json.string(*finish.stop_string);
  } else if (finish.stop_token &&
             std::ranges::find(stop_token_ids, *finish.stop_token) != stop_token_ids.end()) {
    json.integer(*finish.stop_token);
  } else {
    json.null();
  }
}

void write_usage(JsonWriter& json, const Usage& usage) {
  json.key("usage").begin_object().field("prompt_tokens", usage.prompt_tokens);
  json.field("total_tokens", std::int64_t{usage.prompt_tokens} + usage.completion_tokens);
  json.field("completion_tokens", usage.completion_tokens);
  json.key("prompt_tokens_details").begin_object().field("cached_tokens", usage.cached_tokens).end_object();
  json.key("completion_tokens_details").begin_object();
  json.field("reasoning_tokens", usage.reasoning_tokens).end_object().end_object();
}

void write_chat_logprobs(JsonWriter& json, const std::vector<TokenLogprobs>* tokens, bool tokens_as_ids) {
  json.key("logprobs");
  if (tokens == nullptr) {
    json.null();
    return;
  }
  json.begin_object().key("content").begin_array();
  for (const TokenLogprobs& token : *tokens) {
    json.begin_object();
    write_token(json, token.chosen, tokens_as_ids);
    json.key("top_logprobs").begin_array();
    for (const TokenText& entry : token.top) {
      json.begin_object();
      write_token(json, entry, tokens_as_ids);
      json.end_object();
    }
    json.end_array().end_object();
  }
  json.end_array().end_object();
}

void write_completion_logprobs(JsonWriter& json, const std::vector<TokenLogprobs>* tokens, bool tokens_as_ids,
                               std::int64_t& text_offset) {
  json.key("logprobs");
  if (tokens == nullptr) {
    json.null();
    return;
  }
  json.begin_object().key("text_offset").begin_array();
  for (const TokenLogprobs& token : *tokens) {
    json.integer(text_offset);
    text_offset += count_code_points(token.chosen.bytes);
  }
  json.end_array().key("token_logprobs").begin_array();
  for (const TokenLogprobs& token : *tokens) json.number(token.chosen.logprob);
  json.end_array().key("tokens").begin_array();
  for (const TokenLogprobs& token : *tokens) json.string(token_name(token.chosen, tokens_as_ids));
  json.end_array().key("top_logprobs").begin_array();
  for (const TokenLogprobs& token : *tokens) write_top(json, token, tokens_as_ids);
  json.end_array().end_object();
}

std::int64_t count_code_points(std::string_view text) {
  return std::ranges::count_if(text,
                               [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0) != 0x80; });
}

}  // namespace sluice::api::openai
