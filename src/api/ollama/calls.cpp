#include "api/ollama/calls.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/string.hpp>
#include <cctype>

#include "api/ollama/options.h"

namespace sluice::api::ollama {
namespace {

constexpr auto kMatch = Fields::Match::kAnyCase;
constexpr std::int64_t kTopLogprobsMax = 20;

Status read_think(const Fields& fields, GenerateCall& call) {
  const json::value* think = fields.find("think");
  if (think == nullptr) return {};
  if (think->is_bool()) {
    call.request.thinking = think->get_bool();
    return {};
  }
  if (!think->is_string()) {
    return bad_field(
        "think",
        "think must be a boolean or string (\"high\", \"medium\", \"low\", \"max\", true, or false)");
  }
  const std::string_view level = view(think->get_string());
  constexpr std::string_view kLevels[] = {"low", "medium", "high", "max"};
  if (std::ranges::find(kLevels, level) == std::end(kLevels)) {
    return bad_field("think",
                     fmt::format("invalid think value: \"{}\" (must be \"high\", \"medium\", \"low\", "
                                 "\"max\", true, or false)",
                                 level));
  }
  call.request.thinking = true;
  if (call.request.chat) call.request.chat->template_kwargs["reasoning_effort"] = level;
  return {};
}

Status refuse_format(const Fields& fields) {
  const json::value* format = fields.find("format");
  if (format == nullptr) return {};
  const bool is_text = format->is_string();
  if (is_text && format->get_string().empty()) return {};
  if (!format->is_object() && !(is_text && view(format->get_string()) == "json")) {
    return bad_field("format", "invalid format: expected \"json\" or a valid JSON Schema object");
  }
  return unsupported_field("format", "format: structured output is not available yet");
}

Status refuse_images(const Fields& fields) {
  SLUICE_TRY(const json::array* images, fields.array("images"));
  if (images == nullptr || images->empty()) return {};
  const std::string name = fields.full_name("images");
  return unsupported_field(name, name + ": images are not supported, this model reads text only");
}

Status read_logprobs(const Fields& fields, GenerateCall& call) {
  std::optional<std::int64_t> top;
  SLUICE_TRY_STATUS(fields.read("top_logprobs", top));
  if (top && (*top < 0 || *top > kTopLogprobsMax)) {
    return bad_field("top_logprobs", "top_logprobs must be between 0 and 20");
  }
  SLUICE_TRY_STATUS(fields.read("logprobs", call.logprobs));
  if (call.logprobs) call.request.sampling.logprobs = static_cast<std::int32_t>(top.value_or(0));
  return {};
}

// What both routes have in common. `think` wins over options.thinking.
Status read_common(const Fields& fields, GenerateCall& call) {
  SLUICE_TRY_STATUS(fields.read("stream", call.stream));
  SLUICE_TRY_STATUS(refuse_format(fields));
  SLUICE_TRY(const json::object* options, fields.object("options"));
  const json::object none;
  SLUICE_TRY_STATUS(read_options(Fields(options == nullptr ? none : *options), call.request));
  SLUICE_TRY_STATUS(read_think(fields, call));
  bool truncates = true;
  SLUICE_TRY_STATUS(fields.read("truncate", truncates));
  call.request.shift_or_truncate = truncates;
  bool renders_only = false;
  SLUICE_TRY_STATUS(fields.read("_debug_render_only", renders_only));
  if (renders_only) return unsupported_field("_debug_render_only", "_debug_render_only is not available");
  return {};
}

// A call without a question loads the model, or unloads it with keep_alive 0.
Status settle_load(const Fields& fields, bool has_question, GenerateCall& call) {
  if (const json::value* value = fields.find("keep_alive")) {
    SLUICE_TRY(call.keep_alive, parse_keep_alive(*value));
  }
  if (has_question) return {};
  call.unload = call.keep_alive && !call.keep_alive->forever && call.keep_alive->value.count() == 0;
  call.load_only = !call.unload;
  call.request.chat.reset();
  return {};
}

text::Message message_of(const char* role, std::string content) {
  text::Message message;
  message.role = role;
  message.content = std::move(content);
  return message;
}

Status read_generate_prompt(const Fields& fields, GenerateCall& call, std::string prompt) {
  std::string system;
  std::string suffix;
  SLUICE_TRY_STATUS(fields.read("system", system));
  SLUICE_TRY_STATUS(fields.read("suffix", suffix));
  SLUICE_TRY(const json::array* context, fields.array("context"));
  const bool has_context = context != nullptr && !context->empty();
  std::string template_text;
  SLUICE_TRY_STATUS(fields.read("template", template_text));
  if (call.raw && (!template_text.empty() || !system.empty() || has_context)) {
    return bad_field("raw", "raw mode does not support template, system, or context");
  }
  if (!template_text.empty()) {
    return unsupported_field("template", "template: a request cannot bring its own template");
  }
  if (!suffix.empty()) {
    return bad_field("suffix", fmt::format("{} does not support insert", call.request.model));
  }
  if (has_context) {
    return unsupported_field("context",
                             "context: token history is not supported, send the messages to /api/chat");
  }
  if (call.raw) {
    call.request.prompt = std::move(prompt);
    call.request.split_reasoning = false;
    return {};
  }
  std::vector<text::Message>& messages = call.request.chat.emplace().messages;
  if (!system.empty()) messages.push_back(message_of("system", std::move(system)));
  messages.push_back(message_of("user", std::move(prompt)));
  return {};
}

Status read_tool_calls(const Fields& fields, std::vector<text::ToolCall>& calls) {
  SLUICE_TRY(const json::array* list, fields.array("tool_calls"));
  if (list == nullptr) return {};
  for (const json::value& entry : *list) {
    const std::string path = fmt::format("{}[{}].", fields.full_name("tool_calls"), calls.size());
    SLUICE_TRY(const Fields call, Fields::of(entry, path, kMatch));
    SLUICE_TRY(const json::object* function, call.object("function"));
    if (function == nullptr) return bad_field(path + "function", path + "function is missing");
    const Fields inner(*function, path + "function.", kMatch);
    text::ToolCall& read = calls.emplace_back();
    SLUICE_TRY_STATUS(call.read("id", read.id));
    SLUICE_TRY_STATUS(inner.read("name", read.name));
    SLUICE_TRY(const json::object* arguments, inner.object("arguments"));
    read.arguments = arguments == nullptr ? json::object{} : *arguments;
  }
  return {};
}

Result<text::Message> read_message(const Fields& fields) {
  text::Message message;
  SLUICE_TRY_STATUS(fields.read("role", message.role));
  std::ranges::transform(message.role, message.role.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  SLUICE_TRY_STATUS(fields.read("content", message.content));
  SLUICE_TRY_STATUS(fields.read("thinking", message.reasoning));
  SLUICE_TRY_STATUS(fields.read("tool_name", message.tool_name));
  SLUICE_TRY_STATUS(fields.read("tool_call_id", message.tool_call_id));
  SLUICE_TRY_STATUS(refuse_images(fields));
  SLUICE_TRY_STATUS(read_tool_calls(fields, message.tool_calls));
  return message;
}

Status read_messages(const Fields& fields, GenerateCall& call) {
  SLUICE_TRY(const json::array* list, fields.array("messages"));
  text::Conversation& chat = call.request.chat.emplace();
  if (list == nullptr) return {};
  for (const json::value& entry : *list) {
    const std::string path = fmt::format("messages[{}].", chat.messages.size());
    SLUICE_TRY(const Fields inner, Fields::of(entry, path, kMatch));
    SLUICE_TRY(text::Message message, read_message(inner));
    chat.messages.push_back(std::move(message));
  }
  return {};
}

}  // namespace

Result<GenerateCall> parse_generate(const json::value& body) {
  SLUICE_TRY(const Fields fields, Fields::of(body, {}, kMatch));
  GenerateCall call;
  SLUICE_TRY_STATUS(read_logprobs(fields, call));
  SLUICE_TRY_STATUS(fields.read("model", call.request.model));
  if (call.request.model.empty())
    return tl::unexpected(Error{ErrorCode::kNotFound, "model '' not found", "model"});
  std::string prompt;
  SLUICE_TRY_STATUS(fields.read("prompt", prompt));
  SLUICE_TRY_STATUS(fields.read("raw", call.raw));
  SLUICE_TRY_STATUS(refuse_images(fields));
  const bool has_question = !prompt.empty();
  SLUICE_TRY_STATUS(read_generate_prompt(fields, call, std::move(prompt)));
  SLUICE_TRY_STATUS(read_common(fields, call));
  SLUICE_TRY_STATUS(settle_load(fields, has_question, call));
  if (!has_question) call.request.prompt.reset();
  return call;
}

Result<GenerateCall> parse_chat(const json::value& body) {
  SLUICE_TRY(const Fields fields, Fields::of(body, {}, kMatch));
  GenerateCall call;
  call.is_chat = true;
  SLUICE_TRY_STATUS(read_logprobs(fields, call));
  SLUICE_TRY_STATUS(fields.read("model", call.request.model));
  if (call.request.model.empty()) return bad_field("model", "model is required");
  SLUICE_TRY_STATUS(read_messages(fields, call));
  SLUICE_TRY(const json::array* tools, fields.array("tools"));
  if (tools != nullptr && !tools->empty()) {
    return bad_field("tools", fmt::format("{} does not support tools", call.request.model));
  }
  SLUICE_TRY_STATUS(read_common(fields, call));
  const bool has_question = !call.request.chat->messages.empty();
  SLUICE_TRY_STATUS(settle_load(fields, has_question, call));
  return call;
}

}  // namespace sluice::api::ollama
