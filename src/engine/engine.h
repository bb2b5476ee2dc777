// The step loop of one model: one thread that drains its inbox, plans, executes, applies and publishes. It
// takes no lock but the inbox's and waits for nothing but work (docs/adr/0003).
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "engine/executor.h"
#include "engine/generation.h"
#include "engine/scheduler.h"

namespace sluice::engine {

struct EngineOptions {
  SchedulerOptions scheduler;
  std::size_t kv_blocks = 0;
  std::size_t queue_max = 1024;  // requests submitted and not yet running; beyond: kResourceExhausted
  std::size_t vocabulary = 0;
  std::string model_digest;  // part of every block's hash
};

struct EngineStats {
  std::size_t running = 0;
  std::size_t waiting = 0;
  double kv_usage = 0;  // 0 to 1
  std::uint64_t prompt_tokens = 0;
  std::uint64_t cached_prompt_tokens = 0;
  std::uint64_t generated_tokens = 0;
  std::uint64_t preemptions = 0;
  std::uint64_t steps = 0;
  bool healthy = true;
};

class Engine {
 public:
  Engine(EngineOptions options, std::unique_ptr<Executor> executor);
  ~Engine();  // stop()
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Any thread. Errors: kInvalidArgument (can never fit), kResourceExhausted (queue full), kUnavailable
  // (unhealthy).
  Status submit(GenerationRequest request);
  // Fails what runs and waits, and joins the thread: no sink is called after this. From one thread; again:
  // nothing.
  void stop();
  // Any thread; dropped at the next step's start. Unknown ids are ignored.
  void abort(SequenceId id);
  EngineStats stats() const;
  // False once a step failed, or when work made no progress for `limit` (field report F065).
  bool healthy(std::chrono::steady_clock::duration limit = std::chrono::seconds(30)) const;
  const EngineOptions& options() const { return options_; }

 private:
  struct Inbox {
    std::vector<GenerationRequest> requests;
    std::vector<SequenceId> aborts;
    bool stop = false;
  };
  void run();
  bool drain();  // false: stop
  void step();
  void finish(SequenceId id, TokenEvent event);
  void drop_expired();
  void publish(const StepPlan& plan, const model::StepOutput& output);
  void deliver(Sequence& sequence, sampling::SampledToken token);
  void fail_all(const std::string& reason);
  void update_stats();

  const EngineOptions options_;
  std::unique_ptr<Executor> executor_;
  kvcache::KVCacheManager cache_;
  Scheduler scheduler_;

  mutable std::mutex mutex_;  // guards inbox_ and stats_
  std::condition_variable bell_;
  Inbox inbox_;
  EngineStats stats_;
  std::chrono::steady_clock::time_point last_progress_;
  EngineStats counters_;  // engine thread only
  std::thread thread_;
};

}  // namespace sluice::engine
