#include "model/model_runner.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace sluice::model {
namespace {

// Rows whose logits are held at once: 64 x 151,936 floats are 39 MB.
constexpr std::size_t kHeadRows = 64;

}  // namespace

ModelRunner::ModelRunner(std::shared_ptr<backend::Backend> backend, ModelConfig config, ModelWeights weights,
                         const backend::KVShape& kv, std::size_t tokens_max)
    : backend_(std::move(backend)),
      config_(std::move(config)),
      weights_(std::move(weights)),
      cache_(backend_->allocate_kv(kv)),
      activations_(*backend_, config_, tokens_max),
      head_memory_(backend_->allocate(kHeadRows * (config_.hidden + config_.vocabulary))) {}

std::uint64_t ModelRunner::activation_bytes(const ModelConfig& config, std::size_t tokens_max) {
  const std::uint64_t head = kHeadRows * (std::uint64_t{config.hidden} + config.vocabulary);
  return sizeof(float) * (std::uint64_t{Activations::floats_per_token(config)} * tokens_max + head);
}

backend::Tensor ModelRunner::run_layers(const StepInput& input) {
  SLUICE_CHECK(input.token_ids.size() <= activations_.residual.rows, "step is larger than tokens_max");
  ForwardBatch batch{input.token_ids, input.positions, input.slots, {}};
  batch.attention.query_starts = input.query_starts;
  batch.attention.context_lengths = input.context_lengths;
  batch.attention.block_tables = input.block_tables;
  batch.attention.blocks_per_sequence_max = static_cast<std::size_t>(input.blocks_per_sequence_max);
  return forward(*backend_, config_, weights_, activations_, *cache_, batch);
}

backend::Tensor ModelRunner::head(const StepInput& input, backend::Tensor hidden, std::size_t first,
                                  std::size_t count) {
  const backend::Tensor rows{head_memory_->data(), count, config_.hidden, config_.hidden};
  const backend::Tensor out{head_memory_->data() + kHeadRows * config_.hidden, count, config_.vocabulary,
                            config_.vocabulary};
  backend_->gather_rows(rows, hidden, std::span(input.logit_rows).subspan(first, count));
  backend_->linear(out, *weights_.head, rows);
  return out;
}

StepOutput ModelRunner::execute(const StepInput& input) {
  const backend::Tensor hidden = run_layers(input);
  StepOutput output;
  output.tokens.resize(input.logit_rows.size());
  for (std::size_t first = 0; first < input.logit_rows.size(); first += kHeadRows) {
    const std::size_t count = std::min(kHeadRows, input.logit_rows.size() - first);
    const backend::Tensor rows = head(input, hidden, first, count);
    backend_->parallel_for(count, [&](std::size_t i) {
      const StepInput::SampleRow& wanted = input.samples[first + i];
      const sampling::SamplingRow row{&wanted.params,  wanted.prompt,  wanted.output,
                                      wanted.position, wanted.allowed, wanted.end_ids};
      output.tokens[first + i] = sampling::sample_row({rows.row(i), config_.vocabulary}, row);
    });
  }
  return output;
}

std::vector<float> ModelRunner::logits(const StepInput& input) {
  const backend::Tensor hidden = run_layers(input);
  std::vector<float> all(input.logit_rows.size() * config_.vocabulary);
  for (std::size_t first = 0; first < input.logit_rows.size(); first += kHeadRows) {
    const std::size_t count = std::min(kHeadRows, input.logit_rows.size() - first);
    const backend::Tensor rows = head(input, hidden, first, count);
    std::memcpy(all.data() + first * config_.vocabulary, rows.data,
                count * config_.vocabulary * sizeof(float));
  }
  return all;
}

}  // namespace sluice::model
