#include "base/compute_pool.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace sluice {
namespace {

// Long enough to bridge the gap between two operators of one step, short enough to idle at no cost.
constexpr auto kSpinTime = std::chrono::microseconds(50);

void pause_cpu() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

struct ComputePool::State {
  std::vector<std::thread> workers;
  std::mutex callers;  // one run() at a time
  std::mutex mutex;    // guards parking
  std::condition_variable wake;
  std::atomic<std::uint64_t> generation{0};  // a new job was published
  std::atomic<std::size_t> next{0};
  std::atomic<std::size_t> working{0};  // workers that have not finished the current job
  std::atomic<bool> stopping{false};
  std::size_t count = 0;
  const std::function<void(std::size_t, std::size_t)>* task = nullptr;

  void take_all(std::size_t thread) {
    for (std::size_t i = next.fetch_add(1, std::memory_order_relaxed); i < count;
         i = next.fetch_add(1, std::memory_order_relaxed)) {
      (*task)(i, thread);
    }
  }

  // Returns the new generation, or the old one when stopping.
  std::uint64_t wait_for_job(std::uint64_t seen) {
    const auto deadline = std::chrono::steady_clock::now() + kSpinTime;
    while (std::chrono::steady_clock::now() < deadline) {
      for (int i = 0; i < 32; ++i) {
        if (generation.load(std::memory_order_acquire) != seen || stopping.load(std::memory_order_acquire)) {
          return generation.load(std::memory_order_acquire);
        }
        pause_cpu();
      }
    }
    std::unique_lock lock(mutex);
    wake.wait(lock, [&] { return generation.load() != seen || stopping.load(); });
    return generation.load();
  }

  void work(std::size_t thread) {
    std::uint64_t seen = 0;
    while (true) {
      const std::uint64_t current = wait_for_job(seen);
      if (current == seen) return;
      seen = current;
      take_all(thread);
      working.fetch_sub(1, std::memory_order_release);
    }
  }
};

ComputePool::ComputePool(std::size_t threads) : state_(std::make_unique<State>()) {
  if (threads == 0) threads = std::max(1U, std::thread::hardware_concurrency());
  for (std::size_t thread = 1; thread < threads; ++thread) {
    state_->workers.emplace_back([state = state_.get(), thread] { state->work(thread); });
  }
}

ComputePool::~ComputePool() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->stopping.store(true);
  }
  state_->wake.notify_all();
  for (std::thread& worker : state_->workers) worker.join();
}

std::size_t ComputePool::threads() const { return state_->workers.size() + 1; }

void ComputePool::run(std::size_t count, const std::function<void(std::size_t, std::size_t)>& task) {
  const std::lock_guard turn(state_->callers);
  if (count <= 1 || state_->workers.empty()) {
    for (std::size_t i = 0; i < count; ++i) task(i, 0);
    return;
  }
  state_->count = count;
  state_->task = &task;
  state_->next.store(0, std::memory_order_relaxed);
  state_->working.store(state_->workers.size(), std::memory_order_relaxed);
  {
    const std::lock_guard lock(state_->mutex);
    state_->generation.fetch_add(1, std::memory_order_release);
  }
  state_->wake.notify_all();
  state_->take_all(0);
  // Every worker must have seen this job before its fields may change.
  while (state_->working.load(std::memory_order_acquire) != 0) pause_cpu();
}

}  // namespace sluice
