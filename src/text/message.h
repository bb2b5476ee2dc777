// A conversation, neutral between dialects. Content is already joined text: content parts are flattened in
// api/.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"

namespace sluice::text {

struct ToolCall {
  std::string id;
  std::string name;
  json::value arguments;  // an object
};

struct Message {
  std::string role;
  std::string content;
  std::string reasoning;  // thought of an earlier assistant turn
  std::vector<ToolCall> tool_calls;
  std::string tool_name;     // role "tool"
  std::string tool_call_id;  // role "tool"
};

struct Conversation {
  std::vector<Message> messages;
  json::array tools;             // OpenAI tool objects as given
  json::object template_kwargs;  // e.g. enable_thinking
  bool add_generation_prompt = true;
};

}  // namespace sluice::text
