#include "server/local_model.h"

#include <algorithm>

#include "base/log.h"
#include "engine/local_executor.h"
#include "model/loader.h"
#include "server/memory_plan.h"
#include "server/tokenizer_source.h"

namespace sluice::server {
namespace {

std::string json_text(const json::value* value) {
  if (value == nullptr) return {};
  if (value->is_string()) return std::string(value->get_string());
  const json::value* content = value->is_object() ? value->get_object().if_contains("content") : nullptr;
  return content != nullptr && content->is_string() ? std::string(content->get_string()) : std::string();
}

struct EdgeTexts {
  std::string bos, eos;  // as templates print them
};

EdgeTexts edges_of(const weights::Checkpoint& checkpoint, const text::Tokenizer& tokenizer,
                   const model::ModelConfig& config) {
  EdgeTexts edges;
  if (const weights::GgufFile* gguf = checkpoint.gguf()) {
    edges.bos =
        tokenizer.bytes(static_cast<TokenId>(gguf->integer("tokenizer.ggml.bos_token_id").value_or(-1)));
    if (!config.end_ids.empty()) edges.eos = tokenizer.bytes(config.end_ids[0]);
    return edges;
  }
  const auto parsed = json::parse(checkpoint.side_file("tokenizer_config.json"));
  if (!parsed || !parsed->is_object()) return edges;
  edges.bos = json_text(parsed->get_object().if_contains("bos_token"));
  edges.eos = json_text(parsed->get_object().if_contains("eos_token"));
  return edges;
}

Status read_text_parts(const weights::Checkpoint& checkpoint, LocalModel& model) {
  SLUICE_TRY(text::TokenizerData data, read_tokenizer(checkpoint));
  SLUICE_TRY(model.tokenizer, text::Tokenizer::create(std::move(data)));
  if (model.tokenizer->vocabulary() > model.config.vocabulary) {
    return fail(ErrorCode::kInvalidArgument, "the tokenizer has {} ids, the model {}",
                model.tokenizer->vocabulary(), model.config.vocabulary);
  }
  if (!model.facts.template_text.empty()) {
    EdgeTexts edges = edges_of(checkpoint, *model.tokenizer, model.config);
    SLUICE_TRY(model.chat_template, text::ChatTemplate::parse(model.facts.template_text, std::move(edges.bos),
                                                              std::move(edges.eos)));
  }
  SLUICE_TRY(model.defaults, read_generation_config(checkpoint.side_file("generation_config.json")));
  return {};
}

engine::EngineOptions engine_options_of(const LoadOptions& options, const LocalModel& model,
                                        std::size_t kv_blocks) {
  engine::EngineOptions engine;
  engine.scheduler = {options.step_tokens_max, options.sequences_max, model.context_tokens_max};
  engine.kv_blocks = kv_blocks;
  engine.queue_max = options.queue_max;
  engine.vocabulary = model.config.vocabulary;
  return engine;
}

Result<std::shared_ptr<LocalModel>> load(const std::filesystem::path& path, const LoadOptions& options,
                                         const LoadProgress& progress) {
  SLUICE_TRY(weights::Checkpoint checkpoint, weights::Checkpoint::open(path));
  auto model = std::make_shared<LocalModel>();
  SLUICE_TRY(model->config, model::read_config(checkpoint));
  const model::ModelConfig& config = model->config;
  model->facts = facts_of(checkpoint, config);
  SLUICE_TRY_STATUS(read_text_parts(checkpoint, *model));
  model->context_tokens_max = options.context_tokens_max != 0
                                  ? std::min(options.context_tokens_max, config.context_tokens_max)
                                  : config.context_tokens_max;
  SLUICE_TRY(const MemoryPlan plan, plan_memory(checkpoint.weight_bytes(), available_bytes(), options, config,
                                                model->context_tokens_max));
  log::info("memory: {}", plan.text());
  const backend::KVShape kv{config.layers, plan.kv_blocks, config.kv_heads, config.head_dim,
                            options.kv_format};
  model->kv_bytes = plan.kv;

  std::shared_ptr<backend::Backend> backend = backend::make_backend(options.backend, options.threads);
  SLUICE_TRY(model::ModelWeights weights, model::load_weights(checkpoint, config, *backend, progress));
  engine::EngineOptions engine_options = engine_options_of(options, *model, plan.kv_blocks);
  engine_options.model_digest = path.string();
  auto runner =
      std::make_unique<model::ModelRunner>(backend, config, std::move(weights), kv, options.step_tokens_max);
  model->engine = std::make_unique<engine::Engine>(
      engine_options, std::make_unique<engine::LocalExecutor>(std::move(runner)));
  log::info("loaded {} on {}", path.string(), backend->name());
  if (const std::string defaults = model->defaults.text(); !defaults.empty())
    log::info("requests that do not say take the model's {}", defaults);
  return model;
}

}  // namespace

Result<std::shared_ptr<LocalModel>> load_model(const std::filesystem::path& path, const LoadOptions& options,
                                               const LoadProgress& progress) {
  Result<std::shared_ptr<LocalModel>> model;
  try {
    model = load(path, options, progress);
  } catch (const std::bad_alloc&) {
    model = fail(ErrorCode::kResourceExhausted,
                 "out of memory while loading: free some, or lower --kv-cache-bytes");
  } catch (const std::exception& problem) {
    model = fail(ErrorCode::kInvalidArgument, "{}", problem.what());
  }
  if (!model && model.error().message.find(path.string()) == std::string::npos)
    model.error().message.insert(0, path.string() + ": ");
  return model;
}

}  // namespace sluice::server
