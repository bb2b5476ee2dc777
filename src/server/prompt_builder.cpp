#include "server/prompt_builder.h"

#include <algorithm>

namespace sluice::server {
namespace {

std::size_t context_limit(const LocalModel& model, const api::TextRequest& request) {
  std::size_t limit = model.context_tokens_max;
  if (request.context_tokens_max && *request.context_tokens_max > 0) {
    limit = std::min(limit, static_cast<std::size_t>(*request.context_tokens_max));
  }
  return limit;
}

tl::unexpected<Error> too_long(std::size_t limit, const std::string& asked, const char* param) {
  return tl::unexpected(
      Error{ErrorCode::kInvalidArgument,
            fmt::format("This model's maximum context length is {} tokens, but {}: shorten the "
                        "prompt or ask for fewer tokens.",
                        limit, asked),
            param});
}

// Costs nothing, however long the text: no token is longer than the longest.
Status check_bytes(const LocalModel& model, std::size_t bytes, std::size_t limit) {
  const std::size_t tokens_min = bytes / model.tokenizer->longest_token_bytes();
  if (tokens_min <= limit) return {};
  return too_long(limit,
                  fmt::format("the prompt has {} bytes, which are at least {} tokens", bytes, tokens_min),
                  "input_text");
}

Result<text::RenderedPrompt> render(const LocalModel& model, const api::TextRequest& request,
                                    const text::Conversation& chat) {
  if (!model.chat_template) {
    return fail(ErrorCode::kInvalidArgument,
                "this model has no chat template: use /v1/completions, or raw on /api/generate");
  }
  text::Conversation conversation = chat;
  if (request.thinking) conversation.template_kwargs["enable_thinking"] = *request.thinking;
  return model.chat_template->render(conversation);
}

// The oldest turn after the system text goes; false when only the last question is left.
bool drop_oldest_turn(text::Conversation& chat) {
  auto& messages = chat.messages;
  const auto first =
      std::ranges::find_if(messages, [](const text::Message& m) { return m.role != "system"; });
  if (first == messages.end() || first + 1 == messages.end()) return false;
  auto next =
      std::find_if(first + 1, messages.end(), [](const text::Message& m) { return m.role == "user"; });
  if (next == messages.end()) return false;
  messages.erase(first, next);
  return true;
}

Result<Prompt> encode_chat(const LocalModel& model, const api::TextRequest& request, std::size_t limit) {
  text::Conversation chat = *request.chat;
  std::size_t bytes = 0;
  for (const text::Message& message : chat.messages) bytes += message.content.size();
  if (!request.shift_or_truncate) SLUICE_TRY_STATUS(check_bytes(model, bytes, limit));
  while (true) {
    SLUICE_TRY(const text::RenderedPrompt rendered, render(model, request, chat));
    const bool may_fit = check_bytes(model, rendered.chars.size(), limit).has_value();
    Prompt prompt;
    if (may_fit) prompt.ids = text::encode_prompt(*model.tokenizer, rendered);
    if (may_fit && prompt.ids.size() < limit) {
      prompt.reasoning = text::initial_reasoning_state(rendered.chars);
      return prompt;
    }
    // Ollama's way with a chat that is too long: whole turns go, never a part of one (field report F010).
    if (request.shift_or_truncate && drop_oldest_turn(chat)) continue;
    SLUICE_TRY_STATUS(check_bytes(model, rendered.chars.size(), limit));
    return prompt;
  }
}

Result<Prompt> encode(const LocalModel& model, const api::TextRequest& request, std::size_t limit) {
  if (request.chat) return encode_chat(model, request, limit);
  Prompt prompt;
  if (request.prompt_ids) {
    prompt.ids = *request.prompt_ids;
    for (const TokenId id : prompt.ids) {
      if (id >= 0 && static_cast<std::size_t>(id) < model.tokenizer->vocabulary()) continue;
      return tl::unexpected(Error{ErrorCode::kInvalidArgument,
                                  fmt::format("prompt: token id {} is outside the vocabulary of {}", id,
                                              model.tokenizer->vocabulary()),
                                  "prompt"});
    }
  } else {
    SLUICE_TRY_STATUS(check_bytes(model, request.prompt->size(), limit));
    prompt.ids = model.tokenizer->encode(*request.prompt, true);
    if (const TokenId bos = model.tokenizer->bos();
        bos >= 0 && (prompt.ids.empty() || prompt.ids[0] != bos)) {
      prompt.ids.insert(prompt.ids.begin(), bos);
    }
  }
  return prompt;
}

}  // namespace

Result<Prompt> build_prompt(const LocalModel& model, const api::TextRequest& request) {
  const std::size_t limit = context_limit(model, request);
  SLUICE_TRY(Prompt prompt, encode(model, request, limit));
  const std::size_t size = prompt.ids.size();
  if (size == 0) return tl::unexpected(Error{ErrorCode::kInvalidArgument, "the prompt is empty", "prompt"});
  if (size >= limit) {
    return too_long(limit, fmt::format("the prompt has {} tokens and at least one more must fit", size),
                    "input_tokens");
  }
  const std::size_t room = limit - size;
  std::size_t wanted = request.max_tokens ? static_cast<std::size_t>(std::max(*request.max_tokens, 1)) : room;
  if (wanted > room && !request.shift_or_truncate) {
    return too_long(limit, fmt::format("the prompt has {} tokens and {} more were asked for", size, wanted),
                    "max_tokens");
  }
  prompt.max_tokens = static_cast<std::int32_t>(std::min(wanted, room));
  return prompt;
}

}  // namespace sluice::server
