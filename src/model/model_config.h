// Hyper-parameters of a model, from GGUF metadata or config.json. All values are bounded.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "base/result.h"
#include "base/strong_id.h"
#include "weights/checkpoint.h"

namespace sluice::model {

enum class Architecture : std::uint8_t { kQwen3, kQwen2, kLlama };

struct ModelConfig {
  Architecture architecture = Architecture::kQwen3;
  std::string architecture_name;  // as files spell it: "qwen3"
  std::size_t layers = 0;
  std::size_t hidden = 0;
  std::size_t ffn = 0;
  std::size_t heads = 0;
  std::size_t kv_heads = 0;
  std::size_t head_dim = 0;
  std::size_t vocabulary = 0;  // rows of the embedding, padding included
  std::size_t context_tokens_max = 0;
  float rms_eps = 1e-6F;
  backend::Rope rope;
  bool tied_embeddings = false;
  bool gguf_permuted_qk = false;  // GGUF's llama stores Q and K rows for interleaved rotary pairs
  std::vector<TokenId> end_ids;   // end of a turn, the primary one first

  bool has_qk_norm() const { return architecture == Architecture::kQwen3; }
};

// Errors: kInvalidArgument naming the key; kUnimplemented for another architecture or rope form.
// Takes rope_freqs.weight, which GGUF's llama keeps its long-context factors in.
Result<ModelConfig> read_config(weights::Checkpoint& checkpoint);

}  // namespace sluice::model
