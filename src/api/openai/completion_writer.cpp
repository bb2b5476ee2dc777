// The events of a completion as SSE frames, and their fold as one body.
#include "api/fold.h"
#include "api/json_writer.h"
#include "api/openai/completions.h"
#include "api/openai/errors.h"
#include "api/openai/reply_parts.h"

namespace sluice::api::openai {
namespace {

std::string_view echo_text(const CompletionReplyOptions& options, std::int32_t index) {
  const auto prompt = static_cast<std::size_t>(index / options.choices);
  if (!options.echo || prompt >= options.prompt_texts.size()) return {};
  return options.prompt_texts[prompt];
}

// The engine made one token for an echo alone: it is not part of the answer.
Usage shown_usage(const CompletionReplyOptions& options, Usage usage) {
  if (options.drops_output) usage.completion_tokens = 0;
  return usage;
}

Finish shown_finish(const CompletionReplyOptions& options, const Finish& finish) {
  return options.drops_output ? Finish{FinishReason::kLength, {}, {}} : finish;
}

void write_choice(JsonWriter& json, const CompletionReplyOptions& options, std::int32_t index,
                  const FoldedChoice& choice) {
  const std::string_view echo = echo_text(options, index);
  std::string text(echo);
  std::vector<TokenLogprobs> logprobs;
  if (!options.drops_output) text += choice.reasoning + choice.content;
  logprobs.reserve(choice.tokens.size());
  for (const FoldedToken& token : choice.tokens) logprobs.push_back(token.logprobs);
  std::int64_t offset = count_code_points(echo);
  json.begin_object().field("index", index).field("text", text);
  write_completion_logprobs(json, options.logprobs >= 0 ? &logprobs : nullptr, options.tokens_as_ids, offset);
  write_finish(json, shown_finish(options, choice.finish), options.stop_token_ids);
  for (const char* name : {"token_ids", "prompt_logprobs", "prompt_token_ids"}) json.null_field(name);
  json.end_object();
}

}  // namespace

CompletionStreamWriter::CompletionStreamWriter(const ReplyHeader& header,
                                               const CompletionReplyOptions& options)
    : prefix_("data: " + reply_head(header, "text_completion")), options_(options) {}

std::string CompletionStreamWriter::write(const TextEvent& event) {
  const std::int32_t index = event.choice;
  if (const auto* text = std::get_if<TextDelta>(&event.body)) return frame(index, text->text, nullptr);
  if (const auto* thought = std::get_if<ReasoningDelta>(&event.body)) {
    return frame(index, thought->text, nullptr);
  }
  if (const auto* logprobs = std::get_if<LogprobsDelta>(&event.body)) {
    std::vector<TokenLogprobs>& waiting = choices_[index].waiting;
    waiting.insert(waiting.end(), logprobs->tokens.begin(), logprobs->tokens.end());
  } else if (const auto* ids = std::get_if<PromptIds>(&event.body)) {
    prompt_tokens_[index / options_.choices] = static_cast<std::int32_t>(ids->ids.size());
  } else if (const auto* finish = std::get_if<Finish>(&event.body)) {
    const Finish shown = shown_finish(options_, *finish);
    return frame(index, {}, &shown);
  } else if (const auto* report = std::get_if<UsageReport>(&event.body)) {
    return last(report->usage);
  } else if (const auto* error = std::get_if<Error>(&event.body)) {
    return error_frame(*error);
  }
  return {};
}

// The prompt goes with the first piece of its answer. Fields that are not set are null, unlike in chat.
std::string CompletionStreamWriter::frame(std::int32_t index, std::string_view text, const Finish* finish) {
  Choice& choice = choices_[index];
  const std::vector<TokenLogprobs> logprobs = std::exchange(choice.waiting, {});
  if (options_.drops_output && finish == nullptr) return {};
  std::string shown;
  if (!std::exchange(choice.has_begun, true)) {
    shown = echo_text(options_, index);
    choice.text_offset = count_code_points(shown);
  }
  shown += text;
  if (finish == nullptr) choice.tokens += std::max(static_cast<std::int32_t>(logprobs.size()), 1);
  JsonWriter json;
  json.begin_object().field("index", index).field("text", shown);
  write_completion_logprobs(json, options_.logprobs >= 0 && !logprobs.empty() ? &logprobs : nullptr,
                            options_.tokens_as_ids, choice.text_offset);
  finish == nullptr ? static_cast<void>(json.null_field("finish_reason").null_field("stop_reason"))
                    : write_finish(json, *finish, options_.stop_token_ids);
  json.end_object();
  std::string frame = prefix_ + ",\"choices\":[" + json.take() + "]";
  if (options_.continuous_usage) {
    Usage usage;
    usage.prompt_tokens = prompt_tokens_[index / options_.choices];
    usage.completion_tokens = choice.tokens;
    JsonWriter running;
    write_usage(running, usage);
    frame += "," + running.take();
  }
  return frame + "}\n\n";
}

std::string CompletionStreamWriter::last(Usage usage) const {
  if (!options_.include_usage) return std::string(kDone);
  JsonWriter json;
  write_usage(json, shown_usage(options_, usage));
  return prefix_ + ",\"choices\":[]," + json.take() + "}\n\n" + std::string(kDone);
}

std::string completion_reply(const ReplyHeader& header, const CompletionCall& call,
                             std::span<const TextEvent> events) {
  const Folded folded = fold(events);
  JsonWriter json;
  json.key("choices").begin_array();
  for (const auto& [index, choice] : folded.choices) write_choice(json, call, index, choice);
  json.end_array();
  write_usage(json, shown_usage(call, folded.usage));
  for (const char* name : {"service_tier", "system_fingerprint", "kv_transfer_params"}) json.null_field(name);
  return reply_head(header, "text_completion") + "," + json.take() + "}";
}

}  // namespace sluice::api::openai
