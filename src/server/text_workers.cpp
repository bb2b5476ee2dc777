#include "server/text_workers.h"

namespace sluice::server {

TextWorkers::TextWorkers(std::size_t threads) {
  for (std::size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { run(); });
}

TextWorkers::~TextWorkers() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  bell_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void TextWorkers::post(std::function<void()> job) {
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(job));
  }
  bell_.notify_one();
}

void TextWorkers::run() {
  while (true) {
    std::function<void()> job;
    {
      std::unique_lock lock(mutex_);
      bell_.wait(lock, [this] { return stopping_ || !jobs_.empty(); });
      if (jobs_.empty()) return;
      job = std::move(jobs_.front());
      jobs_.pop_front();
    }
    job();
  }
}

}  // namespace sluice::server
