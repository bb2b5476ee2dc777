#include "base/compute_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace sluice {
namespace {

TEST(ComputePool, RunsEveryIndexOnce) {
  for (const std::size_t threads : {1, 2, 5}) {
    ComputePool pool(threads);
    for (int round = 0; round < 200; ++round) {
      std::vector<std::atomic<int>> hits(1 + round % 70);
      pool.run(hits.size(), [&](std::size_t i, std::size_t thread) {
        EXPECT_LT(thread, pool.threads());
        hits[i].fetch_add(1);
      });
      for (const auto& hit : hits) EXPECT_EQ(hit.load(), 1);
    }
  }
}

TEST(ComputePool, ConcurrentCallersTakeTurnsAndParkedThreadsWake) {
  ComputePool pool(3);
  std::atomic<int> total{0};
  std::vector<std::thread> callers;
  for (int c = 0; c < 4; ++c) {
    callers.emplace_back([&] {
      for (int round = 0; round < 20; ++round) {
        pool.run(10, [&](std::size_t, std::size_t) { total.fetch_add(1); });
        if (round % 5 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(total.load(), 4 * 20 * 10);
}

}  // namespace
}  // namespace sluice
