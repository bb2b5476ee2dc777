// `sluice bench`: the offline engine on a model file. Prefill and decode of equal sequences, one JSON line.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <future>
#include <stdexcept>

#include "apps/commands.h"
#include "apps/options.h"
#include "backend/backend.h"
#include "engine/engine.h"
#include "engine/local_executor.h"
#include "model/loader.h"

namespace sluice::apps {
namespace {

using Clock = std::chrono::steady_clock;

struct BenchOptions {
  std::string model;
  std::string backend = "auto";
  std::size_t threads = 0;
  std::size_t prompt_tokens = 256;
  std::size_t output_tokens = 64;
  std::size_t streams = 1;
};

template <typename T>
T value_or_throw(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  return std::move(*result);
}

// Notes when a sequence's first and last tokens came.
class TimingSink : public engine::TokenSink {
 public:
  void deliver(engine::TokenEvent event) override {
    if (tokens_ == 0) first = Clock::now();
    tokens_ += event.tokens.size();
    if (!event.finish) return;
    last = Clock::now();
    if (event.error) error = event.error->message;
    done.set_value();
  }
  Clock::time_point first, last;
  std::string error;
  std::promise<void> done;

 private:
  std::size_t tokens_ = 0;
};

double seconds(Clock::duration duration) { return std::chrono::duration<double>(duration).count(); }

struct Loaded {
  std::unique_ptr<model::ModelRunner> runner;
  std::size_t weight_bytes = 0;
  std::string table;
};

Loaded load(const BenchOptions& options, std::size_t kv_blocks, std::size_t step_tokens) {
  auto checkpoint = value_or_throw(weights::Checkpoint::open(options.model));
  auto config = value_or_throw(model::read_config(checkpoint));
  std::shared_ptr<backend::Backend> backend = backend::make_backend(options.backend, options.threads);
  auto weights = value_or_throw(model::load_weights(checkpoint, config, *backend, loading_progress));
  const backend::KVShape kv{config.layers, kv_blocks, config.kv_heads, config.head_dim,
                            backend::KVFormat::kBF16};
  Loaded loaded;
  loaded.weight_bytes = weights.bytes;
  loaded.table = backend->name();
  loaded.runner =
      std::make_unique<model::ModelRunner>(backend, std::move(config), std::move(weights), kv, step_tokens);
  return loaded;
}

std::shared_ptr<TimingSink> submit(engine::Engine& engine, const BenchOptions& options, std::size_t stream,
                                   std::size_t output_tokens) {
  engine::GenerationRequest request;
  request.id = SequenceId{stream + 1};
  const auto vocabulary = static_cast<TokenId>(engine.options().vocabulary);
  for (std::size_t i = 0; i < options.prompt_tokens; ++i) {
    request.prompt.push_back(
        static_cast<TokenId>((i * 7919 + stream * 104729 + 100) % static_cast<std::size_t>(vocabulary)));
  }
  request.max_tokens = static_cast<std::int32_t>(output_tokens);
  request.sampling.temperature = 0;
  request.use_prefix_cache = false;
  auto sink = std::make_shared<TimingSink>();
  request.sink = sink;
  if (const auto submitted = engine.submit(std::move(request)); !submitted)
    throw std::runtime_error(submitted.error().message);
  return sink;
}

void run_bench(const BenchOptions& options) {
  const std::size_t sequence_tokens = options.prompt_tokens + options.output_tokens + 1;
  engine::EngineOptions engine_options;
  engine_options.scheduler.step_tokens_max = 512;
  engine_options.scheduler.sequences_max = options.streams;
  engine_options.scheduler.context_tokens_max = sequence_tokens;
  engine_options.kv_blocks = options.streams * (sequence_tokens / backend::kBlockTokens + 2);
  Loaded loaded = load(options, engine_options.kv_blocks, engine_options.scheduler.step_tokens_max);
  engine_options.vocabulary = loaded.runner->config().vocabulary;
  engine::Engine engine(engine_options, std::make_unique<engine::LocalExecutor>(std::move(loaded.runner)));
  submit(engine, options, options.streams, 2)->done.get_future().wait();  // touches all memory once

  const auto start = Clock::now();
  std::vector<std::shared_ptr<TimingSink>> sinks;
  for (std::size_t i = 0; i < options.streams; ++i)
    sinks.push_back(submit(engine, options, i, options.output_tokens));
  Clock::time_point first = start;
  Clock::time_point last = start;
  for (const auto& sink : sinks) {
    sink->done.get_future().wait();
    if (!sink->error.empty()) throw std::runtime_error(sink->error);
    first = std::max(first, sink->first);
    last = std::max(last, sink->last);
  }
  const double prefill =
      static_cast<double>(options.streams * options.prompt_tokens) / seconds(first - start);
  const double steps = static_cast<double>(options.output_tokens - 1) / seconds(last - first);
  std::printf(
      "{\"backend\":\"%s\",\"streams\":%zu,\"prompt_tokens\":%zu,\"output_tokens\":%zu,"
      "\"prefill_tokens_per_second\":%.2f,\"decode_tokens_per_second\":%.2f,\"decode_gigabytes_per_second\":%"
      ".2f}\n",
      loaded.table.c_str(), options.streams, options.prompt_tokens, options.output_tokens, prefill,
      steps * static_cast<double>(options.streams), steps * static_cast<double>(loaded.weight_bytes) / 1e9);
}

}  // namespace

void add_bench(CLI::App& app) {
  auto options = std::make_shared<BenchOptions>();
  CLI::App* bench =
      app.add_subcommand("bench", "measure the offline engine: prefill and decode speed of a model file");
  bench->add_option("model", options->model, "GGUF file or Hugging Face folder")
      ->required()
      ->check(CLI::ExistingPath);
  bench->add_option("--backend", options->backend, "kernels to compute with")
      ->capture_default_str()
      ->check(CLI::IsMember(backend::backend_names()));
  bench->add_option("--threads", options->threads, "compute threads, 0: all cores")
      ->check(CLI::Range(0, 256));
  bench->add_option("--prompt-tokens", options->prompt_tokens, "tokens of each prompt")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000000));
  bench->add_option("--output-tokens", options->output_tokens, "tokens to generate")
      ->capture_default_str()
      ->check(CLI::Range(2, 1000000));
  bench->add_option("--streams", options->streams, "sequences at once")
      ->capture_default_str()
      ->check(CLI::Range(1, 1024));
  bench->callback([options] { run_bench(*options); });
}

}  // namespace sluice::apps
