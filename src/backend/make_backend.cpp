// Chooses a back end by name.
#include <mutex>
#include <stdexcept>

#include "backend/backend.h"
#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/kernels/select.h"
#include "backend/reference/reference_backend.h"
#include "base/compute_pool.h"
#include "base/log.h"

namespace sluice::backend {
namespace {

// All CPU back ends of the process share one pool, whatever number of models is loaded: while it lives, the
// caller that made it has sized it.
std::shared_ptr<ComputePool> shared_pool(std::size_t threads) {
  static std::mutex mutex;
  static std::weak_ptr<ComputePool> shared;
  const std::lock_guard lock(mutex);
  auto pool = shared.lock();
  if (pool == nullptr) {
    pool = std::make_shared<ComputePool>(threads);
    shared = pool;
  } else if (threads != 0 && threads != pool->threads()) {
    log::warning("{} compute threads asked for: the process has {} already", threads, pool->threads());
  }
  return pool;
}

}  // namespace

std::unique_ptr<Backend> make_backend(std::string_view name, std::size_t threads) {
  if (name == "reference") return std::make_unique<ReferenceBackend>();
  return std::make_unique<cpu::CpuBackend>(cpu::select_table(name), shared_pool(threads));
}

}  // namespace sluice::backend
