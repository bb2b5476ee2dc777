#include "server/local_model.h"

#include <algorithm>
#include <fstream>
#include <map>

#include "base/log.h"
#include "engine/local_executor.h"
#include "model/loader.h"
#include "text/tokenizer/tokenizer_file.h"

namespace sluice::server {
namespace {

constexpr std::uint64_t kKvBytesMax = std::uint64_t{4} << 30;

std::uint64_t available_bytes() {
  std::ifstream file("/proc/meminfo");
  std::string key;
  for (std::uint64_t kib = 0; file >> key >> kib; file.ignore(64, '\n'))
    if (key == "MemAvailable:") return kib << 10;
  return 0;
}

double gib(std::uint64_t bytes) { return static_cast<double>(bytes) / static_cast<double>(1 << 30); }

template <typename T>
std::vector<T> array_or_empty(const weights::GgufFile& gguf, const char* key) {
  const auto* values = gguf.array<std::vector<T>>(key);
  return values != nullptr ? *values : std::vector<T>();
}

Result<text::TokenizerData> tokenizer_of(const weights::Checkpoint& checkpoint) {
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

std::string json_text(const json::value* value) {
  if (value == nullptr) return {};
  if (value->is_string()) return std::string(value->get_string());
  const json::value* content = value->is_object() ? value->get_object().if_contains("content") : nullptr;
  return content != nullptr && content->is_string() ? std::string(content->get_string()) : std::string();
}

struct TemplateSource {
  std::string text, bos, eos;
};

TemplateSource template_of(const weights::Checkpoint& checkpoint, const text::Tokenizer& tokenizer,
                           const model::ModelConfig& config) {
  TemplateSource source;
  if (const weights::GgufFile* gguf = checkpoint.gguf()) {
    source.text = gguf->text("tokenizer.chat_template").value_or("");
    source.bos =
        tokenizer.bytes(static_cast<TokenId>(gguf->integer("tokenizer.ggml.bos_token_id").value_or(-1)));
    if (!config.end_ids.empty()) source.eos = tokenizer.bytes(config.end_ids[0]);
    return source;
  }
  source.text = checkpoint.side_file("chat_template.jinja");
  const auto parsed = json::parse(checkpoint.side_file("tokenizer_config.json"));
  if (!parsed || !parsed->is_object()) return source;
  const json::object& object = parsed->get_object();
  if (source.text.empty()) source.text = json_text(object.if_contains("chat_template"));
  source.bos = json_text(object.if_contains("bos_token"));
  source.eos = json_text(object.if_contains("eos_token"));
  return source;
}

// The type most of the bytes are stored in.
std::string quantization_of(const weights::Checkpoint& checkpoint) {
  std::map<std::string, std::uint64_t> bytes;
  checkpoint.for_each([&](const weights::StoredTensor& tensor) {
    bytes[std::string(backend::traits(tensor.type).name)] += tensor.bytes.size();
  });
  const auto most = std::ranges::max_element(bytes, {}, [](const auto& entry) { return entry.second; });
  return most != bytes.end() ? most->first : "";
}

// Blocks of the KV pool, after checking that weights and pool fit.
Result<std::size_t> plan_memory(const weights::Checkpoint& checkpoint, const LoadOptions& options,
                                const backend::KVShape& one_block, std::size_t context) {
  const std::uint64_t available = available_bytes();
  const std::uint64_t weights = checkpoint.weight_bytes();
  const std::uint64_t left = available > weights ? available - weights : 0;
  std::uint64_t kv = options.kv_cache_bytes != 0 ? options.kv_cache_bytes : std::min(left / 4, kKvBytesMax);
  if (options.kv_blocks != 0) kv = options.kv_blocks * one_block.block_bytes();
  // More than every running sequence at full length can use is waste.
  const std::uint64_t context_blocks = (context + backend::kBlockTokens - 1) / backend::kBlockTokens;
  kv = std::min(kv, context_blocks * options.sequences_max * one_block.block_bytes());
  const auto blocks = static_cast<std::size_t>(kv / one_block.block_bytes());
  const std::string plan =
      fmt::format("weights {:.2f} GiB, KV cache {:.2f} GiB ({} tokens), available {:.2f} GiB", gib(weights),
                  gib(kv), blocks * backend::kBlockTokens, gib(available));
  if (weights + weights / 10 + kv > available) {
    return fail(ErrorCode::kResourceExhausted,
                "the model does not fit: {}; use a smaller quantisation or --kv-cache-bytes, or free memory",
                plan);
  }
  if (blocks < 2)
    return fail(ErrorCode::kResourceExhausted, "the KV cache holds no block: {}; give it more", plan);
  log::info("memory: {}", plan);
  return blocks;
}

}  // namespace

Result<std::shared_ptr<LocalModel>> load_model(const std::filesystem::path& path, const LoadOptions& options,
                                               const LoadProgress& progress) {
  SLUICE_TRY(weights::Checkpoint checkpoint, weights::Checkpoint::open(path));
  auto model = std::make_shared<LocalModel>();
  SLUICE_TRY(model->config, model::read_config(checkpoint));
  const model::ModelConfig& config = model->config;
  SLUICE_TRY(text::TokenizerData data, tokenizer_of(checkpoint));
  SLUICE_TRY(model->tokenizer, text::Tokenizer::create(std::move(data)));
  if (model->tokenizer->vocabulary() > config.vocabulary) {
    return fail(ErrorCode::kInvalidArgument, "{}: the tokenizer has {} ids, the model {}", path.string(),
                model->tokenizer->vocabulary(), config.vocabulary);
  }
  const TemplateSource source = template_of(checkpoint, *model->tokenizer, config);
  if (!source.text.empty()) {
    SLUICE_TRY(model->chat_template, text::ChatTemplate::parse(source.text, source.bos, source.eos));
  }
  model->context_tokens_max = options.context_tokens_max != 0
                                  ? std::min(options.context_tokens_max, config.context_tokens_max)
                                  : config.context_tokens_max;
  backend::KVShape kv{config.layers, 1, config.kv_heads, config.head_dim, options.kv_format};
  SLUICE_TRY(kv.blocks, plan_memory(checkpoint, options, kv, model->context_tokens_max));
  model->facts = {config.architecture_name,  quantization_of(checkpoint),  checkpoint.parameters(),
                  checkpoint.weight_bytes(), kv.block_bytes() * kv.blocks, source.text};

  std::shared_ptr<backend::Backend> backend = backend::make_backend(options.backend, options.threads);
  SLUICE_TRY(model::ModelWeights weights, model::load_weights(checkpoint, config, *backend, progress));
  engine::EngineOptions engine_options;
  engine_options.scheduler = {options.step_tokens_max, options.sequences_max, model->context_tokens_max};
  engine_options.kv_blocks = kv.blocks;
  engine_options.queue_max = options.queue_max;
  engine_options.vocabulary = config.vocabulary;
  engine_options.model_digest = path.string();
  auto runner =
      std::make_unique<model::ModelRunner>(backend, config, std::move(weights), kv, options.step_tokens_max);
  model->engine = std::make_unique<engine::Engine>(
      engine_options, std::make_unique<engine::LocalExecutor>(std::move(runner)));
  log::info("loaded {} on {}", path.string(), backend->name());
  return model;
}

}  // namespace sluice::server
