// A loaded model: tokenizer, chat template and engine, with what requests need to know of it.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "backend/backend.h"
#include "engine/engine.h"
#include "model/loader.h"
#include "model/model_config.h"
#include "server/model_facts.h"
#include "server/request_defaults.h"
#include "text/chat_template.h"
#include "text/tokenizer/tokenizer.h"

namespace sluice::server {

struct LoadOptions {
  std::string backend = "auto";
  std::size_t threads = 0;  // 0: all cores
  backend::KVFormat kv_format = backend::KVFormat::kBF16;
  std::size_t kv_cache_bytes = 0;      // 0: a quarter of the available memory, at most 4 GiB
  std::size_t kv_blocks = 0;           // overrides kv_cache_bytes
  std::size_t context_tokens_max = 0;  // 0: the model's own
  std::size_t step_tokens_max = 512;
  std::size_t sequences_max = 64;
  std::size_t queue_max = 1024;
};

struct LocalModel {
  model::ModelConfig config;
  ModelFacts facts;
  RequestDefaults defaults;
  std::uint64_t kv_bytes = 0;
  std::size_t context_tokens_max = 0;
  std::shared_ptr<const text::Tokenizer> tokenizer;
  std::shared_ptr<const text::ChatTemplate> chat_template;  // null: the model has none
  std::unique_ptr<engine::Engine> engine;
};

using model::LoadProgress;

// A GGUF file or a Hugging Face folder. Errors name the file and what is wrong with it; kResourceExhausted,
// with an itemised plan, when it cannot fit into memory.
Result<std::shared_ptr<LocalModel>> load_model(const std::filesystem::path& path, const LoadOptions& options,
                                               const LoadProgress& progress);

}  // namespace sluice::server
