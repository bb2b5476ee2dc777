// What catalogues and `show` say of a model; read from its files without loading them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "base/json.h"
#include "model/model_config.h"
#include "weights/checkpoint.h"

namespace sluice::server {

struct ModelFacts {
  std::string format;        // "gguf" or "safetensors"
  std::string architecture;  // "qwen3"
  std::string quantization;  // "Q4_1": the type that most bytes are stored in
  std::uint64_t parameters = 0;
  std::uint64_t weight_bytes = 0;
  std::size_t context_tokens = 0;  // trained
  std::size_t hidden = 0;
  std::string template_text;
  bool can_think = false;
  json::object metadata;  // GGUF key-value pairs; long arrays as null
};

ModelFacts facts_of(const weights::Checkpoint& checkpoint, const model::ModelConfig& config);
// Opens the files only for this. Errors are those of the files.
Result<ModelFacts> read_facts(const std::filesystem::path& path);

// The chat template's text; empty when the model has none.
std::string template_text_of(const weights::Checkpoint& checkpoint);

}  // namespace sluice::server
