// parse_completion: prompts in their four forms, echo, logprobs.
#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/string.hpp>

#include "api/openai/completions.h"
#include "api/openai/request_fields.h"

namespace sluice::api::openai {
namespace {

constexpr std::size_t kPromptsMax = 1024;

struct PromptText {
  std::string text;
  std::vector<TokenId> ids;  // when not empty, instead of text
};

Result<PromptText> read_prompt(std::string_view name, const json::value& value) {
  PromptText prompt;
  if (value.is_string()) {
    prompt.text = view(value.get_string());
    if (prompt.text.empty()) return bad_field("prompt", fmt::format("{} must not be empty", name));
    return prompt;
  }
  if (!value.is_array()) {
    return bad_field(
        "prompt", fmt::format("{} must be a string or a list of token ids, not {}", name, describe(value)));
  }
  SLUICE_TRY(prompt.ids, read_token_ids("prompt", value.get_array()));
  if (prompt.ids.empty()) return bad_field("prompt", fmt::format("{} must not be empty", name));
  return prompt;
}

// string | [string] | [int] | [[int]]; a list of several kinds is refused.
Result<std::vector<PromptText>> read_prompts(const Fields& fields) {
  const json::value* value = fields.find("prompt");
  if (value == nullptr) return bad_field("prompt", "prompt is missing");
  std::vector<PromptText> prompts;
  const bool is_list = value->is_array() && !value->get_array().empty();
  if (!is_list || value->get_array()[0].is_number()) {
    SLUICE_TRY(PromptText only, read_prompt("prompt", *value));
    prompts.push_back(std::move(only));
    return prompts;
  }
  const json::array& list = value->get_array();
  if (list.size() > kPromptsMax) {
    return bad_field("prompt",
                     fmt::format("prompt has {} prompts, at most {} are allowed", list.size(), kPromptsMax));
  }
  for (const json::value& entry : list) {
    if (entry.kind() != list[0].kind()) {
      return bad_field("prompt", "prompt must be a list of strings or of token id lists, not of both");
    }
    const std::string name = fmt::format("prompt[{}]", prompts.size());
    SLUICE_TRY(PromptText prompt, read_prompt(name, entry));
    prompts.push_back(std::move(prompt));
  }
  return prompts;
}

Status read_reply_options(const Fields& fields, CompletionCall& call, TextRequest& common) {
  SLUICE_TRY(const StreamOptions stream, read_stream_options(fields));
  call.stream = stream.stream;
  call.include_usage = stream.include_usage;
  call.continuous_usage = stream.continuous_usage;
  SLUICE_TRY_STATUS(fields.read("logprobs", call.logprobs, {0, kLogprobsMax}));
  SLUICE_TRY_STATUS(fields.read("echo", call.echo));
  SLUICE_TRY_STATUS(fields.read("return_tokens_as_token_ids", call.tokens_as_ids));
  if (call.echo && call.logprobs >= 0) {
    return unsupported_field("logprobs", "logprobs with echo need the prompt's, which are not available yet");
  }
  if (fields.find("suffix") != nullptr) return bad_field("suffix", "suffix is not supported");
  common.sampling.logprobs = call.logprobs;
  common.echo = call.echo;
  return {};
}

}  // namespace

Result<CompletionCall> parse_completion(const json::value& body) {
  SLUICE_TRY(const Fields fields, Fields::of(body));
  CompletionCall call;
  TextRequest common;
  common.split_reasoning = false;
  common.max_tokens = 16;
  SLUICE_TRY_STATUS(read_reply_options(fields, call, common));
  SLUICE_TRY_STATUS(read_request(fields, common));
  const bool can_drop = call.echo && common.sampling.min_tokens == 0;
  SLUICE_TRY_STATUS(read_max_tokens(fields, "max_tokens", can_drop ? 0 : 1, common));
  SLUICE_TRY_STATUS(refuse_unsupported(fields, call.stream));
  call.drops_output = *common.max_tokens == 0;
  call.choices = common.choices;
  call.stop_token_ids = common.sampling.stop_token_ids;
  SLUICE_TRY(std::vector<PromptText> prompts, read_prompts(fields));
  for (PromptText& prompt : prompts) {
    if (call.echo && !prompt.ids.empty()) {
      return unsupported_field("echo", "echo of a prompt of token ids is not available yet: send its text");
    }
    TextRequest& request = call.requests.emplace_back(common);
    if (call.echo) call.prompt_texts.push_back(prompt.text);
    if (prompt.ids.empty()) {
      request.prompt = std::move(prompt.text);
    } else {
      request.prompt_ids = std::move(prompt.ids);
    }
  }
  return call;
}

}  // namespace sluice::api::openai
