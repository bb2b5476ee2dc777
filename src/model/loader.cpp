#include "model/loader.h"

#include <cstring>

#include "backend/quant_formats.h"

namespace sluice::model {
namespace {

using backend::RowSegment;
using weights::StoredTensor;

class Loader {
 public:
  Loader(weights::Checkpoint& checkpoint, const ModelConfig& config, backend::Backend& backend,
         const LoadProgress& progress)
      : checkpoint_(checkpoint),
        config_(config),
        backend_(backend),
        progress_(progress),
        total_(checkpoint.weight_bytes()) {}

  Result<ModelWeights> load() {
    ModelWeights model;
    SLUICE_TRY(model.embedding, matrix({"model.embed_tokens.weight"}, {config_.vocabulary}, config_.hidden));
    for (std::size_t layer = 0; layer < config_.layers; ++layer) {
      SLUICE_TRY(LayerWeights weights, load_layer("model.layers." + std::to_string(layer) + "."));
      model.bytes +=
          weights.qkv->bytes() + weights.output->bytes() + weights.gate_up->bytes() + weights.down->bytes();
      model.layers.push_back(std::move(weights));
    }
    SLUICE_TRY(model.final_norm, vector("model.norm.weight", config_.hidden));
    model.head = model.embedding;
    if (!config_.tied_embeddings) {
      SLUICE_TRY(model.head, matrix({"lm_head.weight"}, {config_.vocabulary}, config_.hidden));
    }
    model.bytes += model.head->bytes();
    SLUICE_TRY_STATUS(checkpoint_.check_all_taken());
    return model;
  }

 private:
  Result<LayerWeights> load_layer(const std::string& prefix) {
    const std::size_t q = config_.heads * config_.head_dim;
    const std::size_t kv = config_.kv_heads * config_.head_dim;
    const std::string a = prefix + "self_attn.";
    LayerWeights w;
    SLUICE_TRY(w.attention_norm, vector(prefix + "input_layernorm.weight", config_.hidden));
    SLUICE_TRY(w.qkv, matrix({a + "q_proj.weight", a + "k_proj.weight", a + "v_proj.weight"}, {q, kv, kv},
                             config_.hidden));
    SLUICE_TRY(w.qkv_bias, load_bias(a, q, kv));
    if (config_.has_qk_norm()) {
      SLUICE_TRY(w.q_norm, vector(a + "q_norm.weight", config_.head_dim));
      SLUICE_TRY(w.k_norm, vector(a + "k_norm.weight", config_.head_dim));
    }
    SLUICE_TRY(w.output, matrix({a + "o_proj.weight"}, {config_.hidden}, q));
    SLUICE_TRY(w.ffn_norm, vector(prefix + "post_attention_layernorm.weight", config_.hidden));
    SLUICE_TRY(w.gate_up, matrix({prefix + "mlp.gate_proj.weight", prefix + "mlp.up_proj.weight"},
                                 {config_.ffn, config_.ffn}, config_.hidden));
    SLUICE_TRY(w.down, matrix({prefix + "mlp.down_proj.weight"}, {config_.hidden}, config_.ffn));
    return w;
  }

  Result<std::vector<float>> load_bias(const std::string& prefix, std::size_t q, std::size_t kv) {
    std::vector<float> bias;
    const bool needs_bias = config_.architecture == Architecture::kQwen2;
    if (!needs_bias && !checkpoint_.has(prefix + "q_proj.bias")) return bias;
    if (config_.gguf_permuted_qk)
      return fail(ErrorCode::kUnimplemented, "{}q_proj.bias: llama has no biases", prefix);
    for (const auto& [part, size] : {std::pair{"q_proj.bias", q}, {"k_proj.bias", kv}, {"v_proj.bias", kv}}) {
      SLUICE_TRY(const std::vector<float> values, vector(prefix + part, size));
      bias.insert(bias.end(), values.begin(), values.end());
    }
    return bias;
  }

  Result<std::vector<float>> vector(const std::string& name, std::size_t size) {
    SLUICE_TRY(const StoredTensor tensor, checkpoint_.take(name, {size}));
    if (size % backend::traits(tensor.type).block_elements != 0) {
      return fail(ErrorCode::kInvalidArgument, "{}: {} values do not fill {} blocks", name, size,
                  backend::traits(tensor.type).name);
    }
    std::vector<float> values(size);
    backend::dequantize_row(tensor.type, tensor.bytes.data(), size, values.data());
    done(tensor);
    return values;
  }

  // The named matrices, one below the other.
  Result<std::unique_ptr<backend::Weight>> matrix(const std::vector<std::string>& names,
                                                  const std::vector<std::size_t>& rows, std::size_t columns) {
    std::vector<StoredTensor> tensors;
    std::vector<RowSegment> segments;
    std::vector<std::vector<std::byte>> reordered;  // keeps the copies of permuted matrices
    for (std::size_t i = 0; i < names.size(); ++i) {
      SLUICE_TRY(StoredTensor tensor, checkpoint_.take(names[i], {rows[i], columns}));
      if (columns % 32 != 0 || columns % backend::traits(tensor.type).block_elements != 0) {
        return fail(ErrorCode::kUnimplemented, "{}: {} columns; a multiple of 32 is needed", names[i],
                    columns);
      }
      RowSegment segment{tensor.bytes, tensor.type, rows[i], {}};
      const bool is_q_or_k =
          names[i].find("q_proj") != std::string::npos || names[i].find("k_proj") != std::string::npos;
      if (config_.gguf_permuted_qk && is_q_or_k) {
        reordered.push_back(split_pairs(tensor, columns));
        segment.values = reordered.back();
      }
      segments.push_back(segment);
      tensors.push_back(std::move(tensor));
    }
    auto weight = backend_.prepare(segments, columns);
    for (const StoredTensor& tensor : tensors) done(tensor);
    if (is_stopped_) return fail(ErrorCode::kCancelled, "loading was stopped");
    return weight;
  }

  // GGUF's llama stores the two rows of a rotary pair next to each other; halves layout wants them half a
  // head apart.
  std::vector<std::byte> split_pairs(const StoredTensor& tensor, std::size_t columns) const {
    const std::size_t stride = backend::row_bytes(tensor.type, columns);
    const std::size_t half = config_.head_dim / 2;
    std::vector<std::byte> rows(tensor.bytes.size());
    for (std::size_t row = 0; row < tensor.shape[0]; ++row) {
      const std::size_t head = row / config_.head_dim;
      const std::size_t within = row % config_.head_dim;  // of the result
      const std::size_t from = head * config_.head_dim + (within % half) * 2 + within / half;
      std::memcpy(rows.data() + row * stride, tensor.bytes.data() + from * stride, stride);
    }
    return rows;
  }

  void done(const StoredTensor& tensor) {
    checkpoint_.discard(tensor);
    done_ += tensor.bytes.size();
    if (progress_ && !progress_(done_, total_)) is_stopped_ = true;
  }

  weights::Checkpoint& checkpoint_;
  const ModelConfig& config_;
  backend::Backend& backend_;
  const LoadProgress& progress_;
  std::uint64_t done_ = 0;
  std::uint64_t total_ = 0;
  bool is_stopped_ = false;
};

}  // namespace

Result<ModelWeights> load_weights(weights::Checkpoint& checkpoint, const ModelConfig& config,
                                  backend::Backend& backend, const LoadProgress& progress) {
  return Loader(checkpoint, config, backend, progress).load();
}

}  // namespace sluice::model
