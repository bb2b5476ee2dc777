#include "engine/scheduler.h"

#include <algorithm>

#include "base/check.h"

namespace sluice::engine {

Scheduler::Scheduler(SchedulerOptions options, kvcache::KVCacheManager& cache)
    : options_(options), cache_(cache) {}

std::size_t Scheduler::sequence_tokens_max() const {
  return std::min(options_.context_tokens_max, cache_.total_blocks() * cache_.block_tokens());
}

Status Scheduler::admissible(const GenerationRequest& request) const {
  const std::size_t prompt = request.prompt.size();
  if (prompt == 0) return fail(ErrorCode::kInvalidArgument, "the prompt has no tokens");
  if (prompt + 1 <= sequence_tokens_max()) return {};
  return fail(ErrorCode::kInvalidArgument,
              "the prompt has {} tokens and at least one more is generated; this model's maximum context "
              "length is {} "
              "tokens, and its KV cache holds {}: shorten the prompt or give the server a larger KV cache",
              prompt, options_.context_tokens_max, cache_.total_blocks() * cache_.block_tokens());
}

void Scheduler::add(std::unique_ptr<Sequence> sequence) { waiting_.push_back(std::move(sequence)); }

std::unique_ptr<Sequence> Scheduler::remove(SequenceId id) {
  const auto matches = [&](const auto& sequence) { return sequence->request.id == id; };
  std::unique_ptr<Sequence> removed;
  if (const auto at = std::ranges::find_if(running_, matches); at != running_.end()) {
    removed = std::move(*at);
    running_.erase(at);
  } else if (const auto wait = std::ranges::find_if(waiting_, matches); wait != waiting_.end()) {
    removed = std::move(*wait);
    waiting_.erase(wait);
  }
  if (removed) cache_.release(removed->table);
  return removed;
}

StepPlan Scheduler::plan() {
  StepPlan plan;
  const std::uint64_t before = preemptions_;
  grow_running(plan);
  if (preemptions_ == before) admit_waiting(plan);
  return plan;
}

void Scheduler::grow_running(StepPlan& plan) {
  for (std::size_t i = 0; i < running_.size() && plan.tokens < options_.step_tokens_max; ++i) {
    Sequence& sequence = *running_[i];
    const std::size_t wanted = std::min(sequence.pending(), options_.step_tokens_max - plan.tokens);
    if (wanted == 0) continue;
    if (!make_room(sequence, sequence.computed + wanted)) return;
    plan.sequences.push_back({&sequence, wanted});
    plan.tokens += wanted;
  }
}

bool Scheduler::make_room(Sequence& sequence, std::size_t tokens) {
  while (!cache_.grow(sequence.table, tokens)) {
    const bool is_victim = running_.back().get() == &sequence;
    preempt_newest();
    if (is_victim) return false;
  }
  return true;
}

void Scheduler::preempt_newest() {
  std::unique_ptr<Sequence> victim = std::move(running_.back());
  running_.pop_back();
  cache_.release(victim->table);
  victim->computed = 0;
  ++preemptions_;
  waiting_.push_front(std::move(victim));
}

void Scheduler::admit_waiting(StepPlan& plan) {
  while (!waiting_.empty() && running_.size() < options_.sequences_max &&
         plan.tokens < options_.step_tokens_max) {
    Sequence& sequence = *waiting_.front();
    // One block for every running sequence stays free, or the next steps would preempt what was just
    // admitted; and the whole of what is known must fit, so two half-computed giants cannot block each other.
    const std::size_t known_blocks = (sequence.tokens.size() + cache_.block_tokens()) / cache_.block_tokens();
    if (!running_.empty() && known_blocks + running_.size() > cache_.free_blocks()) return;
    if (sequence.request.use_prefix_cache) {
      sequence.computed = cache_.reuse_prefix(sequence.table, sequence.tokens);
    }
    const std::size_t wanted = std::min(sequence.pending(), options_.step_tokens_max - plan.tokens);
    if (!cache_.grow(sequence.table, sequence.computed + wanted)) {
      cache_.release(sequence.table);
      sequence.computed = 0;
      return;
    }
    if (!sequence.was_admitted) {
      sequence.was_admitted = true;
      sequence.cached_prompt_tokens = sequence.computed;
      sequence.first_scheduled = std::chrono::steady_clock::now();
    }
    plan.sequences.push_back({&sequence, wanted});
    plan.tokens += wanted;
    running_.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
  }
}

void Scheduler::apply(const StepPlan& plan) {
  for (const PlannedSequence& planned : plan.sequences) {
    Sequence& sequence = *planned.sequence;
    sequence.computed += planned.tokens;
    cache_.commit(sequence.table, sequence.tokens, sequence.computed);
  }
}

void Scheduler::check_invariants() const {
  cache_.check_invariants();
  for (const auto& sequence : running_) {
    SLUICE_CHECK(sequence->computed <= sequence->tokens.size(), "computed runs ahead of known");
    SLUICE_CHECK(sequence->table.blocks.size() * cache_.block_tokens() >= sequence->computed,
                 "tokens without a block");
  }
  for (const auto& sequence : waiting_) {
    SLUICE_CHECK(sequence->computed == 0 && sequence->table.blocks.empty(),
                 "a waiting sequence holds blocks");
  }
}

}  // namespace sluice::engine
