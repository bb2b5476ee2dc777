// parse_chat: fields of a chat body that completions do not have.
#include "api/openai/chat.h"
#include "api/openai/messages.h"
#include "api/openai/request_fields.h"

namespace sluice::api::openai {
namespace {

Status read_logprobs(const Fields& fields, ChatCall& call) {
  SLUICE_TRY_STATUS(fields.read("logprobs", call.logprobs));
  std::int32_t top = 0;
  SLUICE_TRY_STATUS(fields.read("top_logprobs", top, {0, kLogprobsMax}));
  if (top > 0 && !call.logprobs) {
    return bad_field("top_logprobs", "top_logprobs is only allowed with \"logprobs\": true");
  }
  if (call.logprobs) call.request.sampling.logprobs = top;
  return {};
}

Status read_reply_options(const Fields& fields, ChatCall& call) {
  SLUICE_TRY_STATUS(fields.read("include_reasoning", call.include_reasoning));
  SLUICE_TRY_STATUS(fields.read("return_tokens_as_token_ids", call.tokens_as_ids));
  SLUICE_TRY_STATUS(fields.read("echo", call.request.echo));
  const text::Message& last = call.request.chat->messages.back();
  if (call.request.echo && last.role == "assistant") call.echo = last.content;
  call.stop_token_ids = call.request.sampling.stop_token_ids;
  return {};
}

}  // namespace

Result<ChatCall> parse_chat(const json::value& body) {
  SLUICE_TRY(const Fields fields, Fields::of(body));
  ChatCall call;
  SLUICE_TRY(const StreamOptions stream, read_stream_options(fields));
  call.stream = stream.stream;
  call.include_usage = stream.include_usage;
  call.continuous_usage = stream.continuous_usage;
  SLUICE_TRY_STATUS(read_request(fields, call.request));
  const bool has_new_name = fields.find("max_completion_tokens") != nullptr;
  SLUICE_TRY_STATUS(
      read_max_tokens(fields, has_new_name ? "max_completion_tokens" : "max_tokens", 1, call.request));
  SLUICE_TRY_STATUS(refuse_unsupported(fields, call.stream));
  SLUICE_TRY_STATUS(read_logprobs(fields, call));
  SLUICE_TRY_STATUS(read_conversation(fields, call.request));
  SLUICE_TRY_STATUS(read_reply_options(fields, call));
  return call;
}

}  // namespace sluice::api::openai
