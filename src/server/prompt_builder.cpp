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

// Where turns begin: at a user's message, or at the first that is no system text.
std::vector<std::size_t> turn_starts(const std::vector<text::Message>& messages) {
  std::vector<std::size_t> starts;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const bool opens = messages[i].role == "user" || (starts.empty() && messages[i].role != "system");
    if (opens) starts.push_back(i);
  }
  return starts;
}

// The chat without what stands before message `first`; system text never goes.
text::Conversation from_message(const text::Conversation& chat, std::size_t first) {
  text::Conversation shorter = chat;
  shorter.messages.clear();
  for (std::size_t i = 0; i < chat.messages.size(); ++i)
    if (i >= first || chat.messages[i].role == "system") shorter.messages.push_back(chat.messages[i]);
  return shorter;
}

struct EncodedChat {
  Prompt prompt;
  bool fits = false;
  Status refusal;  // when it is too long to be encoded at all
};

Result<EncodedChat> try_encode(const LocalModel& model, const api::TextRequest& request,
                               const text::Conversation& chat, std::size_t limit) {
  EncodedChat encoded;
  SLUICE_TRY(const text::RenderedPrompt rendered, render(model, request, chat));
  encoded.refusal = check_bytes(model, rendered.chars.size(), limit);
  if (!encoded.refusal) return encoded;
  encoded.prompt.ids = text::encode_prompt(*model.tokenizer, rendered);
  encoded.prompt.reasoning = text::initial_reasoning_state(rendered.chars);
  encoded.fits = encoded.prompt.ids.size() < limit;
  return encoded;
}

// Ollama's way with a chat that is too long: whole turns go, never a part of one (field report F010). The
// fewest are found by halving, as every turn makes the prompt longer.
Result<Prompt> encode_shortened(const LocalModel& model, const api::TextRequest& request, EncodedChat whole,
                                std::size_t limit) {
  const std::vector<std::size_t> starts = turn_starts(request.chat->messages);
  EncodedChat best = std::move(whole);
  std::size_t too_few = 0;
  std::size_t enough = starts.size();  // one more than may go: the last turn stays
  while (too_few + 1 < enough) {
    const std::size_t count = too_few + (enough - too_few) / 2;
    SLUICE_TRY(EncodedChat shorter,
               try_encode(model, request, from_message(*request.chat, starts[count]), limit));
    (shorter.fits ? enough : too_few) = count;
    if (shorter.fits || !best.fits) best = std::move(shorter);
  }
  SLUICE_TRY_STATUS(best.refusal);
  return std::move(best.prompt);
}

Result<Prompt> encode_chat(const LocalModel& model, const api::TextRequest& request, std::size_t limit) {
  std::size_t bytes = 0;
  for (const text::Message& message : request.chat->messages) bytes += message.content.size();
  if (!request.shift_or_truncate) SLUICE_TRY_STATUS(check_bytes(model, bytes, limit));
  SLUICE_TRY(EncodedChat whole, try_encode(model, request, *request.chat, limit));
  if (!whole.fits && request.shift_or_truncate)
    return encode_shortened(model, request, std::move(whole), limit);
  SLUICE_TRY_STATUS(whole.refusal);
  return std::move(whole.prompt);
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
