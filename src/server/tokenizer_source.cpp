#include "server/tokenizer_source.h"

#include "text/tokenizer/tokenizer_file.h"

namespace sluice::server {
namespace {

template <typename T>
std::vector<T> array_or_empty(const weights::GgufFile& gguf, const char* key) {
  const auto* values = gguf.array<std::vector<T>>(key);
  return values != nullptr ? *values : std::vector<T>();
}

}  // namespace

Result<text::TokenizerData> read_tokenizer(const weights::Checkpoint& checkpoint) {
  const weights::GgufFile* gguf = checkpoint.gguf();
  if (gguf == nullptr) {
    const std::string json = checkpoint.side_file("tokenizer.json");
    if (json.empty()) return fail(ErrorCode::kNotFound, "the folder has no tokenizer.json");
    return text::parse_tokenizer_json(json);
  }
  text::GgufTokenizerFields fields;
  fields.model = gguf->text("tokenizer.ggml.model").value_or("");
  fields.pre = gguf->text("tokenizer.ggml.pre").value_or("");
  fields.tokens = array_or_empty<std::string>(*gguf, "tokenizer.ggml.tokens");
  fields.token_types = array_or_empty<std::int64_t>(*gguf, "tokenizer.ggml.token_type");
  fields.merges = array_or_empty<std::string>(*gguf, "tokenizer.ggml.merges");
  fields.bos = gguf->integer("tokenizer.ggml.bos_token_id").value_or(-1);
  fields.add_bos = gguf->integer("tokenizer.ggml.add_bos_token").value_or(0) != 0;
  return text::tokenizer_from_gguf(std::move(fields));
}

}  // namespace sluice::server
