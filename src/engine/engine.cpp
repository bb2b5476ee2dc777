#include "engine/engine.h"

#include <exception>

#include "backend/backend.h"
#include "base/log.h"
#include "engine/step_builder.h"
#include "engine/stop_criteria.h"

namespace sluice::engine {

using Clock = std::chrono::steady_clock;

namespace {

constexpr std::size_t kBlockTokens = backend::kBlockTokens;
constexpr std::uint32_t kKvLayoutVersion = 1;

}  // namespace

Engine::Engine(EngineOptions options, std::unique_ptr<Executor> executor)
    : options_(std::move(options)),
      executor_(std::move(executor)),
      cache_(options_.kv_blocks, kBlockTokens),
      scheduler_(options_.scheduler, cache_),
      last_progress_(Clock::now()),
      thread_([this] { run(); }) {}

Engine::~Engine() { stop(); }

void Engine::stop() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    inbox_.stop = true;
  }
  bell_.notify_all();
  thread_.join();
}

Status Engine::submit(GenerationRequest request) {
  SLUICE_TRY_STATUS(scheduler_.admissible(request));  // reads constants only
  const std::lock_guard lock(mutex_);
  if (!stats_.healthy || inbox_.stop)
    return fail(ErrorCode::kUnavailable, "the engine has stopped; restart the server");
  if (inbox_.requests.size() + stats_.waiting >= options_.queue_max) {
    return fail(ErrorCode::kResourceExhausted, "the queue is full ({} requests wait): try again later",
                options_.queue_max);
  }
  inbox_.requests.push_back(std::move(request));
  bell_.notify_one();
  return {};
}

void Engine::abort(SequenceId id) {
  const std::lock_guard lock(mutex_);
  inbox_.aborts.push_back(id);
  bell_.notify_one();
}

EngineStats Engine::stats() const {
  const std::lock_guard lock(mutex_);
  EngineStats stats = stats_;
  stats.waiting += inbox_.requests.size();
  return stats;
}

bool Engine::healthy(Clock::duration limit) const {
  const std::lock_guard lock(mutex_);
  const bool has_work = stats_.running + stats_.waiting + inbox_.requests.size() > 0;
  return stats_.healthy && (!has_work || Clock::now() - last_progress_ < limit);
}

void Engine::run() {
  while (drain()) {
    try {
      step();
    } catch (const std::exception& error) {
      fail_all(error.what());
    }
    update_stats();
  }
  fail_all("the server is shutting down");
}

bool Engine::drain() {
  Inbox inbox;
  {
    std::unique_lock lock(mutex_);
    const auto has_news = [&] { return inbox_.stop || !inbox_.requests.empty() || !inbox_.aborts.empty(); };
    if (scheduler_.running() + scheduler_.waiting() == 0) {
      bell_.wait(lock, has_news);
      last_progress_ = Clock::now();
    }
    std::swap(inbox.requests, inbox_.requests);
    std::swap(inbox.aborts, inbox_.aborts);
    inbox.stop = inbox_.stop;
    stats_.waiting += inbox.requests.size();  // seen as work and counted by submit() while the step runs
  }
  for (GenerationRequest& request : inbox.requests) {
    auto sequence = std::make_unique<Sequence>();
    sequence->arrived = Clock::now();
    sequence->tokens = request.prompt;
    sequence->table.root = root_hash(request.cache_salt, options_.model_digest, kKvLayoutVersion);
    sequence->request = std::move(request);
    counters_.prompt_tokens += sequence->tokens.size();
    scheduler_.add(std::move(sequence));
  }
  for (const SequenceId id : inbox.aborts) {
    TokenEvent cancelled;
    cancelled.finish = FinishReason::kCancelled;
    finish(id, std::move(cancelled));
  }
  return !inbox.stop;
}

void Engine::step() {
  drop_expired();
  const StepPlan plan = scheduler_.plan();
  if (plan.sequences.empty()) return;
  const model::StepInput input = build_step(plan, kBlockTokens, options_.vocabulary);
  const model::StepOutput output = executor_->execute(input);
  scheduler_.apply(plan);
  publish(plan, output);
}

void Engine::drop_expired() {
  const auto now = Clock::now();
  std::vector<SequenceId> expired;
  scheduler_.for_each([&](const Sequence& sequence) {
    if (sequence.request.deadline && now >= *sequence.request.deadline)
      expired.push_back(sequence.request.id);
  });
  for (const SequenceId id : expired) {
    TokenEvent event;
    event.finish = FinishReason::kDeadline;
    finish(id, std::move(event));
  }
}

void Engine::finish(SequenceId id, TokenEvent event) {
  const std::unique_ptr<Sequence> sequence = scheduler_.remove(id);
  if (sequence) sequence->request.sink->deliver(std::move(event));
}

void Engine::publish(const StepPlan& plan, const model::StepOutput& output) {
  std::vector<std::pair<Sequence*, std::size_t>> sampled;  // rows in the order that build_step() made them
  for (const PlannedSequence& planned : plan.sequences) {
    if (planned.sequence->pending() == 0) sampled.emplace_back(planned.sequence, sampled.size());
  }
  for (const auto& [sequence, row] : sampled) deliver(*sequence, output.tokens[row]);
}

void Engine::deliver(Sequence& sequence, sampling::SampledToken token) {
  TokenEvent event;
  if (!sequence.has_output()) {
    event.cached_tokens = static_cast<std::int32_t>(sequence.cached_prompt_tokens);
    event.queue_time = sequence.first_scheduled - sequence.arrived;
    event.prefill_time = Clock::now() - sequence.first_scheduled;
    counters_.cached_prompt_tokens += sequence.cached_prompt_tokens;
  }
  const TokenId id = token.token;
  sequence.tokens.push_back(id);
  ++counters_.generated_tokens;
  event.tokens.push_back(std::move(token));
  event.finish = finish_reason(sequence, scheduler_.sequence_tokens_max());
  if (event.finish == FinishReason::kStop) event.stop_token = id;
  if (sequence.request.constraint && !event.finish && !sequence.request.constraint->accept(id)) {
    event.finish = FinishReason::kError;
    event.error = Error{ErrorCode::kInternal, fmt::format("token {} breaks the output constraint", id), {}};
  }
  if (event.finish) return finish(sequence.request.id, std::move(event));
  sequence.request.sink->deliver(std::move(event));
}

void Engine::fail_all(const std::string& reason) {
  std::vector<SequenceId> ids;
  scheduler_.for_each([&](const Sequence& sequence) { ids.push_back(sequence.request.id); });
  {
    const std::lock_guard lock(mutex_);
    stats_.healthy = counters_.healthy = false;
    for (GenerationRequest& request : inbox_.requests) {
      TokenEvent event;
      event.finish = FinishReason::kError;
      event.error = Error{ErrorCode::kUnavailable, reason, {}};
      request.sink->deliver(std::move(event));
    }
    inbox_.requests.clear();
    if (!inbox_.stop) log::error("engine step failed: {}", reason);
  }
  for (const SequenceId id : ids) {
    TokenEvent event;
    event.finish = FinishReason::kError;
    event.error = Error{ErrorCode::kInternal, reason, {}};
    finish(id, std::move(event));
  }
}

void Engine::update_stats() {
  ++counters_.steps;
  counters_.running = scheduler_.running();
  counters_.waiting = scheduler_.waiting();
  counters_.kv_usage = cache_.usage();
  counters_.preemptions = scheduler_.preemptions();
  const std::lock_guard lock(mutex_);
  stats_ = counters_;
  last_progress_ = Clock::now();
}

}  // namespace sluice::engine
