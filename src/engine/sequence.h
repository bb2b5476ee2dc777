// The engine's mutable state of one generation. Owned by the engine thread.
#pragma once

#include <chrono>
#include <vector>

#include "engine/generation.h"
#include "kvcache/kv_cache_manager.h"

namespace sluice::engine {

struct Sequence {
  GenerationRequest request;
  std::vector<TokenId> tokens;  // prompt, then output
  std::size_t computed = 0;     // leading tokens whose keys and values exist
  kvcache::BlockTable table;
  std::size_t cached_prompt_tokens = 0;  // of the first admission
  bool was_admitted = false;
  std::chrono::steady_clock::time_point arrived;
  std::chrono::steady_clock::time_point first_scheduled;
  bool has_output() const { return tokens.size() > request.prompt.size(); }
  std::size_t output_size() const { return tokens.size() - request.prompt.size(); }
  std::size_t pending() const { return tokens.size() - computed; }
};

}  // namespace sluice::engine
