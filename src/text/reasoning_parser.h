// Splits Qwen3's streamed answer into thought and content. The tags and the blank lines around them belong to
// neither (field reports F012 to F014). What comes out does not depend on how the text was cut.
#pragma once

#include <string>
#include <string_view>

namespace sluice::text {

enum class ReasoningState {
  kUndecided,  // the answer may begin with <think>
  kThought,    // inside: the prompt ended with an open <think>
  kContent,    // the prompt closed the thought already, or it is over
};

// Where an answer to this prompt begins: the last tag of the open assistant turn decides, so an answer that
// is continued keeps its thought. Turns are ChatML's; other prompts count by their end alone.
ReasoningState initial_reasoning_state(std::string_view rendered_prompt);

class ReasoningParser {
 public:
  explicit ReasoningParser(ReasoningState state) : state_(state) {}

  struct Output {
    std::string reasoning;
    std::string content;
  };
  Output push(std::string_view text);
  Output flush();  // end of the answer

 private:
  void advance(Output& output, bool is_end);
  bool decide(bool is_end);
  bool think(Output& output, bool is_end);

  ReasoningState state_;
  bool trims_front_ = true;  // blank lines at the start of the part
  std::string held_;
};

}  // namespace sluice::text
