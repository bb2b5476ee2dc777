#include "api/ollama/options.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/string.hpp>
#include <cmath>

namespace sluice::api::ollama {
namespace {

constexpr std::int32_t kContextTokensMin = 4;

// Ollama's own defaults (ollama.md 4); a model's defaults go before them.
constexpr float kTemperature = 0.8F;
constexpr std::int32_t kTopK = 40;
constexpr float kTopP = 0.9F;
constexpr std::int32_t kRepeatLastN = 64;

tl::unexpected<Error> wrong_type(std::string_view name, std::string_view type) {
  return bad_field(name, fmt::format("option \"{}\" must be of type {}", name, type));
}

// Any JSON number, its fraction cut, as Go's decoder has it. Unset when absent.
Result<std::optional<std::int32_t>> read_integer(const Fields& options, std::string_view name) {
  const json::value* value = options.find(name);
  if (value == nullptr) return std::nullopt;
  const std::optional<double> number = as_number(*value);
  if (!number) return wrong_type(name, "integer");
  return static_cast<std::int32_t>(std::clamp(std::trunc(*number), double{INT32_MIN}, double{INT32_MAX}));
}

Result<std::optional<float>> read_float(const Fields& options, std::string_view name) {
  const json::value* value = options.find(name);
  if (value == nullptr) return std::nullopt;
  const std::optional<double> number = as_number(*value);
  if (!number) return wrong_type(name, "float32");
  return static_cast<float>(std::clamp(*number, -1e30, 1e30));
}

Status read_seed(const Fields& options, TextRequest& request) {
  const json::value* value = options.find("seed");
  if (value == nullptr) return {};
  const std::optional<double> number = as_number(*value);
  if (!number) return wrong_type("seed", "integer");
  const std::int64_t seed =
      as_integer(*value).value_or(static_cast<std::int64_t>(std::clamp(std::trunc(*number), -9e18, 9e18)));
  if (seed == -1) return {};  // random
  request.sampling.seed = static_cast<std::uint64_t>(seed);
  request.given.seed = true;
  return {};
}

Status read_stops(const Fields& options, std::vector<std::string>& stops) {
  const json::value* value = options.find("stop");
  if (value == nullptr) return {};
  constexpr std::string_view kMessage = "option \"stop\" must be of an array of strings";
  if (!value->is_array()) return bad_field("stop", std::string(kMessage));
  if (value->get_array().size() > kStopStringsMax) {
    return bad_field("stop", fmt::format("option \"stop\" has {} strings, at most {} are allowed",
                                         value->get_array().size(), kStopStringsMax));
  }
  for (const json::value& entry : value->get_array()) {
    if (!entry.is_string()) return bad_field("stop", std::string(kMessage));
    const std::string_view text = view(entry.get_string());
    if (text.size() > kStopBytesMax) {
      return bad_field("stop", fmt::format("option \"stop\": a string has {} bytes, at most {} are allowed",
                                           text.size(), kStopBytesMax));
    }
    if (!text.empty()) stops.emplace_back(text);  // an empty one would stop everything
  }
  return {};
}

// Ollama's values that mean "off" outside our ranges are brought into them.
Status read_sampling(const Fields& options, TextRequest& request) {
  sampling::SamplingParams& sampling = request.sampling;
  TextRequest::Given& given = request.given;
  SLUICE_TRY(const auto temperature, read_float(options, "temperature"));
  sampling.temperature = std::max(temperature.value_or(kTemperature), 0.0F);
  SLUICE_TRY(const auto top_k, read_integer(options, "top_k"));
  sampling.top_k = std::max(top_k.value_or(kTopK), 0);
  SLUICE_TRY(const auto top_p, read_float(options, "top_p"));
  sampling.top_p = std::clamp(top_p.value_or(kTopP), 1e-6F, 1.0F);
  SLUICE_TRY(const auto min_p, read_float(options, "min_p"));
  if (min_p) sampling.min_p = std::clamp(*min_p, 0.0F, 1.0F);
  SLUICE_TRY(const auto repeat_penalty, read_float(options, "repeat_penalty"));
  if (repeat_penalty) sampling.repetition_penalty = *repeat_penalty;
  SLUICE_TRY(const auto presence, read_float(options, "presence_penalty"));
  if (presence) sampling.presence_penalty = *presence;
  SLUICE_TRY(const auto frequency, read_float(options, "frequency_penalty"));
  if (frequency) sampling.frequency_penalty = *frequency;
  SLUICE_TRY(const auto window, read_integer(options, "repeat_last_n"));
  sampling.repetition_window = std::max(window.value_or(kRepeatLastN), -1);
  given.temperature = temperature.has_value();
  given.top_k = top_k.has_value();
  given.top_p = top_p.has_value();
  given.min_p = min_p.has_value();
  given.repetition_penalty = repeat_penalty.has_value();
  given.repetition_window = window.has_value();
  given.presence_penalty = presence.has_value();
  given.frequency_penalty = frequency.has_value();
  SLUICE_TRY(const auto typical, read_float(options, "typical_p"));
  if (!typical || *typical >= 1.0F || *typical <= 0.0F) return {};
  return unsupported_field("typical_p", "option \"typical_p\" is not available: leave it at 1.0");
}

}  // namespace

Status read_options(const Fields& options, TextRequest& request) {
  SLUICE_TRY_STATUS(read_sampling(options, request));
  SLUICE_TRY_STATUS(read_seed(options, request));
  SLUICE_TRY_STATUS(read_stops(options, request.stop));
  SLUICE_TRY(const auto predict, read_integer(options, "num_predict"));
  if (predict && *predict >= 0) request.max_tokens = *predict;  // negative: what remains of the context
  SLUICE_TRY(const auto context, read_integer(options, "num_ctx"));
  if (context && *context > 0) request.context_tokens_max = std::max(*context, kContextTokensMin);
  const json::value* thinking = options.find("thinking");
  if (thinking == nullptr) return {};
  if (!thinking->is_bool()) return wrong_type("thinking", "boolean");
  request.thinking = thinking->get_bool();
  return {};
}

}  // namespace sluice::api::ollama
