// A GGUF file of any bytes: opened, its configuration and tokenizer read, every tensor's bytes touched.
#include "fuzz/input_file.h"
#include "model/model_config.h"
#include "text/tokenizer/tokenizer.h"
#include "text/tokenizer/tokenizer_file.h"
#include "weights/gguf.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sluice;
  const InputFile file(data, size);
  if (!file.is_complete()) return 0;
  const auto gguf = weights::GgufFile::open(file.path());
  if (!gguf) return 0;
  unsigned sum = 0;
  for (const weights::StoredTensor& tensor : gguf->tensors()) {
    if (tensor.bytes.empty()) continue;
    sum += static_cast<unsigned>(tensor.bytes.front()) + static_cast<unsigned>(tensor.bytes.back());
  }
  text::GgufTokenizerFields fields;
  fields.model = gguf->text("tokenizer.ggml.model").value_or("");
  fields.pre = gguf->text("tokenizer.ggml.pre").value_or("");
  if (const auto* tokens = gguf->array<std::vector<std::string>>("tokenizer.ggml.tokens"))
    fields.tokens = *tokens;
  if (const auto* merges = gguf->array<std::vector<std::string>>("tokenizer.ggml.merges"))
    fields.merges = *merges;
  if (const auto* types = gguf->array<std::vector<std::int64_t>>("tokenizer.ggml.token_type"))
    fields.token_types = *types;
  if (auto parsed = text::tokenizer_from_gguf(std::move(fields))) {
    if (const auto tokenizer = text::Tokenizer::create(std::move(*parsed)))
      (*tokenizer)->encode("Hi, 你好 <s>", true);
  }
  volatile unsigned kept = sum;
  return static_cast<int>(kept & 0U);
}
