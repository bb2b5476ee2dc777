// The events of a chat answer as SSE frames, and their fold as one body.
#include "api/fold.h"
#include "api/json_writer.h"
#include "api/openai/chat.h"
#include "api/openai/errors.h"
#include "api/openai/reply_parts.h"

namespace sluice::api::openai {
namespace {

std::string call_delta(std::int32_t call, const ToolCallStart* start, std::string_view arguments) {
  JsonWriter json;
  json.begin_object().key("tool_calls").begin_array().begin_object().field("index", call);
  if (start != nullptr) json.field("id", start->id).field("type", "function");
  json.key("function").begin_object();
  if (start != nullptr) json.field("name", start->name);
  json.field("arguments", arguments).end_object().end_object().end_array().end_object();
  return json.take();
}

void write_message(JsonWriter& json, const ChatReplyOptions& options, const FoldedChoice& choice) {
  const std::string content = options.echo + choice.content;
  json.key("message").begin_object().field("role", "assistant");
  content.empty() && !choice.tool_calls.empty() ? json.null_field("content") : json.field("content", content);
  if (options.include_reasoning && !choice.reasoning.empty()) {
    json.field("reasoning", choice.reasoning).field("reasoning_content", choice.reasoning);
  }
  if (!choice.tool_calls.empty()) {
    json.key("tool_calls").begin_array();
    for (const FoldedToolCall& call : choice.tool_calls) {
      json.begin_object().field("id", call.id).field("type", "function").key("function").begin_object();
      json.field("name", call.name).field("arguments", call.arguments).end_object().end_object();
    }
    json.end_array();
  }
  for (const char* name : {"refusal", "annotations", "audio", "function_call"}) json.null_field(name);
  json.end_object();
}

std::vector<TokenLogprobs> shown_logprobs(const ChatReplyOptions& options, const FoldedChoice& choice) {
  std::vector<TokenLogprobs> shown;
  for (const FoldedToken& token : choice.tokens) {
    if (options.include_reasoning || !token.is_reasoning) shown.push_back(token.logprobs);
  }
  return shown;
}

}  // namespace

ChatStreamWriter::ChatStreamWriter(const ReplyHeader& header, const ChatReplyOptions& options)
    : prefix_("data: " + reply_head(header, "chat.completion.chunk")), options_(options) {}

std::string ChatStreamWriter::write(const TextEvent& event) {
  const std::int32_t index = event.choice;
  if (const auto* text = std::get_if<TextDelta>(&event.body)) return text_delta(index, false, text->text);
  if (const auto* thought = std::get_if<ReasoningDelta>(&event.body)) {
    return text_delta(index, true, thought->text);
  }
  if (const auto* logprobs = std::get_if<LogprobsDelta>(&event.body)) {
    std::vector<TokenLogprobs>& waiting = choices_[index].waiting;
    waiting.insert(waiting.end(), logprobs->tokens.begin(), logprobs->tokens.end());
  } else if (const auto* ids = std::get_if<PromptIds>(&event.body)) {
    prompt_tokens_ = static_cast<std::int32_t>(ids->ids.size());
  } else if (const auto* finish = std::get_if<Finish>(&event.body)) {
    std::string frames = begin(index);
    return frames + frame(index, "{}", finish);
  } else if (const auto* report = std::get_if<UsageReport>(&event.body)) {
    return last(report->usage);
  } else if (const auto* error = std::get_if<Error>(&event.body)) {
    return error_frame(*error);
  }
  return tool_delta(event);
}

// The role, once per choice, and what is echoed.
std::string ChatStreamWriter::begin(std::int32_t index) {
  Choice& choice = choices_[index];
  if (std::exchange(choice.has_begun, true)) return {};
  std::vector<TokenLogprobs> waiting = std::exchange(choice.waiting, {});
  std::string frames = frame(index, R"({"role":"assistant","content":""})", nullptr);
  if (!options_.echo.empty()) {
    JsonWriter json;
    json.begin_object().field("content", options_.echo).end_object();
    frames += frame(index, json.take(), nullptr);
  }
  choice.waiting = std::move(waiting);
  return frames;
}

std::string ChatStreamWriter::text_delta(std::int32_t index, bool is_reasoning, std::string_view text) {
  std::string frames = begin(index);
  Choice& choice = choices_[index];
  choice.tokens += std::max(static_cast<std::int32_t>(choice.waiting.size()), 1);
  if (is_reasoning && !options_.include_reasoning) {
    choice.waiting.clear();
    return frames;
  }
  JsonWriter json;
  json.begin_object();
  if (is_reasoning) {
    json.field("reasoning", text).field("reasoning_content", text);  // clients know one or the other
  } else {
    json.field("content", text);
  }
  json.end_object();
  return frames + frame(index, json.take(), nullptr);
}

std::string ChatStreamWriter::tool_delta(const TextEvent& event) {
  const auto* start = std::get_if<ToolCallStart>(&event.body);
  const auto* part = std::get_if<ToolCallArguments>(&event.body);
  if (start == nullptr && part == nullptr) return {};
  std::string frames = begin(event.choice);
  choices_[event.choice].tokens += 1;
  const std::string delta =
      start != nullptr ? call_delta(start->call, start, "") : call_delta(part->call, nullptr, part->fragment);
  return frames + frame(event.choice, delta, nullptr);
}

std::string ChatStreamWriter::frame(std::int32_t index, std::string_view delta_json, const Finish* finish) {
  Choice& choice = choices_[index];
  const std::vector<TokenLogprobs> logprobs = std::exchange(choice.waiting, {});
  JsonWriter json;
  json.begin_object().field("index", index).key("delta").raw(delta_json);
  write_chat_logprobs(json, options_.logprobs && !logprobs.empty() ? &logprobs : nullptr,
                      options_.tokens_as_ids);
  finish == nullptr ? static_cast<void>(json.null_field("finish_reason"))
                    : write_finish(json, *finish, options_.stop_token_ids);
  json.end_object();
  std::string text = prefix_ + ",\"choices\":[" + json.take() + "]";
  if (options_.continuous_usage) {
    Usage usage;
    usage.prompt_tokens = prompt_tokens_;
    usage.completion_tokens = choice.tokens;
    JsonWriter running;
    write_usage(running, usage);
    text += "," + running.take();
  }
  return text + "}\n\n";
}

std::string ChatStreamWriter::last(const Usage& usage) const {
  if (!options_.include_usage) return std::string(kDone);
  JsonWriter json;
  write_usage(json, usage);
  return prefix_ + ",\"choices\":[]," + json.take() + "}\n\n" + std::string(kDone);
}

std::string chat_reply(const ReplyHeader& header, const ChatCall& call, std::span<const TextEvent> events) {
  const Folded folded = fold(events);
  JsonWriter json;
  json.key("choices").begin_array();
  for (const auto& [index, choice] : folded.choices) {
    json.begin_object().field("index", index);
    write_message(json, call, choice);
    const std::vector<TokenLogprobs> logprobs = shown_logprobs(call, choice);
    write_chat_logprobs(json, call.logprobs ? &logprobs : nullptr, call.tokens_as_ids);
    write_finish(json, choice.finish, call.stop_token_ids);
    json.null_field("token_ids").end_object();
  }
  json.end_array();
  write_usage(json, folded.usage);
  for (const char* name :
       {"service_tier", "system_fingerprint", "prompt_logprobs", "prompt_token_ids", "kv_transfer_params"}) {
    json.null_field(name);
  }
  return reply_head(header, "chat.completion") + "," + json.take() + "}";
}

}  // namespace sluice::api::openai
