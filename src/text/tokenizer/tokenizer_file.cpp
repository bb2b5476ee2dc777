#include "text/tokenizer/tokenizer_file.h"

#include "base/json.h"

namespace sluice::text {
namespace {

Result<std::pair<std::string, std::string>> split_merge(std::string_view merge) {
  const std::size_t space = merge.find(' ', 1);
  if (space == std::string_view::npos || space + 1 == merge.size()) {
    return fail(ErrorCode::kInvalidArgument, "tokenizer: merge \"{}\" is not two tokens", merge);
  }
  return std::pair<std::string, std::string>(merge.substr(0, space), merge.substr(space + 1));
}

const json::value* member(const json::value* object, const char* key) {
  return object != nullptr && object->is_object() ? object->get_object().if_contains(key) : nullptr;
}
std::string text_of(const json::value* value) {
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : std::string();
}
bool flag_of(const json::value* value) { return value != nullptr && value->is_bool() && value->get_bool(); }

// All steps of a pre-tokenizer or normalizer, sequences flattened.
void collect(const json::value* step, std::vector<const json::value*>& steps) {
  if (step == nullptr || step->is_null()) return;
  for (const char* list : {"pretokenizers", "normalizers"}) {
    if (const json::value* parts = member(step, list); parts != nullptr && parts->is_array()) {
      for (const json::value& part : parts->get_array()) collect(&part, steps);
      return;
    }
  }
  steps.push_back(step);
}

// The published patterns differ where digits are: one at a time, up to three, or as a run.
Result<PreTokenizer> recognise(const json::value* pre) {
  std::vector<const json::value*> steps;
  collect(pre, steps);
  bool single_digits = false;
  for (const json::value* step : steps) {
    const std::string type = text_of(member(step, "type"));
    if (type == "Digits") single_digits = flag_of(member(step, "individual_digits"));
    if (type == "ByteLevel" && flag_of(member(step, "use_regex"))) {
      return single_digits ? PreTokenizer::kSmolLM : PreTokenizer::kGpt2;
    }
    if (type != "Split") continue;
    const std::string pattern = text_of(member(member(step, "pattern"), "Regex"));
    static constexpr std::string_view kHead = "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|";
    static constexpr std::string_view kTail =
        "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
    if (pattern == std::string(kHead) + "\\p{N}" + std::string(kTail)) return PreTokenizer::kQwen2;
    if (pattern == std::string(kHead) + "\\p{N}{1,3}" + std::string(kTail)) return PreTokenizer::kLlamaBpe;
    return fail(ErrorCode::kUnimplemented, "tokenizer: pattern \"{}\" is not supported", pattern);
  }
  return fail(ErrorCode::kUnimplemented,
              "tokenizer: no byte-level pre-tokenizer; only byte-level BPE is supported");
}

// Published vocabularies have few holes, so ids are bounded by what the file itself holds: a short file
// cannot ask for a large table.
constexpr std::int64_t kIdHolesMax = 65'536;

Status read_vocabulary(const json::value* model, TokenizerData& data) {
  const json::value* vocabulary = member(model, "vocab");
  if (vocabulary == nullptr || !vocabulary->is_object()) {
    return fail(ErrorCode::kInvalidArgument, "tokenizer: model.vocab is missing");
  }
  const auto ids_max = static_cast<std::int64_t>(vocabulary->get_object().size()) + kIdHolesMax;
  for (const auto& [token, id] : vocabulary->get_object()) {
    if (!id.is_int64() || id.get_int64() < 0 || id.get_int64() >= ids_max) {
      return fail(ErrorCode::kInvalidArgument, "tokenizer: token \"{}\" needs an id from 0 to {}",
                  std::string_view(token), ids_max - 1);
    }
    const auto index = static_cast<std::size_t>(id.get_int64());
    if (index >= data.tokens.size()) data.tokens.resize(index + 1);
    data.tokens[index] = std::string(token);
  }
  return {};
}

Status read_merges(const json::value* model, TokenizerData& data) {
  const json::value* merges = member(model, "merges");
  if (merges == nullptr || !merges->is_array())
    return fail(ErrorCode::kInvalidArgument, "tokenizer: no model.merges");
  for (const json::value& merge : merges->get_array()) {
    if (merge.is_array() && merge.get_array().size() == 2) {
      data.merges.emplace_back(text_of(&merge.get_array()[0]), text_of(&merge.get_array()[1]));
    } else {
      SLUICE_TRY(auto pair, split_merge(text_of(&merge)));
      data.merges.push_back(std::move(pair));
    }
  }
  return {};
}

Status read_added(const json::value& root, TokenizerData& data) {
  const json::value* added = member(&root, "added_tokens");
  if (added == nullptr || !added->is_array()) return {};
  const auto ids_max =
      static_cast<std::int64_t>(data.tokens.size() + added->get_array().size()) + kIdHolesMax;
  for (const json::value& token : added->get_array()) {
    const std::string content = text_of(member(&token, "content"));
    const json::value* id = member(&token, "id");
    if (id == nullptr || !id->is_int64() || id->get_int64() < 0 || id->get_int64() >= ids_max) {
      return fail(ErrorCode::kInvalidArgument, "tokenizer: added token \"{}\" needs an id from 0 to {}",
                  content, ids_max - 1);
    }
    data.added.push_back(
        {content, static_cast<TokenId>(id->get_int64()), flag_of(member(&token, "special"))});
  }
  return {};
}

}  // namespace

Result<TokenizerData> parse_tokenizer_json(std::string_view text) {
  SLUICE_TRY(const json::value root, json::parse(text));
  const json::value* model = member(&root, "model");
  if (const std::string type = text_of(member(model, "type")); type != "BPE") {
    return fail(ErrorCode::kUnimplemented, "tokenizer: model type \"{}\" is not supported: BPE is", type);
  }
  TokenizerData data;
  SLUICE_TRY_STATUS(read_vocabulary(model, data));
  SLUICE_TRY_STATUS(read_merges(model, data));
  data.ignore_merges = flag_of(member(model, "ignore_merges"));
  SLUICE_TRY(data.pre, recognise(member(&root, "pre_tokenizer")));
  std::vector<const json::value*> normalizers;
  collect(member(&root, "normalizer"), normalizers);
  for (const json::value* step : normalizers) {
    if (text_of(member(step, "type")) != "NFC") {
      return fail(ErrorCode::kUnimplemented, "tokenizer: normalizer \"{}\" is not supported",
                  text_of(member(step, "type")));
    }
    data.nfc = true;
  }
  SLUICE_TRY_STATUS(read_added(root, data));
  return data;
}

Result<TokenizerData> tokenizer_from_gguf(GgufTokenizerFields fields) {
  if (fields.model != "gpt2") {
    return fail(ErrorCode::kUnimplemented,
                "tokenizer.ggml.model is \"{}\"; only gpt2 (byte-level BPE) is supported", fields.model);
  }
  const auto pre = pretokenizer_of(fields.pre);
  if (!pre) {
    return fail(ErrorCode::kUnimplemented,
                "tokenizer.ggml.pre is \"{}\"; qwen2, gpt-2, smollm and llama-bpe are supported", fields.pre);
  }
  if (fields.token_types.size() != fields.tokens.size()) {
    return fail(ErrorCode::kInvalidArgument, "tokenizer: {} tokens but {} types", fields.tokens.size(),
                fields.token_types.size());
  }
  TokenizerData data;
  data.pre = *pre;
  data.nfc = *pre == PreTokenizer::kQwen2;
  data.ignore_merges = *pre == PreTokenizer::kLlamaBpe;
  data.bos = static_cast<TokenId>(fields.bos);
  data.add_bos = fields.add_bos && fields.bos >= 0;
  for (std::size_t id = 0; id < fields.tokens.size(); ++id) {
    const std::int64_t type = fields.token_types[id];
    const bool is_control = type == 3;
    if (is_control || type == 4)
      data.added.push_back({fields.tokens[id], static_cast<TokenId>(id), is_control});
    if (type == 5) fields.tokens[id].clear();
  }
  data.tokens = std::move(fields.tokens);
  for (const std::string& merge : fields.merges) {
    SLUICE_TRY(auto pair, split_merge(merge));
    data.merges.push_back(std::move(pair));
  }
  return data;
}

}  // namespace sluice::text
