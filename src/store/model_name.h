// Model names as Ollama writes them: [HOST/][NAMESPACE/]MODEL[:TAG] (ollama.md 9.3).
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace sluice::store {

struct ModelName {
  std::string host = "registry.ollama.ai";
  std::string space = "library";  // namespace
  std::string model;
  std::string tag = "latest";

  // Without the default parts, the tag always shown: "smollm2:135m".
  std::string display() const;
};

// Errors: kInvalidArgument saying which part is wrong.
Result<ModelName> parse_name(std::string_view text);

}  // namespace sluice::store
