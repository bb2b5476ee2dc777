// The process-wide pool of compute threads, shared by all models. Threads spin briefly between tasks and then
// park: pure spinning collapses when a core is taken away (docs/adr/0014).
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace sluice {

class ComputePool {
 public:
  // `threads` in total, the caller of run() included; 0 = all cores.
  explicit ComputePool(std::size_t threads);
  ~ComputePool();
  ComputePool(const ComputePool&) = delete;
  ComputePool& operator=(const ComputePool&) = delete;

  std::size_t threads() const;

  // Calls task(i, thread) for every i in [0, count), thread in [0, threads()), on all threads, taking indices
  // one by one (dynamic: a thread that lost its core costs one index, not its share). Returns when all are
  // done. Concurrent callers take turns. Tasks must not throw and must not call run().
  void run(std::size_t count, const std::function<void(std::size_t index, std::size_t thread)>& task);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sluice
