#include "text/reasoning_parser.h"

#include <algorithm>

namespace sluice::text {
namespace {

constexpr std::string_view kOpen = "<think>";
constexpr std::string_view kClose = "</think>";
constexpr std::string_view kBlank = " \t\r\n";

std::string_view trim_back(std::string_view text) {
  const std::size_t last = text.find_last_not_of(kBlank);
  return text.substr(0, last == std::string_view::npos ? 0 : last + 1);
}

// Length of the tail that may still belong to the end: blanks, then a beginning of the closing tag.
std::size_t undecided_tail(std::string_view text) {
  std::size_t tag = std::min(kClose.size() - 1, text.size());
  while (tag > 0 && text.substr(text.size() - tag) != kClose.substr(0, tag)) --tag;
  return text.size() - trim_back(text.substr(0, text.size() - tag)).size();
}

}  // namespace

ReasoningState initial_reasoning_state(std::string_view prompt) {
  constexpr std::string_view kTurn = "<|im_start|>";
  const std::string_view end = trim_back(prompt);
  if (end.ends_with(kOpen)) return ReasoningState::kThought;
  if (end.ends_with(kClose)) return ReasoningState::kContent;
  const std::size_t begin = prompt.rfind(kTurn);
  if (begin == std::string_view::npos) return ReasoningState::kUndecided;
  const std::string_view turn = prompt.substr(begin + kTurn.size());
  const bool is_open = turn.starts_with("assistant\n") && turn.find("<|im_end|>") == std::string_view::npos;
  // Only a thought that begins the turn is one: a tag further on is content.
  const std::size_t body =
      is_open ? turn.find_first_not_of(kBlank, std::string_view("assistant").size()) : std::string_view::npos;
  if (body == std::string_view::npos) return ReasoningState::kUndecided;
  if (!turn.substr(body).starts_with(kOpen)) return ReasoningState::kContent;
  return turn.find(kClose, body) != std::string_view::npos ? ReasoningState::kContent
                                                           : ReasoningState::kThought;
}

ReasoningParser::Output ReasoningParser::push(std::string_view text) {
  held_ += text;
  Output output;
  advance(output, false);
  return output;
}

ReasoningParser::Output ReasoningParser::flush() {
  Output output;
  advance(output, true);
  return output;
}

void ReasoningParser::advance(Output& output, bool is_end) {
  if (state_ == ReasoningState::kUndecided && !decide(is_end)) return;
  if (state_ == ReasoningState::kThought && !think(output, is_end)) return;
  if (trims_front_) {
    held_.erase(0, std::min(held_.find_first_not_of(kBlank), held_.size()));
    if (held_.empty()) return;
    trims_front_ = false;
  }
  output.content += held_;
  held_.clear();
}

// True once it is known whether the answer begins with a thought.
bool ReasoningParser::decide(bool is_end) {
  const std::size_t begin = std::min(held_.find_first_not_of(kBlank), held_.size());
  const std::string_view text = std::string_view(held_).substr(begin);
  if (text.starts_with(kOpen)) {
    held_.erase(0, begin + kOpen.size());
    state_ = ReasoningState::kThought;
    return true;
  }
  if (!is_end && kOpen.starts_with(text)) return false;
  // Blanks before an answer without a thought are the model's own.
  state_ = ReasoningState::kContent;
  trims_front_ = false;
  return true;
}

// True once the thought is over.
bool ReasoningParser::think(Output& output, bool is_end) {
  if (trims_front_) {
    held_.erase(0, std::min(held_.find_first_not_of(kBlank), held_.size()));
    if (held_.empty()) return false;
  }
  const std::size_t close = held_.find(kClose);
  if (close != std::string::npos) {
    output.reasoning += trim_back(std::string_view(held_).substr(0, close));
    held_.erase(0, close + kClose.size());
    state_ = ReasoningState::kContent;
    trims_front_ = true;
    return true;
  }
  // A cut thought keeps a half-written tag, so stream and whole agree; trailing blanks go in both.
  const std::size_t shown = is_end ? trim_back(held_).size() : held_.size() - undecided_tail(held_);
  output.reasoning += held_.substr(0, shown);
  if (shown > 0) trims_front_ = false;
  held_.erase(0, is_end ? held_.size() : shown);
  return false;
}

}  // namespace sluice::text
