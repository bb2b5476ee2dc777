// GET /v1/models.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace sluice::api::openai {

struct ModelCard {
  std::string id;
  std::string root;                // path or name of what is loaded
  std::int64_t created = 0;        // Unix seconds
  std::int64_t max_model_len = 0;  // tokens; <= 0: null
};

std::string models_reply(std::span<const ModelCard> cards);
std::string model_reply(const ModelCard& card);  // GET /v1/models/{id}

}  // namespace sluice::api::openai
