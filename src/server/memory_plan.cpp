#include "server/memory_plan.h"

#include <algorithm>
#include <fstream>

#include "model/model_runner.h"

namespace sluice::server {
namespace {

constexpr std::uint64_t kKvBytesMax = std::uint64_t{4} << 30;

std::uint64_t meminfo_available() {
  std::ifstream file("/proc/meminfo");
  std::string key;
  for (std::uint64_t kib = 0; file >> key >> kib; file.ignore(64, '\n'))
    if (key == "MemAvailable:") return kib << 10;
  return 0;
}

// A number of a control-group file; `otherwise` when there is none ("max", no such file).
std::uint64_t group_number(const char* file, std::uint64_t otherwise) {
  std::uint64_t value = 0;
  return std::ifstream(file) >> value ? value : otherwise;
}

// A container's limit: its files stand at the root of what it sees.
std::uint64_t group_available() {
  const std::uint64_t limit = group_number("/sys/fs/cgroup/memory.max", UINT64_MAX);
  if (limit == UINT64_MAX) return UINT64_MAX;
  const std::uint64_t used = group_number("/sys/fs/cgroup/memory.current", 0);
  return limit > used ? limit - used : 0;
}

double gib(std::uint64_t bytes) { return static_cast<double>(bytes) / static_cast<double>(1 << 30); }

}  // namespace

std::uint64_t available_bytes() { return std::min(meminfo_available(), group_available()); }

std::string MemoryPlan::text() const {
  return fmt::format(
      "weights {:.2f} GiB + KV cache {:.2f} GiB ({} tokens) + activations {:.2f} GiB = {:.2f} GiB of {:.2f} "
      "GiB "
      "available",
      gib(weights), gib(kv), kv_blocks * backend::kBlockTokens, gib(activations),
      gib(weights + kv + activations), gib(available));
}

Result<MemoryPlan> plan_memory(std::uint64_t weight_bytes, std::uint64_t available,
                               const LoadOptions& options, const model::ModelConfig& config,
                               std::size_t context) {
  MemoryPlan plan;
  plan.available = available;
  plan.weights = weight_bytes;
  plan.activations = model::ModelRunner::activation_bytes(config, options.step_tokens_max);
  const std::uint64_t block =
      backend::KVShape{config.layers, 1, config.kv_heads, config.head_dim, options.kv_format}.block_bytes();
  const std::uint64_t fixed = plan.weights + plan.activations;
  const std::uint64_t left = available > fixed ? available - fixed : 0;
  std::uint64_t kv = options.kv_cache_bytes != 0 ? options.kv_cache_bytes : std::min(left / 4, kKvBytesMax);
  if (options.kv_blocks != 0) kv = options.kv_blocks * block;
  // More than every running sequence at full length can use is waste.
  const std::uint64_t context_blocks = (context + backend::kBlockTokens - 1) / backend::kBlockTokens;
  plan.kv_blocks = static_cast<std::size_t>(std::min(kv / block, context_blocks * options.sequences_max));
  plan.kv = plan.kv_blocks * block;
  // Packing needs some of the source's pages beside the packed rows.
  if (fixed + plan.weights / 10 + plan.kv > available) {
    return fail(ErrorCode::kResourceExhausted,
                "the model does not fit: {}; use a smaller quantisation, a smaller --kv-cache-bytes or "
                "--max-num-batched-tokens, or free memory",
                plan.text());
  }
  if (plan.kv_blocks < 2) {
    return fail(ErrorCode::kResourceExhausted,
                "the KV cache holds no block of {} bytes: {}; give it more with "
                "--kv-cache-bytes",
                block, plan.text());
  }
  return plan;
}

}  // namespace sluice::server
