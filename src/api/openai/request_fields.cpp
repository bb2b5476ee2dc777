#include "api/openai/request_fields.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/string.hpp>
#include <charconv>

namespace sluice::api::openai {
namespace {

Status read_logit_bias(const Fields& fields, sampling::SamplingParams& sampling) {
  SLUICE_TRY(const json::object* biases, fields.object("logit_bias"));
  if (biases == nullptr) return {};
  if (biases->size() > kNamedIdsMax) {
    return bad_field("logit_bias", fmt::format("logit_bias has {} entries, at most {} are allowed",
                                               biases->size(), kNamedIdsMax));
  }
  for (const auto& entry : *biases) {
    const std::string_view key(entry.key().data(), entry.key().size());
    TokenId id = 0;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), id);
    if (error != std::errc() || end != key.data() + key.size()) {
      return bad_field("logit_bias", fmt::format("logit_bias: key \"{}\" is not a token id", key));
    }
    const std::optional<double> bias = as_number(entry.value());
    if (!bias) return bad_field("logit_bias", fmt::format("logit_bias of token {} must be a number", id));
    sampling.logit_bias.emplace_back(id, static_cast<float>(std::clamp(*bias, -100.0, 100.0)));
  }
  return {};
}

Status read_cache_salt(const Fields& fields, std::string& salt) {
  if (fields.find("cache_salt") == nullptr) return {};
  SLUICE_TRY_STATUS(fields.read("cache_salt", salt));
  if (salt.empty() || salt.size() > 128) {
    return bad_field("cache_salt", fmt::format("cache_salt must have 1 to 128 bytes, not {}", salt.size()));
  }
  if (salt.find_first_of(std::string_view("@/\\\0", 4)) == std::string::npos) return {};
  return bad_field("cache_salt", "cache_salt must not contain @, /, \\ or NUL");
}

Status read_seed(const Fields& fields, TextRequest& request) {
  std::optional<std::int64_t> seed;
  SLUICE_TRY_STATUS(fields.read("seed", seed));
  if (!seed || *seed == -1) return {};  // -1 is null, as in vLLM
  request.sampling.seed = static_cast<std::uint64_t>(*seed);
  request.given.seed = true;
  return {};
}

Status read_sampling(const Fields& fields, TextRequest& request) {
  sampling::SamplingParams& sampling = request.sampling;
  TextRequest::Given& given = request.given;
  SLUICE_TRY_STATUS(fields.read("temperature", sampling.temperature, given.temperature));
  SLUICE_TRY_STATUS(fields.read("top_p", sampling.top_p, given.top_p));
  SLUICE_TRY_STATUS(fields.read("min_p", sampling.min_p, given.min_p));
  SLUICE_TRY_STATUS(fields.read("repetition_penalty", sampling.repetition_penalty, given.repetition_penalty));
  SLUICE_TRY_STATUS(fields.read("presence_penalty", sampling.presence_penalty));
  SLUICE_TRY_STATUS(fields.read("frequency_penalty", sampling.frequency_penalty));
  SLUICE_TRY_STATUS(fields.read("top_k", sampling.top_k, {-1, INT32_MAX}));
  given.top_k = fields.find("top_k") != nullptr;
  SLUICE_TRY_STATUS(fields.read("min_tokens", sampling.min_tokens, {0, INT32_MAX}));
  SLUICE_TRY_STATUS(fields.read("ignore_eos", sampling.ignore_eos));
  SLUICE_TRY(sampling.stop_token_ids, fields.token_ids("stop_token_ids", kNamedIdsMax));
  SLUICE_TRY_STATUS(read_seed(fields, request));
  return read_logit_bias(fields, sampling);
}

Status refuse_response_format(const Fields& fields) {
  SLUICE_TRY(const json::object* format, fields.object("response_format"));
  if (format == nullptr) return {};
  const Fields inner(*format, "response_format.");
  std::string type;
  SLUICE_TRY_STATUS(inner.read("type", type));
  if (type == "text") return {};
  if (type == "json_schema") {
    SLUICE_TRY(const json::object* schema, inner.object("json_schema"));
    if (schema == nullptr || Fields(*schema).find("schema") == nullptr) {
      return bad_field("response_format", "response_format json_schema needs json_schema.schema");
    }
  } else if (type != "json_object" && type != "structural_tag") {
    return bad_field("response_format", "response_format.type must be text, json_object or json_schema");
  }
  return unsupported_field("response_format", "response_format: structured output is not available yet");
}

Status refuse_structured_outputs(const Fields& fields) {
  SLUICE_TRY(const json::object* outputs, fields.object("structured_outputs"));
  if (outputs != nullptr) {
    std::size_t kinds = 0;
    for (const char* kind : {"json", "regex", "choice", "grammar", "json_object", "structural_tag"}) {
      kinds += Fields(*outputs).find(kind) == nullptr ? 0 : 1;
    }
    if (kinds != 1) {
      return bad_field("structured_outputs",
                       "structured_outputs needs exactly one of json, regex, choice, grammar, json_object, "
                       "structural_tag");
    }
    return unsupported_field("structured_outputs",
                             "structured_outputs: structured output is not available yet");
  }
  for (const char* name : {"guided_json", "guided_regex", "guided_choice", "guided_grammar"}) {
    if (fields.find(name) == nullptr) continue;
    return unsupported_field(name, fmt::format("{}: structured output is not available yet", name));
  }
  return {};
}

Status refuse_prompt_logprobs(const Fields& fields, bool stream) {
  std::optional<std::int64_t> count;
  SLUICE_TRY_STATUS(fields.read("prompt_logprobs", count, {-1, kLogprobsMax}));
  if (!count) return {};
  if (stream && *count != 0) {
    return bad_field("prompt_logprobs", "prompt_logprobs are not available with stream");
  }
  return unsupported_field("prompt_logprobs", "prompt_logprobs are not available yet");
}

Status refuse_token_lists(const Fields& fields) {
  for (const char* name : {"allowed_token_ids", "logprob_token_ids"}) {
    SLUICE_TRY(const json::array* ids, fields.array(name));
    if (ids == nullptr) continue;
    if (ids->empty()) return bad_field(name, fmt::format("{} must not be empty", name));
    return unsupported_field(name, fmt::format("{} is not available yet", name));
  }
  SLUICE_TRY(const json::array* words, fields.array("bad_words"));
  if (words == nullptr || words->empty()) return {};
  for (const json::value& word : *words) {
    if (word.is_string() && !word.get_string().empty()) continue;
    return bad_field("bad_words", "bad_words must be a list of strings that are not empty");
  }
  return unsupported_field("bad_words", "bad_words is not available yet");
}

}  // namespace

Result<StreamOptions> read_stream_options(const Fields& fields) {
  StreamOptions options;
  SLUICE_TRY_STATUS(fields.read("stream", options.stream));
  SLUICE_TRY(const json::object* object, fields.object("stream_options"));
  if (object == nullptr) return options;
  if (!options.stream) {
    return bad_field("stream_options", "stream_options are only allowed with \"stream\": true");
  }
  const Fields inner(*object, "stream_options.");
  SLUICE_TRY_STATUS(inner.read("include_usage", options.include_usage));
  SLUICE_TRY_STATUS(inner.read("continuous_usage_stats", options.continuous_usage));
  options.continuous_usage = options.continuous_usage && options.include_usage;
  return options;
}

Status read_request(const Fields& fields, TextRequest& request) {
  SLUICE_TRY_STATUS(fields.read("model", request.model));
  SLUICE_TRY_STATUS(fields.read("request_id", request.request_id));
  SLUICE_TRY_STATUS(read_sampling(fields, request));
  SLUICE_TRY(request.stop, read_stop(fields));
  SLUICE_TRY_STATUS(fields.read("include_stop_str_in_output", request.include_stop_in_output));
  SLUICE_TRY_STATUS(fields.read("skip_special_tokens", request.skip_special_tokens));
  SLUICE_TRY_STATUS(fields.read("n", request.choices, {1, kChoicesMax}));
  if (request.choices > 1 && request.given.temperature && request.sampling.is_greedy()) {
    return bad_field("n", "n must be 1 with temperature 0: greedy choices are all the same");
  }
  std::int64_t priority = 0;
  if (const json::value* value = fields.find("priority")) priority = as_integer(*value).value_or(1);
  if (priority != 0) {
    return bad_field("priority", "priority must be 0: requests are served first come, first served");
  }
  return read_cache_salt(fields, request.cache_salt);
}

Status read_max_tokens(const Fields& fields, std::string_view name, std::int32_t low, TextRequest& request) {
  std::optional<std::int64_t> max_tokens;
  SLUICE_TRY_STATUS(fields.read(name, max_tokens, {low, INT32_MAX}));
  if (max_tokens) request.max_tokens = static_cast<std::int32_t>(*max_tokens);
  if (!request.max_tokens || request.sampling.min_tokens <= *request.max_tokens) return {};
  return bad_field("min_tokens", fmt::format("min_tokens {} is greater than {} {}",
                                             request.sampling.min_tokens, name, *request.max_tokens));
}

Status refuse_unsupported(const Fields& fields, bool stream) {
  SLUICE_TRY_STATUS(refuse_response_format(fields));
  SLUICE_TRY_STATUS(refuse_structured_outputs(fields));
  SLUICE_TRY_STATUS(refuse_prompt_logprobs(fields, stream));
  SLUICE_TRY_STATUS(refuse_token_lists(fields));
  for (const char* name : {"use_beam_search", "return_token_ids", "return_prompt_text"}) {
    bool is_wanted = false;
    SLUICE_TRY_STATUS(fields.read(name, is_wanted));
    if (is_wanted) return unsupported_field(name, fmt::format("{} is not available yet", name));
  }
  for (const char* name : {"truncate_prompt_tokens", "repetition_detection", "prompt_embeds"}) {
    if (fields.find(name) == nullptr) continue;
    return unsupported_field(name, fmt::format("{} is not available yet", name));
  }
  std::optional<std::int64_t> budget;
  SLUICE_TRY_STATUS(fields.read("thinking_token_budget", budget, {-1, INT32_MAX}));
  if (!budget || *budget == -1) return {};  // -1: no limit
  return unsupported_field("thinking_token_budget", "thinking_token_budget is not available yet");
}

}  // namespace sluice::api::openai
