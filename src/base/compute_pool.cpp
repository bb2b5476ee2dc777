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

// A job is open while its indices are handed out. A worker joins an open job or lets it be, and run() waits
// only for those that joined: a worker whose core was taken away, and who wakes late, holds nobody up.
struct ComputePool::State {
  static constexpr std::uint64_t kOpen = 1;    // bit 0 of `gate`
  static constexpr std::uint64_t kJoined = 2;  // one joined worker; the generation stands above
  static constexpr int kGenerationShift = 32;

  std::vector<std::thread> workers;
  std::mutex callers;  // one run() at a time
  std::mutex mutex;    // guards parking
  std::condition_variable wake;
  std::atomic<std::uint64_t> gate{0};  // generation, joined workers, open
  std::atomic<std::size_t> next{0};
  std::atomic<bool> stopping{false};
  std::size_t count = 0;
  const std::function<void(std::size_t, std::size_t)>* task = nullptr;

  static std::uint64_t generation_of(std::uint64_t gate) { return gate >> kGenerationShift; }

  void take_all(std::size_t thread) {
    for (std::size_t i = next.fetch_add(1, std::memory_order_relaxed); i < count;
         i = next.fetch_add(1, std::memory_order_relaxed)) {
      (*task)(i, thread);
    }
  }

  bool has_news(std::uint64_t seen) const {
    return generation_of(gate.load(std::memory_order_acquire)) != seen ||
           stopping.load(std::memory_order_acquire);
  }

  void wait_for_job(std::uint64_t seen) {
    const auto deadline = std::chrono::steady_clock::now() + kSpinTime;
    while (std::chrono::steady_clock::now() < deadline) {
      for (int i = 0; i < 32; ++i) {
        if (has_news(seen)) return;
        pause_cpu();
      }
    }
    std::unique_lock lock(mutex);
    wake.wait(lock, [&] { return has_news(seen); });
  }

  // True when this worker may use the fields of the job that is open now.
  bool join(std::uint64_t& seen) {
    std::uint64_t current = gate.load(std::memory_order_acquire);
    do {
      seen = generation_of(current);
      if ((current & kOpen) == 0) return false;
    } while (!gate.compare_exchange_weak(current, current + kJoined, std::memory_order_acq_rel));
    return true;
  }

  void work(std::size_t thread) {
    std::uint64_t seen = 0;
    while (true) {
      wait_for_job(seen);
      if (stopping.load(std::memory_order_acquire)) return;
      if (!join(seen)) continue;
      take_all(thread);
      gate.fetch_sub(kJoined, std::memory_order_release);
    }
  }

  void open() {
    const std::uint64_t generation = generation_of(gate.load(std::memory_order_relaxed)) + 1;
    {
      const std::lock_guard lock(mutex);
      gate.store(generation << kGenerationShift | kOpen, std::memory_order_release);
    }
    wake.notify_all();
  }

  void close() {
    gate.fetch_and(~kOpen, std::memory_order_acq_rel);
    while ((gate.load(std::memory_order_acquire) & ((std::uint64_t{1} << kGenerationShift) - 1)) != 0)
      pause_cpu();
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
  state_->open();
  state_->take_all(0);
  state_->close();
}

}  // namespace sluice
