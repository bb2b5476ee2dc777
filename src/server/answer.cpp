#include "server/answer.h"

#include <random>

namespace sluice::server {
namespace {

SequenceId next_sequence_id() {
  static std::atomic<std::uint64_t> next{1};
  return SequenceId{next.fetch_add(1)};
}

std::uint64_t random_seed() {
  thread_local std::mt19937_64 random{std::random_device{}()};
  return random();
}

api::TextEvent event_of(std::size_t choice, decltype(api::TextEvent::body) body) {
  return {static_cast<std::int32_t>(choice), std::move(body)};
}

}  // namespace

// Holds the answer only while it runs, and lets the engine outlive it.
class Answer::Sink : public engine::TokenSink {
 public:
  Sink(std::shared_ptr<Answer> answer, std::size_t choice) : answer_(std::move(answer)), choice_(choice) {}
  void deliver(engine::TokenEvent event) override {
    const bool is_last = event.finish.has_value();
    answer_->enqueue(choice_, std::move(event));
    if (!is_last) return;
    // The answer may hold the last reference to the model, whose end joins this very thread: let go
    // elsewhere.
    TextWorkers& workers = answer_->workers_;
    workers.post([answer = std::move(answer_)] {});
  }

 private:
  std::shared_ptr<Answer> answer_;
  std::size_t choice_;
};

Answer::Choice::Choice(const api::TextRequest& request, text::ReasoningState state)
    : id(next_sequence_id()), stops(request.stop, request.include_stop_in_output), reasoning(state) {}

Answer::Answer(std::shared_ptr<LocalModel> model, TextWorkers& workers, const api::TextRequest& request,
               Prompt prompt, std::shared_ptr<api::TextSink> sink)
    : model_(std::move(model)),
      workers_(workers),
      request_(request),
      prompt_(std::move(prompt)),
      sink_(std::move(sink)) {
  for (std::int32_t i = 0; i < request.choices; ++i) choices_.emplace_back(request_, prompt_.reasoning);
  open_choices_ = choices_.size();
}

engine::GenerationRequest Answer::make_request(std::size_t choice) {
  engine::GenerationRequest request;
  request.id = choices_[choice].id;
  request.prompt = prompt_.ids;
  request.sampling = request_.sampling;
  request.max_tokens = prompt_.max_tokens;
  request.end_ids = model_->config.end_ids;
  request.cache_salt = request_.cache_salt;
  request.deadline = request_.deadline;
  request.sink = std::make_shared<Sink>(shared_from_this(), choice);
  return request;
}

Status Answer::submit() {
  sink_->deliver(event_of(0, api::PromptIds{prompt_.ids}));
  const std::uint64_t seed = request_.given.seed ? request_.sampling.seed : random_seed();
  for (std::size_t i = 0; i < choices_.size(); ++i) {
    if (request_.chat) sink_->deliver(event_of(i, api::RoleDelta{"assistant"}));
  }
  for (std::size_t i = 0; i < choices_.size(); ++i) {
    engine::GenerationRequest request = make_request(i);
    request.sampling.seed = seed + i;  // a choice is as reproducible as the request
    Status submitted = model_->engine->submit(std::move(request));
    if (submitted) continue;
    cancel();
    return submitted;
  }
  return {};
}

void Answer::cancel() {
  for (const Choice& choice : choices_) model_->engine->abort(choice.id);
}

void Answer::enqueue(std::size_t choice, engine::TokenEvent event) {
  const std::lock_guard lock(mutex_);
  queue_.emplace_back(choice, std::move(event));
  if (std::exchange(is_draining_, true)) return;
  workers_.post([self = shared_from_this()] { self->drain(); });
}

void Answer::drain() {
  while (true) {
    std::deque<std::pair<std::size_t, engine::TokenEvent>> batch;
    {
      const std::lock_guard lock(mutex_);
      std::swap(batch, queue_);
      if (batch.empty()) {
        is_draining_ = false;
        return;
      }
    }
    for (auto& [choice, event] : batch) process(choice, std::move(event));
  }
}

void Answer::process(std::size_t index, engine::TokenEvent event) {
  Choice& choice = choices_[index];
  if (choice.tokens == 0 && !event.tokens.empty()) {
    if (first_token_ == decltype(first_token_)()) first_token_ = std::chrono::steady_clock::now();
    cached_tokens_ = std::max(cached_tokens_, event.cached_tokens);
    prefill_time_ = std::max(prefill_time_, event.prefill_time);
  }
  for (std::size_t i = 0; i < event.tokens.size() && !choice.is_done; ++i) {
    const bool is_end = event.stop_token.has_value() && i + 1 == event.tokens.size();
    add_token(choice, index, event.tokens[i], is_end);
  }
  if (!event.finish || choice.is_done) return;
  api::Finish done;
  done.stop_token = event.stop_token;
  switch (*event.finish) {
    case engine::FinishReason::kStop:
      done.reason = api::FinishReason::kStop;
      break;
    case engine::FinishReason::kLength:
      done.reason = api::FinishReason::kLength;
      break;
    case engine::FinishReason::kCancelled:
      return fail({ErrorCode::kCancelled, "the request was cancelled", {}});
    case engine::FinishReason::kDeadline:
      return fail({ErrorCode::kDeadlineExceeded, "the request's deadline passed", {}});
    case engine::FinishReason::kError:
      return fail(event.error.value_or(Error{ErrorCode::kInternal, "generation failed", {}}));
  }
  finish_text(choice, index, done);
  finish(index, std::move(done));
}

void Answer::add_token(Choice& choice, std::size_t index, const sampling::SampledToken& token, bool is_end) {
  ++choice.tokens;
  if (is_end) return;  // the token that ends a turn is not part of it
  if (!token.logprobs.empty()) emit_logprobs(index, token);
  if (request_.skip_special_tokens && model_->tokenizer->is_special(token.token)) return;
  const auto stopped = choice.stops.push(choice.detokenizer.push(model_->tokenizer->bytes(token.token)));
  const auto split = split_thought(choice, stopped.text);
  if (!split.content.empty()) choice.has_content = true;
  if (request_.split_reasoning && !choice.has_content && prompt_.reasoning != text::ReasoningState::kContent)
    ++choice.reasoning_tokens;
  emit(index, split);
  if (!stopped.matched) return;
  model_->engine->abort(choice.id);
  api::Finish done;
  done.stop_string = stopped.matched;
  emit(index, choice.reasoning.flush());
  finish(index, std::move(done));
}

text::ReasoningParser::Output Answer::split_thought(Choice& choice, std::string text) {
  if (request_.split_reasoning) return choice.reasoning.push(text);
  return {{}, std::move(text)};  // raw text: every blank is the model's
}

// What is held back is let out: the answer is over. A stop string that waited for a longer one may still win.
void Answer::finish_text(Choice& choice, std::size_t index, api::Finish& done) {
  choice.detokenizer.flush();
  const auto rest = choice.stops.flush();
  emit(index, split_thought(choice, rest.text));
  emit(index, choice.reasoning.flush());
  if (!rest.matched) return;
  done.reason = api::FinishReason::kStop;
  done.stop_string = rest.matched;
  done.stop_token.reset();
}

void Answer::emit(std::size_t choice, const text::ReasoningParser::Output& output) {
  if (!output.reasoning.empty()) sink_->deliver(event_of(choice, api::ReasoningDelta{output.reasoning}));
  if (!output.content.empty()) sink_->deliver(event_of(choice, api::TextDelta{output.content}));
}

void Answer::emit_logprobs(std::size_t choice, const sampling::SampledToken& token) {
  const auto describe = [&](const sampling::TokenLogprob& entry) {
    return api::TokenText{entry.token, std::string(model_->tokenizer->bytes(entry.token)), entry.logprob};
  };
  api::TokenLogprobs logprobs;
  logprobs.chosen = describe(token.logprobs[0]);
  for (std::size_t i = 1; i < token.logprobs.size(); ++i) logprobs.top.push_back(describe(token.logprobs[i]));
  sink_->deliver(event_of(choice, api::LogprobsDelta{{std::move(logprobs)}}));
}

void Answer::finish(std::size_t choice, api::Finish done) {
  choices_[choice].is_done = true;
  if (has_failed_) return;
  sink_->deliver(event_of(choice, std::move(done)));
  if (--open_choices_ == 0) report_usage();
}

void Answer::report_usage() {
  const auto now = std::chrono::steady_clock::now();
  api::Usage usage;
  usage.prompt_tokens = static_cast<std::int32_t>(prompt_.ids.size());
  usage.cached_tokens = cached_tokens_;
  for (const Choice& choice : choices_) {
    usage.completion_tokens += choice.tokens;
    usage.reasoning_tokens += choice.reasoning_tokens;
  }
  usage.prefill_time = prefill_time_;
  usage.decode_time = now - first_token_;
  usage.total_time = now - started_;
  sink_->deliver(event_of(0, api::UsageReport{usage}));
}

void Answer::fail(Error error) {
  for (Choice& choice : choices_) choice.is_done = true;
  if (std::exchange(has_failed_, true)) return;
  cancel();
  sink_->deliver(event_of(0, std::move(error)));
}

}  // namespace sluice::server
