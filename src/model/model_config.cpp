#include "model/model_config.h"

#include <map>

#include "backend/quant_formats.h"
#include "model/rope_scaling.h"

namespace sluice::model {
namespace {

// One reader over both forms: GGUF keys carry the architecture's name, JSON keys do not.
struct Fields {
  const weights::GgufFile* gguf;
  const json::object& object;
  std::string prefix;  // "qwen3."

  std::optional<double> number(const char* gguf_key, const char* json_key) const {
    if (gguf != nullptr) return gguf->number(prefix + gguf_key);
    const json::value* value = object.if_contains(json_key);
    if (value == nullptr || !value->is_number()) return std::nullopt;
    return value->to_number<double>();
  }

  Result<std::size_t> size(const char* gguf_key, const char* json_key, double limit) const {
    const auto value = number(gguf_key, json_key);
    const std::string name = gguf != nullptr ? prefix + gguf_key : json_key;
    if (!value) return fail(ErrorCode::kInvalidArgument, "{} is missing", name);
    if (!(*value >= 1 && *value <= limit)) {
      return fail(ErrorCode::kInvalidArgument, "{} is {}, between 1 and {} is possible", name, *value, limit);
    }
    return static_cast<std::size_t>(*value);
  }
};

Status set_architecture(const weights::Checkpoint& checkpoint, ModelConfig& config) {
  if (const weights::GgufFile* gguf = checkpoint.gguf()) {
    config.architecture_name = gguf->text("general.architecture").value_or("");
  } else if (const json::value* type = checkpoint.config().if_contains("model_type");
             type && type->is_string()) {
    config.architecture_name = std::string(type->get_string());
  }
  static const std::map<std::string, Architecture> kKnown = {
      {"qwen3", Architecture::kQwen3}, {"qwen2", Architecture::kQwen2}, {"llama", Architecture::kLlama}};
  const auto found = kKnown.find(config.architecture_name);
  if (found == kKnown.end()) {
    return fail(ErrorCode::kUnimplemented, "architecture \"{}\" is not supported: qwen3, qwen2 and llama are",
                config.architecture_name);
  }
  config.architecture = found->second;
  config.gguf_permuted_qk = checkpoint.gguf() != nullptr && config.architecture == Architecture::kLlama;
  return {};
}

double json_number(const json::object& object, const char* key, double otherwise) {
  const json::value* value = object.if_contains(key);
  return value != nullptr && value->is_number() ? value->to_number<double>() : otherwise;
}

RopeScaling read_json_scaling(const json::object& config) {
  RopeScaling scaling;
  const json::value* value = config.if_contains("rope_scaling");
  if (value == nullptr || !value->is_object()) value = config.if_contains("rope_parameters");
  if (value == nullptr || !value->is_object()) return scaling;
  const json::object& object = value->get_object();
  for (const char* key : {"type", "rope_type"}) {  // the old spelling, then the new one (field report F033)
    if (const json::value* type = object.if_contains(key); type && type->is_string()) {
      scaling.type = std::string(type->get_string());
    }
  }
  scaling.factor = json_number(object, "factor", 1);
  scaling.original_context = json_number(object, "original_max_position_embeddings",
                                         json_number(config, "max_position_embeddings", 0));
  scaling.low_freq_factor = json_number(object, "low_freq_factor", 1);
  scaling.high_freq_factor = json_number(object, "high_freq_factor", 4);
  scaling.beta_fast = json_number(object, "beta_fast", 32);
  scaling.beta_slow = json_number(object, "beta_slow", 1);
  scaling.attention_factor = json_number(object, "attention_factor", 0);
  return scaling;
}

RopeScaling read_gguf_scaling(const Fields& fields) {
  RopeScaling scaling;
  scaling.type = fields.gguf->text(fields.prefix + "rope.scaling.type").value_or("default");
  if (scaling.type == "none") scaling.type = "default";
  scaling.factor = fields.number("rope.scaling.factor", "").value_or(1);
  scaling.original_context = fields.number("rope.scaling.original_context_length", "").value_or(0);
  return scaling;
}

double rope_base(const Fields& fields) {
  if (const auto base = fields.number("rope.freq_base", "rope_theta")) return *base;
  const json::value* parameters = fields.object.if_contains("rope_parameters");
  return parameters != nullptr && parameters->is_object()
             ? json_number(parameters->get_object(), "rope_theta", 10000)
             : 10000;
}

Status read_rope(const Fields& fields, ModelConfig& config) {
  const RopeScaling scaling =
      fields.gguf != nullptr ? read_gguf_scaling(fields) : read_json_scaling(fields.object);
  constexpr double kContextMax = 1 << 24;
  if (!(scaling.original_context * scaling.factor <= kContextMax)) {
    return fail(ErrorCode::kInvalidArgument, "rope: a context of {} x {} tokens, limit {}",
                scaling.original_context, scaling.factor, kContextMax);
  }
  SLUICE_TRY(config.rope, make_rope(rope_base(fields), config.head_dim, scaling));
  if (scaling.type == "yarn") {  // the scaled limit, whatever the file says of the native one
    const double scaled = scaling.original_context * scaling.factor;
    config.context_tokens_max = std::max(config.context_tokens_max, static_cast<std::size_t>(scaled));
  }
  return {};
}

void add_end_id(ModelConfig& config, const json::value* value) {
  if (value == nullptr) return;
  const auto add = [&](const json::value& id) {
    // An id that no token has can never be chosen.
    if (!id.is_int64() || id.get_int64() < 0 ||
        id.get_int64() >= static_cast<std::int64_t>(config.vocabulary))
      return;
    const auto token = static_cast<TokenId>(id.get_int64());
    for (const TokenId known : config.end_ids)
      if (known == token) return;
    config.end_ids.push_back(token);
  };
  if (value->is_array()) {
    for (const json::value& id : value->get_array()) add(id);
  } else {
    add(*value);
  }
}

void read_end_ids(const weights::Checkpoint& checkpoint, ModelConfig& config) {
  if (const weights::GgufFile* gguf = checkpoint.gguf()) {
    for (const char* key : {"tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id"}) {
      if (const auto id = gguf->integer(key)) add_end_id(config, std::make_unique<json::value>(*id).get());
    }
    return;
  }
  const auto generation = json::parse(checkpoint.side_file("generation_config.json"));
  if (generation && generation->is_object())
    add_end_id(config, generation->get_object().if_contains("eos_token_id"));
  add_end_id(config, checkpoint.config().if_contains("eos_token_id"));
}

// What would change the network and is not built: refused, or the answers would be silently wrong.
Status refuse_other_networks(const json::object& config) {
  const json::value* activation = config.if_contains("hidden_act");
  if (activation != nullptr && activation->is_string() && activation->get_string() != "silu") {
    return fail(ErrorCode::kUnimplemented, "hidden_act \"{}\" is not supported: silu is",
                std::string_view(activation->get_string()));
  }
  const json::value* sliding = config.if_contains("use_sliding_window");
  if (sliding != nullptr && sliding->is_bool() && sliding->get_bool()) {
    return fail(ErrorCode::kUnimplemented, "use_sliding_window is not supported");
  }
  return {};
}

// Llama 3.x in GGUF: each frequency is divided by its stored factor.
Status apply_rope_factors(weights::Checkpoint& checkpoint, ModelConfig& config) {
  if (!checkpoint.has("rope_freqs.weight")) return {};
  SLUICE_TRY(const weights::StoredTensor tensor, checkpoint.take("rope_freqs.weight", {config.head_dim / 2}));
  if (tensor.type != backend::DType::kF32)
    return fail(ErrorCode::kInvalidArgument, "rope_freqs.weight is not F32");
  std::vector<float> factors(config.head_dim / 2);
  backend::dequantize_row(tensor.type, tensor.bytes.data(), factors.size(), factors.data());
  for (std::size_t i = 0; i < factors.size(); ++i) {
    if (!(factors[i] > 0))
      return fail(ErrorCode::kInvalidArgument, "rope_freqs.weight[{}] is {}", i, factors[i]);
    config.rope.inverse_frequency[i] /= factors[i];
  }
  return {};
}

Status read_embeddings(const weights::Checkpoint& checkpoint, const Fields& fields, ModelConfig& config) {
  if (const weights::GgufFile* gguf = checkpoint.gguf()) {
    const auto* tokens = gguf->array<std::vector<std::string>>("tokenizer.ggml.tokens");
    config.vocabulary = tokens != nullptr ? tokens->size() : 0;
  }
  if (config.vocabulary == 0) {
    SLUICE_TRY(config.vocabulary, fields.size("vocab_size", "vocab_size", 1 << 24));
  }
  // A stored head wins over the flag (field report F031).
  config.tied_embeddings = !checkpoint.has("lm_head.weight");
  const json::value* flag = checkpoint.config().if_contains("tie_word_embeddings");
  if (config.tied_embeddings && flag != nullptr && flag->is_bool() && !flag->get_bool()) {
    return fail(ErrorCode::kInvalidArgument,
                "tie_word_embeddings is false, but the files hold no lm_head.weight");
  }
  return {};
}

}  // namespace

Result<ModelConfig> read_config(weights::Checkpoint& checkpoint) {
  ModelConfig config;
  SLUICE_TRY_STATUS(set_architecture(checkpoint, config));
  SLUICE_TRY_STATUS(refuse_other_networks(checkpoint.config()));
  const Fields fields{checkpoint.gguf(), checkpoint.config(), config.architecture_name + "."};
  SLUICE_TRY(config.layers, fields.size("block_count", "num_hidden_layers", 1024));
  SLUICE_TRY(config.hidden, fields.size("embedding_length", "hidden_size", 1 << 20));
  SLUICE_TRY(config.ffn, fields.size("feed_forward_length", "intermediate_size", 1 << 22));
  SLUICE_TRY(config.heads, fields.size("attention.head_count", "num_attention_heads", 4096));
  config.kv_heads = config.heads;
  if (fields.number("attention.head_count_kv", "num_key_value_heads")) {
    SLUICE_TRY(config.kv_heads, fields.size("attention.head_count_kv", "num_key_value_heads", 4096));
  }
  config.head_dim = config.hidden / config.heads;
  if (fields.number("attention.key_length", "head_dim")) {
    SLUICE_TRY(config.head_dim, fields.size("attention.key_length", "head_dim", 256));
  }
  if (config.heads % config.kv_heads != 0 || config.heads / config.kv_heads > 32 ||
      config.head_dim % 16 != 0 || config.head_dim > 256) {
    return fail(ErrorCode::kUnimplemented,
                "{} query heads over {} key-value heads of dimension {}: at most 32 per key-value head and a "
                "multiple of "
                "16 up to 256 are supported",
                config.heads, config.kv_heads, config.head_dim);
  }
  SLUICE_TRY(config.context_tokens_max, fields.size("context_length", "max_position_embeddings", 1 << 24));
  config.rms_eps =
      static_cast<float>(fields.number("attention.layer_norm_rms_epsilon", "rms_norm_eps").value_or(1e-6));
  SLUICE_TRY_STATUS(read_embeddings(checkpoint, fields, config));
  if (!(config.rms_eps > 0 && config.rms_eps < 1)) {
    return fail(ErrorCode::kInvalidArgument, "the RMS norm's epsilon is {}, between 0 and 1 is possible",
                config.rms_eps);
  }
  SLUICE_TRY_STATUS(read_rope(fields, config));
  SLUICE_TRY_STATUS(apply_rope_factors(checkpoint, config));
  read_end_ids(checkpoint, config);
  return config;
}

}  // namespace sluice::model
