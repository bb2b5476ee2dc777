// Cuts text into the words that BPE works on, by hand-written scanners: linear, no recursion, no regular
// expressions (field reports F003, F005). Each equals the published pattern of its tokenizer.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

namespace sluice::text {

enum class PreTokenizer { kQwen2, kGpt2, kSmolLM, kLlamaBpe };

// As GGUF names them: "qwen2", "gpt-2", "smollm", "llama-bpe" …
std::optional<PreTokenizer> pretokenizer_of(std::string_view gguf_name);

// Ends of the words of `text` (valid UTF-8), ascending; the last is text.size().
std::vector<std::size_t> split_words(PreTokenizer kind, std::string_view text);

}  // namespace sluice::text
