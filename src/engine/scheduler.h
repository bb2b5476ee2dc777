// Decides who gets how many tokens of a step. There is no prefill and no decode phase: each sequence lets
// `computed` catch up with its known tokens, so chunked prefill, prefix hits and recompute after preemption
// are the same arithmetic. Source: vLLM v1's scheduler. Contract: docs/design/scheduler.md. One thread.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "engine/sequence.h"
#include "kvcache/kv_cache_manager.h"

namespace sluice::engine {

struct SchedulerOptions {
  std::size_t step_tokens_max = 512;  // budget of a step
  std::size_t sequences_max = 64;     // running at once
  std::size_t context_tokens_max = 4096;
};

// `tokens` tokens of a sequence from `computed` on.
struct PlannedSequence {
  Sequence* sequence = nullptr;
  std::size_t tokens = 0;
  bool samples() const { return sequence->computed + tokens == sequence->tokens.size(); }
};

struct StepPlan {
  std::vector<PlannedSequence> sequences;
  std::size_t tokens = 0;
};

class Scheduler {
 public:
  Scheduler(SchedulerOptions options, kvcache::KVCacheManager& cache);

  // Errors: kInvalidArgument when prompt and one token can never fit context or pool (field report F037).
  Status admissible(const GenerationRequest& request) const;
  void add(std::unique_ptr<Sequence> sequence);
  // Removes a waiting or running sequence and gives back its blocks; null when unknown.
  std::unique_ptr<Sequence> remove(SequenceId id);

  // The next step; every planned token has room. Empty only when nothing can run.
  StepPlan plan();
  // After the step: `computed` advances and full blocks are published.
  void apply(const StepPlan& plan);

  std::size_t waiting() const { return waiting_.size(); }
  std::size_t running() const { return running_.size(); }
  std::uint64_t preemptions() const { return preemptions_; }
  // Most tokens a sequence may ever have here.
  std::size_t sequence_tokens_max() const;
  template <typename Visit>
  void for_each(Visit visit) {
    for (auto& sequence : running_) visit(*sequence);
    for (auto& sequence : waiting_) visit(*sequence);
  }
  void check_invariants() const;

 private:
  void grow_running(StepPlan& plan);
  void admit_waiting(StepPlan& plan);
  // Makes room for `tokens` by preempting younger sequences; false when `sequence` itself had to go.
  bool make_room(Sequence& sequence, std::size_t tokens);
  // Never one of this step's plan: that holds older sequences only.
  void preempt_newest();

  SchedulerOptions options_;
  kvcache::KVCacheManager& cache_;
  std::vector<std::unique_ptr<Sequence>> running_;  // by admission, the oldest first
  std::deque<std::unique_ptr<Sequence>> waiting_;
  std::uint64_t preemptions_ = 0;
};

}  // namespace sluice::engine
