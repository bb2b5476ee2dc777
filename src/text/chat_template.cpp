#include "text/chat_template.h"

#include "text/template/evaluator.h"
#include "text/template/parser.h"

namespace sluice::text {
namespace {

Value to_value(const Message& message) {
  ValueDict dict = {{"role", {MarkedText::user(message.role)}},
                    {"content", {MarkedText::user(message.content)}}};
  const auto put = [&](const char* key, const std::string& text) {
    if (!text.empty()) dict.emplace_back(key, Value{MarkedText::user(text)});
  };
  put("reasoning_content", message.reasoning);
  put("name", message.tool_name);
  put("tool_call_id", message.tool_call_id);
  if (!message.tool_calls.empty()) {
    ValueList calls;
    for (const ToolCall& call : message.tool_calls) {
      Value function = Value::make_dict(
          {{"name", {MarkedText::user(call.name)}}, {"arguments", Value::from_json(call.arguments)}});
      calls.push_back(Value::make_dict({{"type", Value::scaffold("function")},
                                        {"id", {MarkedText::user(call.id)}},
                                        {"function", std::move(function)}}));
    }
    dict.emplace_back("tool_calls", Value::make_list(std::move(calls)));
  }
  return Value::make_dict(std::move(dict));
}

}  // namespace

Result<std::shared_ptr<const ChatTemplate>> ChatTemplate::parse(std::string_view source,
                                                                std::string bos_token,
                                                                std::string eos_token) {
  auto nodes = parse_template(source);
  if (!nodes) return fail(nodes.error().code, "chat template: {}", nodes.error().message);
  return std::make_shared<const ChatTemplate>(std::move(*nodes), std::move(bos_token), std::move(eos_token));
}

Result<RenderedPrompt> ChatTemplate::render(const Conversation& conversation) const {
  ValueList messages;
  for (const Message& message : conversation.messages) messages.push_back(to_value(message));
  ValueDict globals = {{"messages", Value::make_list(std::move(messages))},
                       {"add_generation_prompt", {conversation.add_generation_prompt}},
                       {"bos_token", Value::scaffold(bos_token_)},
                       {"eos_token", Value::scaffold(eos_token_)},
                       {"tools", {None{}}}};
  if (!conversation.tools.empty()) assign(globals, "tools", Value::from_json(conversation.tools));
  for (const auto& [key, value] : conversation.template_kwargs) {
    // The conversation's own names are not the caller's to replace.
    if (look_up(globals, std::string_view(key)).is_undefined())
      assign(globals, std::string_view(key), Value::from_json(value));
  }
  return evaluate_template(nodes_, std::move(globals));
}

std::vector<TokenId> encode_prompt(const Tokenizer& tokenizer, const RenderedPrompt& prompt) {
  return tokenizer.encode_marked(prompt.chars, prompt.marks);
}

}  // namespace sluice::text
