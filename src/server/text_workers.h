// A few threads that turn tokens into text, so the engine thread never does. Bounded by what the engine
// produces.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace sluice::server {

class TextWorkers {
 public:
  explicit TextWorkers(std::size_t threads);
  ~TextWorkers();  // finishes what was posted
  TextWorkers(const TextWorkers&) = delete;
  TextWorkers& operator=(const TextWorkers&) = delete;
  void post(std::function<void()> job);

 private:
  void run();
  std::mutex mutex_;
  std::condition_variable bell_;
  std::deque<std::function<void()>> jobs_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace sluice::server
