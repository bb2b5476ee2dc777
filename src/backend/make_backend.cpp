// Chooses a back end by name.
#include <mutex>
#include <stdexcept>

#include "backend/backend.h"
#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/kernels/select.h"
#include "base/compute_pool.h"

namespace sluice::backend {
namespace {

// All CPU back ends of the process share one pool, whatever number of models is loaded; the first caller
// sizes it.
std::shared_ptr<ComputePool> shared_pool(std::size_t threads) {
  static std::mutex mutex;
  static std::weak_ptr<ComputePool> shared;
  const std::lock_guard lock(mutex);
  auto pool = shared.lock();
  if (pool == nullptr || (threads != 0 && pool->threads() != threads)) {
    pool = std::make_shared<ComputePool>(threads);
    shared = pool;
  }
  return pool;
}

}  // namespace

std::unique_ptr<Backend> make_backend(std::string_view name, std::size_t threads) {
  return std::make_unique<cpu::CpuBackend>(cpu::select_table(name), shared_pool(threads));
}

}  // namespace sluice::backend
