#include "server/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <mutex>

namespace sluice::server {
namespace {

using prometheus::Histogram;
using Labels = prometheus::Labels;

const Histogram::BucketBoundaries kFirstTokenBuckets = {0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1,
                                                        0.25,  0.5,   0.75, 1,    2.5,  5,    7.5,  10,
                                                        20,    40,    80,   160,  640,  2560};
const Histogram::BucketBoundaries kRequestBuckets = {0.3, 0.5, 0.8, 1,  1.5, 2,   2.5, 5,   10,   15,  20,
                                                     30,  40,  50,  60, 120, 240, 480, 960, 1920, 7680};

double seconds(std::chrono::nanoseconds time) { return std::chrono::duration<double>(time).count(); }

// vLLM numbers its engines; each model has one here.
Labels labels_of(const std::string& model) { return {{"model_name", model}, {"engine", "0"}}; }

// A counter whose total is known elsewhere.
void raise_to(prometheus::Counter& counter, double total) {
  if (total > counter.Value()) counter.Increment(total - counter.Value());
}

template <typename Builder>
auto& make(prometheus::Registry& registry, Builder builder, const char* name, const char* help) {
  return builder.Name(name).Help(help).Register(registry);
}

}  // namespace

struct Metrics::Families {
  prometheus::Registry registry;
  std::mutex rendering;  // one scrape at a time, so a counter is raised once
  prometheus::Family<prometheus::Gauge>& running =
      make(registry, prometheus::BuildGauge(), "vllm:num_requests_running", "Requests in execution.");
  prometheus::Family<prometheus::Gauge>& waiting = make(
      registry, prometheus::BuildGauge(), "vllm:num_requests_waiting", "Requests waiting to be processed.");
  prometheus::Family<prometheus::Gauge>& kv_usage =
      make(registry, prometheus::BuildGauge(), "vllm:kv_cache_usage_perc", "KV-cache usage; 1 means full.");
  prometheus::Family<prometheus::Counter>& preemptions =
      make(registry, prometheus::BuildCounter(), "vllm:num_preemptions_total", "Preempted sequences.");
  prometheus::Family<prometheus::Counter>& prompt_tokens =
      make(registry, prometheus::BuildCounter(), "vllm:prompt_tokens_total", "Prompt tokens received.");
  prometheus::Family<prometheus::Counter>& generated =
      make(registry, prometheus::BuildCounter(), "vllm:generation_tokens_total", "Generated tokens.");
  prometheus::Family<prometheus::Counter>& cached =
      make(registry, prometheus::BuildCounter(), "vllm:prefix_cache_hits_total",
           "Prompt tokens found in the prefix cache.");
  prometheus::Family<prometheus::Counter>& queried =
      make(registry, prometheus::BuildCounter(), "vllm:prefix_cache_queries_total",
           "Prompt tokens looked up in the prefix cache.");
  prometheus::Family<prometheus::Counter>& success = make(
      registry, prometheus::BuildCounter(), "vllm:request_success_total", "Finished requests by reason.");
  prometheus::Family<Histogram>& first_token = make(
      registry, prometheus::BuildHistogram(), "vllm:time_to_first_token_seconds", "Arrival to first token.");
  prometheus::Family<Histogram>& request_time =
      make(registry, prometheus::BuildHistogram(), "vllm:e2e_request_latency_seconds",
           "Arrival to end of the answer.");
};

Metrics::Metrics() : families_(std::make_unique<Families>()) {}
Metrics::~Metrics() = default;

void Metrics::count(const std::string& model, const char* reason) {
  Labels labels = labels_of(model);
  labels.emplace("finished_reason", reason);
  families_->success.Add(labels).Increment();
}

void Metrics::finished(const std::string& model, const char* reason, const api::Usage& usage) {
  count(model, reason);
  families_->request_time.Add(labels_of(model), kRequestBuckets).Observe(seconds(usage.total_time));
}

void Metrics::failed(const std::string& model) { count(model, "abort"); }

void Metrics::first_token(const std::string& model, std::chrono::nanoseconds since_arrival) {
  families_->first_token.Add(labels_of(model), kFirstTokenBuckets).Observe(seconds(since_arrival));
}

std::string Metrics::render(const ModelManager& manager) {
  const std::lock_guard lock(families_->rendering);
  for (const ModelStats& model : manager.statistics()) {
    const engine::EngineStats& stats = model.stats;
    const Labels labels = labels_of(model.name);
    families_->running.Add(labels).Set(static_cast<double>(stats.running));
    families_->waiting.Add(labels).Set(static_cast<double>(stats.waiting));
    families_->kv_usage.Add(labels).Set(stats.kv_usage);
    raise_to(families_->preemptions.Add(labels), static_cast<double>(stats.preemptions));
    raise_to(families_->prompt_tokens.Add(labels), static_cast<double>(stats.prompt_tokens));
    raise_to(families_->generated.Add(labels), static_cast<double>(stats.generated_tokens));
    raise_to(families_->queried.Add(labels), static_cast<double>(stats.prompt_tokens));
    raise_to(families_->cached.Add(labels), static_cast<double>(stats.cached_prompt_tokens));
  }
  return prometheus::TextSerializer().Serialize(families_->registry.Collect());
}

}  // namespace sluice::server
