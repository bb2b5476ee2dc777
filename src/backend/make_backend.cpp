// Chooses a back end by name.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <mutex>
#include <stdexcept>

#include "backend/backend.h"
#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/kernels/select.h"
#include "backend/reference/reference_backend.h"
#include "base/compute_pool.h"

namespace sluice::backend {
namespace {

// All CPU back ends of the process share one pool, whatever number of models is loaded: two pools would fight
// for the same cores. The first caller sizes it; it lives as long as a back end uses it.
std::shared_ptr<ComputePool> shared_pool(std::size_t threads) {
  static std::mutex mutex;
  static std::weak_ptr<ComputePool> shared;
  const std::lock_guard lock(mutex);
  auto pool = shared.lock();
  if (pool == nullptr) {
    pool = std::make_shared<ComputePool>(threads);
    shared = pool;
  }
  if (threads != 0 && threads != pool->threads()) {
    throw std::invalid_argument(fmt::format(
        "{} compute threads asked for, but this process already computes with {}: one pool serves "
        "all models; ask for the same number, or 0",
        threads, pool->threads()));
  }
  return pool;
}

}  // namespace

std::vector<std::string> backend_names() {
  std::vector<std::string> names = {"auto"};
  for (const cpu::KernelTable* table : cpu::available_tables()) names.emplace_back(table->name);
  names.emplace_back("reference");
  return names;
}

std::unique_ptr<Backend> make_backend(std::string_view name, std::size_t threads) {
  const std::vector<std::string> names = backend_names();
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    throw std::invalid_argument(
        fmt::format("back end \"{}\" is not available here; this host has {}", name, fmt::join(names, ", ")));
  }
  if (name == "reference") return std::make_unique<reference::ReferenceBackend>();
  return std::make_unique<cpu::CpuBackend>(cpu::select_table(name), shared_pool(threads));
}

}  // namespace sluice::backend
