// Tokenizers as files store them: Hugging Face's tokenizer.json and GGUF's metadata.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/tokenizer/tokenizer.h"

namespace sluice::text {

// Errors: kUnimplemented naming a pre-tokenizer or model type that is not supported.
Result<TokenizerData> parse_tokenizer_json(std::string_view json);

// The fields of GGUF's tokenizer.ggml.* as plain values.
struct GgufTokenizerFields {
  std::string model;  // "gpt2"
  std::string pre;    // "qwen2"
  std::vector<std::string> tokens;
  std::vector<std::int64_t> token_types;  // 1 normal, 3 control, 4 user-defined, 5 unused
  std::vector<std::string> merges;        // "left right"
  std::int64_t bos = -1;
  bool add_bos = false;
};
Result<TokenizerData> tokenizer_from_gguf(GgufTokenizerFields fields);

}  // namespace sluice::text
