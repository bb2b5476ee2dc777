// What a request takes from its model when it does not say: sampling values, stops, system text.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "api/generation.h"

namespace sluice::server {

struct RequestDefaults {
  api::TextRequest request;                // what is `given` or set here counts
  std::optional<std::int32_t> max_tokens;  // no answer is longer
  std::string system;                      // for chats that bring no system text

  // "temperature 0.6, top_p 0.95, top_k 20"; empty: none.
  std::string text() const;
};

// A Hugging Face folder's generation_config.json; empty text: none. Errors name the field.
Result<RequestDefaults> read_generation_config(std::string_view json_text);
// The params and system layers of a stored model (ollama.md 4.1, 9.2). Errors name the option.
Result<RequestDefaults> read_model_layers(std::string_view params_json, std::string system);

api::TextRequest with_defaults(api::TextRequest request, const RequestDefaults& defaults);

}  // namespace sluice::server
