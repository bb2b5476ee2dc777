// What /api/tags, /api/ps, /api/show and /api/version say. Pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace sluice::api::ollama {

struct ModelInfo {
  std::string name;    // shortest, always with its tag: qwen3:8b
  std::string digest;  // 64 hex digits of the manifest, without "sha256:"
  std::string format = "gguf";
  std::string family;
  std::string parameter_size;      // "8.2B"
  std::string quantization_level;  // "Q4_K_M"
  std::string architecture;        // general.architecture
  std::string template_text;
  std::string system;
  std::string license;
  std::string modelfile;
  std::string parameters;                 // one "key value" line each
  std::vector<std::string> capabilities;  // completion, tools, thinking
  json::object metadata;                  // further model_info entries; arrays are shown as null
  std::int64_t size_bytes = 0;            // tags: on disk; ps: in memory
  std::int64_t vram_bytes = 0;            // ps
  std::int64_t modified_unix = 0;         // seconds
  std::int64_t expires_unix = 0;          // ps; < 0: never
  std::int64_t context_length = 0;        // tags, show: trained; ps: allocated
  std::int64_t embedding_length = 0;
  std::int64_t parameter_count = 0;
};

std::string tags_reply(std::span<const ModelInfo> models);  // newest first, whatever the order given
std::string ps_reply(std::span<const ModelInfo> models);    // the last to expire first
std::string show_reply(const ModelInfo& model);
std::string version_reply(std::string_view version);

}  // namespace sluice::api::ollama
