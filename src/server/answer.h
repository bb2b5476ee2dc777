// One running answer: the tokens of its choices become TextEvents on the text workers, in order.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "api/generation.h"
#include "engine/engine.h"
#include "server/local_model.h"
#include "server/prompt_builder.h"
#include "server/text_workers.h"
#include "text/detokenizer.h"
#include "text/reasoning_parser.h"
#include "text/stop_matcher.h"

namespace sluice::server {

class Answer : public std::enable_shared_from_this<Answer> {
 public:
  Answer(std::shared_ptr<LocalModel> model, TextWorkers& workers, const api::TextRequest& request,
         Prompt prompt, std::shared_ptr<api::TextSink> sink);

  // Submits all choices. Errors are the engine's; choices that were submitted before are aborted.
  Status submit();
  void cancel();

 private:
  struct Choice {
    Choice(const api::TextRequest& request, text::ReasoningState state);
    SequenceId id;
    text::Detokenizer detokenizer;
    text::StopMatcher stops;
    text::ReasoningParser reasoning;
    std::int32_t tokens = 0;
    std::int32_t reasoning_tokens = 0;
    bool has_content = false;
    bool is_done = false;
  };
  class Sink;

  engine::GenerationRequest make_request(std::size_t choice);
  void enqueue(std::size_t choice, engine::TokenEvent event);  // engine thread
  void drain();                                                // a worker, one at a time
  void process(std::size_t choice, engine::TokenEvent event);
  void add_token(Choice& choice, std::size_t index, const sampling::SampledToken& token, bool is_end);
  text::ReasoningParser::Output split_thought(Choice& choice, std::string text);
  void emit(std::size_t choice, const text::ReasoningParser::Output& output);
  void emit_logprobs(std::size_t choice, const sampling::SampledToken& token);
  void finish(std::size_t choice, api::Finish finish);
  void finish_text(Choice& choice, std::size_t index, api::Finish& finish);
  void report_usage();
  void fail(Error error);

  std::shared_ptr<LocalModel> model_;
  TextWorkers& workers_;
  const api::TextRequest request_;
  const Prompt prompt_;
  std::shared_ptr<api::TextSink> sink_;
  std::vector<Choice> choices_;
  std::size_t open_choices_;
  bool has_failed_ = false;
  std::int32_t cached_tokens_ = 0;
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point first_token_;
  std::chrono::nanoseconds prefill_time_{};

  std::mutex mutex_;  // guards the two below
  std::deque<std::pair<std::size_t, engine::TokenEvent>> queue_;
  bool is_draining_ = false;
};

}  // namespace sluice::server
