#include "api/ollama/writer.h"

#include <algorithm>
#include <boost/json/object.hpp>

#include "api/fold.h"
#include "api/json_writer.h"
#include "api/ollama/errors.h"
#include "api/ollama/timestamps.h"

namespace sluice::api::ollama {
namespace {

void write_token(JsonWriter& json, const TokenText& token) {
  json.field("token", token.bytes).key("logprob").number(token.logprob);
  json.key("bytes").begin_array();
  for (const char byte : token.bytes) json.integer(static_cast<unsigned char>(byte));
  json.end_array();
}

// The member "logprobs", left out when there is none.
void write_logprobs(JsonWriter& json, std::span<const TokenLogprobs> tokens) {
  if (tokens.empty()) return;
  json.key("logprobs").begin_array();
  for (const TokenLogprobs& token : tokens) {
    json.begin_object();
    write_token(json, token.chosen);
    if (!token.top.empty()) {
      json.key("top_logprobs").begin_array();
      for (const TokenText& entry : token.top) {
        json.begin_object();
        write_token(json, entry);
        json.end_object();
      }
      json.end_array();
    }
    json.end_object();
  }
  json.end_array();
}

// Arguments are an object on this wire, never a string; what is not one becomes empty. The text stays as the
// model wrote it, but for line breaks, which end a line of the stream and in JSON are mere space.
std::string arguments_object(std::string arguments) {
  const Result<json::value> parsed = json::parse(arguments);
  if (!parsed || !parsed->is_object()) return "{}";
  std::ranges::replace_if(
      arguments, [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return arguments;
}

void write_call(JsonWriter& json, std::int32_t index, const FoldedToolCall& call) {
  json.begin_object().field("id", call.id).key("function").begin_object();
  json.field("index", index).field("name", call.name);
  json.key("arguments").raw(arguments_object(call.arguments)).end_object().end_object();
}

struct Content {
  std::string_view text;
  std::string_view thinking;
  std::span<const FoldedToolCall> calls;
  std::int32_t first_call = 0;
};

void write_head(JsonWriter& json, const ReplyHeader& header) {
  json.begin_object().field("model", header.model).field("created_at", utc_nanoseconds(header.now()));
}

// "message" of a chat, or the flat members of a completion.
void write_content(JsonWriter& json, bool is_chat, const Content& content) {
  if (is_chat) json.key("message").begin_object().field("role", "assistant");
  json.field(is_chat ? "content" : "response", content.text);
  if (!content.thinking.empty()) json.field("thinking", content.thinking);
  if (!content.calls.empty()) {
    json.key("tool_calls").begin_array();
    std::int32_t index = content.first_call;
    for (const FoldedToolCall& call : content.calls) write_call(json, index++, call);
    json.end_array();
  }
  if (is_chat) json.end_object();
}

void write_done(JsonWriter& json, const Finish& finish, bool drops_output, const Usage& usage) {
  const bool is_length = drops_output || finish.reason == FinishReason::kLength;
  json.field("done", true).field("done_reason", is_length ? "length" : "stop");
  json.field("total_duration", std::int64_t{usage.total_time.count()});
  json.field("load_duration", std::int64_t{usage.load_time.count()});
  json.field("prompt_eval_count", usage.prompt_tokens);
  json.field("prompt_eval_duration", std::int64_t{usage.prefill_time.count()});
  json.field("eval_count", drops_output ? 0 : usage.completion_tokens);
  json.field("eval_duration", std::int64_t{usage.decode_time.count()});
}

}  // namespace

StreamWriter::StreamWriter(ReplyHeader header, const GenerateCall& call)
    : header_(std::move(header)), is_chat_(call.is_chat), drops_output_(call.request.max_tokens == 0) {}

std::string StreamWriter::write(const TextEvent& event) {
  if (const auto* report = std::get_if<UsageReport>(&event.body)) {
    JsonWriter json;
    write_head(json, header_);
    write_content(json, is_chat_, {});
    write_done(json, finish_, drops_output_, report->usage);
    write_logprobs(json, waiting_);
    return json.end_object().take() + "\n";
  }
  if (const auto* error = std::get_if<Error>(&event.body)) return error_line(*error);
  if (const auto* finish = std::get_if<Finish>(&event.body)) finish_ = *finish;
  if (drops_output_) return {};
  if (const auto* text = std::get_if<TextDelta>(&event.body)) return text_line(text->text, {});
  if (const auto* thought = std::get_if<ReasoningDelta>(&event.body)) return text_line({}, thought->text);
  if (const auto* logprobs = std::get_if<LogprobsDelta>(&event.body)) {
    waiting_.insert(waiting_.end(), logprobs->tokens.begin(), logprobs->tokens.end());
    return {};
  }
  return tool_line(event);
}

std::string StreamWriter::text_line(std::string_view text, std::string_view thinking) {
  Content content;
  content.text = text;
  content.thinking = thinking;
  JsonWriter json;
  write_head(json, header_);
  write_content(json, is_chat_, content);
  json.field("done", false);
  write_logprobs(json, std::exchange(waiting_, {}));
  return json.end_object().take() + "\n";
}

// A call is sent whole, in a line of its own, as soon as it has ended.
std::string StreamWriter::tool_line(const TextEvent& event) {
  if (const auto* start = std::get_if<ToolCallStart>(&event.body)) {
    open_call_ = *start;
    open_arguments_.clear();
  } else if (const auto* part = std::get_if<ToolCallArguments>(&event.body)) {
    open_arguments_ += part->fragment;
  }
  if (!std::holds_alternative<ToolCallEnd>(event.body)) return {};
  const FoldedToolCall call{open_call_.id, open_call_.name, open_arguments_};
  Content content;
  content.calls = {&call, 1};
  content.first_call = tool_calls_++;
  JsonWriter json;
  write_head(json, header_);
  write_content(json, is_chat_, content);
  json.field("done", false);
  write_logprobs(json, std::exchange(waiting_, {}));
  return json.end_object().take() + "\n";
}

std::string reply(const ReplyHeader& header, const GenerateCall& call, std::span<const TextEvent> events) {
  const Folded folded = fold(events);
  const FoldedChoice choice = folded.choices.empty() ? FoldedChoice{} : folded.choices.begin()->second;
  const bool drops_output = call.request.max_tokens == 0;
  Content content;
  std::vector<TokenLogprobs> logprobs;
  if (!drops_output) {
    content.text = choice.content;
    content.thinking = choice.reasoning;
    content.calls = choice.tool_calls;
    for (const FoldedToken& token : choice.tokens) logprobs.push_back(token.logprobs);
  }
  JsonWriter json;
  write_head(json, header);
  write_content(json, call.is_chat, content);
  write_done(json, choice.finish, drops_output, folded.usage);
  write_logprobs(json, logprobs);
  return json.end_object().take();
}

std::string load_reply(const ReplyHeader& header, const GenerateCall& call) {
  JsonWriter json;
  write_head(json, header);
  write_content(json, call.is_chat, {});
  json.field("done", true).field("done_reason", call.unload ? "unload" : "load");
  return json.end_object().take();
}

}  // namespace sluice::api::ollama
