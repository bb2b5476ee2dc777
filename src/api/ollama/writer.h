// The events of an answer to Ollama's NDJSON lines or to one reply. A writer belongs to one thread at a time.
#pragma once

#include <chrono>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/generation.h"
#include "api/ollama/calls.h"

namespace sluice::api::ollama {

struct ReplyHeader {
  std::string model;  // as the client sent it
  std::chrono::system_clock::time_point (*now)() = std::chrono::system_clock::now;
};

class StreamWriter {
 public:
  StreamWriter(ReplyHeader header, const GenerateCall& call);

  // Whole lines, each with its newline; possibly none. The last event gives the line with done, or an error.
  std::string write(const TextEvent& event);

 private:
  std::string text_line(std::string_view text, std::string_view thinking);
  std::string tool_line(const TextEvent& event);

  ReplyHeader header_;
  bool is_chat_;
  bool drops_output_;  // num_predict 0, though the engine makes a token
  Finish finish_;
  std::int32_t tool_calls_ = 0;
  ToolCallStart open_call_;
  std::string open_arguments_;
  std::vector<TokenLogprobs> waiting_;  // for the line that follows
};

// The fold of a complete log that has no Error.
std::string reply(const ReplyHeader& header, const GenerateCall& call, std::span<const TextEvent> events);

// The answer to a call with nothing to answer (load_only, unload), once it is done.
std::string load_reply(const ReplyHeader& header, const GenerateCall& call);

}  // namespace sluice::api::ollama
