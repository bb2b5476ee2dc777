#include "server/request_defaults.h"

#include <algorithm>

#include "api/ollama/options.h"
#include "api/validation.h"

namespace sluice::server {

std::string RequestDefaults::text() const {
  std::string out;
  const auto add = [&](bool is_given, const char* name, auto value) {
    if (is_given) out += fmt::format("{}{} {}", out.empty() ? "" : ", ", name, value);
  };
  add(request.given.temperature, "temperature", request.sampling.temperature);
  add(request.given.top_p, "top_p", request.sampling.top_p);
  add(request.given.top_k, "top_k", request.sampling.top_k);
  add(request.given.min_p, "min_p", request.sampling.min_p);
  add(request.given.repetition_penalty, "repetition_penalty", request.sampling.repetition_penalty);
  add(max_tokens.has_value(), "max_new_tokens", max_tokens.value_or(0));
  return out;
}

Result<RequestDefaults> read_generation_config(std::string_view json_text) {
  RequestDefaults defaults;
  if (json_text.empty()) return defaults;
  SLUICE_TRY(const json::value parsed, json::parse(json_text));
  SLUICE_TRY(const api::Fields fields, api::Fields::of(parsed, "generation_config.json: "));
  sampling::SamplingParams& sampling = defaults.request.sampling;
  api::TextRequest::Given& given = defaults.request.given;
  SLUICE_TRY_STATUS(fields.read("temperature", sampling.temperature, given.temperature));
  SLUICE_TRY_STATUS(fields.read("top_p", sampling.top_p, given.top_p));
  SLUICE_TRY_STATUS(fields.read("min_p", sampling.min_p, given.min_p));
  SLUICE_TRY_STATUS(fields.read("repetition_penalty", sampling.repetition_penalty, given.repetition_penalty));
  SLUICE_TRY_STATUS(fields.read("top_k", sampling.top_k));
  given.top_k = fields.find("top_k") != nullptr;
  std::optional<std::int64_t> limit;
  SLUICE_TRY_STATUS(fields.read("max_new_tokens", limit, {1, INT32_MAX}));
  if (limit) defaults.max_tokens = static_cast<std::int32_t>(*limit);
  return defaults;
}

Result<RequestDefaults> read_model_layers(std::string_view params_json, std::string system) {
  RequestDefaults defaults;
  defaults.system = std::move(system);
  if (params_json.empty()) return defaults;
  SLUICE_TRY(const json::value parsed, json::parse(params_json));
  SLUICE_TRY(const api::Fields fields, api::Fields::of(parsed));
  SLUICE_TRY_STATUS(api::ollama::read_options(fields, defaults.request));
  return defaults;
}

api::TextRequest with_defaults(api::TextRequest request, const RequestDefaults& defaults) {
  const sampling::SamplingParams& from = defaults.request.sampling;
  const api::TextRequest::Given& there = defaults.request.given;
  const api::TextRequest::Given& given = request.given;
  sampling::SamplingParams& to = request.sampling;
  if (there.temperature && !given.temperature) to.temperature = from.temperature;
  if (there.top_k && !given.top_k) to.top_k = from.top_k;
  if (there.top_p && !given.top_p) to.top_p = from.top_p;
  if (there.min_p && !given.min_p) to.min_p = from.min_p;
  if (there.repetition_penalty && !given.repetition_penalty) to.repetition_penalty = from.repetition_penalty;
  if (there.repetition_window && !given.repetition_window) to.repetition_window = from.repetition_window;
  if (there.presence_penalty && !given.presence_penalty) to.presence_penalty = from.presence_penalty;
  if (there.frequency_penalty && !given.frequency_penalty) to.frequency_penalty = from.frequency_penalty;
  if (there.seed && !given.seed) {
    to.seed = from.seed;
    request.given.seed = true;
  }
  if (request.stop.empty()) request.stop = defaults.request.stop;
  if (!request.max_tokens) request.max_tokens = defaults.request.max_tokens;
  if (defaults.max_tokens) {
    request.max_tokens = std::min(request.max_tokens.value_or(*defaults.max_tokens), *defaults.max_tokens);
  }
  if (!request.context_tokens_max) request.context_tokens_max = defaults.request.context_tokens_max;
  if (!request.thinking) request.thinking = defaults.request.thinking;
  if (!defaults.system.empty() && request.chat) {
    auto& messages = request.chat->messages;
    const bool has_system = !messages.empty() && messages[0].role == "system";
    if (!has_system) {
      text::Message system;
      system.role = "system";
      system.content = defaults.system;
      messages.insert(messages.begin(), std::move(system));
    }
  }
  return request;
}

}  // namespace sluice::server
