#include "api/openai/messages.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/string.hpp>

namespace sluice::api::openai {
namespace {

Status append_part(const Fields& part, std::string& content) {
  std::string type;
  SLUICE_TRY_STATUS(part.read("type", type));
  const bool is_refusal = type == "refusal";
  if (!is_refusal && type != "text" && type != "input_text" && type != "output_text") {
    const std::string name = part.full_name("type");
    return bad_field(name, fmt::format("{}: content parts of type \"{}\" are not supported, this model "
                                       "reads text only",
                                       name, type));
  }
  std::string text;
  SLUICE_TRY_STATUS(part.read(is_refusal ? "refusal" : "text", text));
  content += text;
  return {};
}

// A string, null, or a list of parts, which are joined in order (field report F008).
Status read_content(const Fields& fields, std::string& content) {
  const json::value* value = fields.find("content");
  if (value == nullptr) return {};
  if (!value->is_array()) return fields.read("content", content);
  std::size_t index = 0;
  for (const json::value& part : value->get_array()) {
    if (index > 0) content += '\n';
    const std::string path = fmt::format("{}[{}]", fields.full_name("content"), index++);
    if (part.is_string()) {
      content += view(part.get_string());
      continue;
    }
    SLUICE_TRY(const Fields inner, Fields::of(part, path + "."));
    SLUICE_TRY_STATUS(append_part(inner, content));
  }
  return {};
}

// Arguments come as JSON text; what is not JSON stays a string, which templates print as it is.
json::value parse_arguments(const json::value* arguments) {
  if (arguments == nullptr) return json::object{};
  if (!arguments->is_string()) return *arguments;
  const std::string_view text = view(arguments->get_string());
  if (text.empty()) return json::object{};
  Result<json::value> parsed = json::parse(text);
  if (!parsed || !parsed->is_object()) return *arguments;
  return std::move(*parsed);
}

Status read_tool_calls(const Fields& fields, std::vector<text::ToolCall>& calls) {
  SLUICE_TRY(const json::array* list, fields.array("tool_calls"));
  if (list == nullptr) return {};
  for (const json::value& entry : *list) {
    const std::string path = fmt::format("{}[{}].", fields.full_name("tool_calls"), calls.size());
    SLUICE_TRY(const Fields call, Fields::of(entry, path));
    SLUICE_TRY(const json::object* function, call.object("function"));
    text::ToolCall read;
    SLUICE_TRY_STATUS(call.read("id", read.id));
    if (function == nullptr) return bad_field(path + "function", path + "function is missing");
    const Fields inner(*function, path + "function.");
    SLUICE_TRY_STATUS(inner.read("name", read.name));
    if (read.name.empty()) return bad_field(path + "function.name", path + "function.name is missing");
    read.arguments = parse_arguments(inner.find("arguments"));
    calls.push_back(std::move(read));
  }
  return {};
}

Result<text::Message> read_message(const Fields& fields) {
  text::Message message;
  SLUICE_TRY_STATUS(fields.read("role", message.role));
  if (message.role == "developer") message.role = "system";  // templates drop roles they do not know
  constexpr std::string_view kRoles[] = {"system", "user", "assistant", "tool"};
  if (std::ranges::find(kRoles, message.role) == std::end(kRoles)) {
    const std::string name = fields.full_name("role");
    return bad_field(name, fmt::format("{} must be system, developer, user, assistant or tool, not \"{}\"",
                                       name, message.role));
  }
  SLUICE_TRY_STATUS(read_content(fields, message.content));
  SLUICE_TRY_STATUS(fields.read("reasoning_content", message.reasoning));
  SLUICE_TRY_STATUS(fields.read("reasoning", message.reasoning));
  SLUICE_TRY_STATUS(read_tool_calls(fields, message.tool_calls));
  if (message.role != "tool") return message;
  SLUICE_TRY_STATUS(fields.read("tool_call_id", message.tool_call_id));
  SLUICE_TRY_STATUS(fields.read("name", message.tool_name));
  return message;
}

Result<std::string> read_tool_name(const json::value& tool, const std::string& path) {
  SLUICE_TRY(const Fields fields, Fields::of(tool, path + "."));
  SLUICE_TRY(const json::object* function, fields.object("function"));
  std::string name;
  if (function != nullptr) SLUICE_TRY_STATUS(Fields(*function, path + ".function.").read("name", name));
  if (name.empty()) return bad_field(path, path + ".function.name is missing");
  return name;
}

Status check_named_choice(const json::value& choice, const json::array* tools) {
  SLUICE_TRY(const std::string wanted, read_tool_name(choice, "tool_choice"));
  for (const json::value& tool : *tools) {
    SLUICE_TRY(const std::string name, read_tool_name(tool, "tools"));
    if (name == wanted) {
      return unsupported_field("tool_choice", "tool_choice with a named tool is not available yet");
    }
  }
  return bad_field("tool_choice",
                   fmt::format("tool_choice names \"{}\", which is not among the tools", wanted));
}

// Passes only with tool_choice none: the calls of an answer are not parsed yet, and a client that waits for
// them must not get raw text instead.
Status check_tool_choice(const Fields& fields, const json::array* tools) {
  const json::value* choice = fields.find("tool_choice");
  const bool is_text = choice != nullptr && choice->is_string();
  const std::string_view text = is_text ? view(choice->get_string()) : std::string_view();
  if (text == "none" || (choice == nullptr && tools == nullptr)) return {};
  if (is_text && text != "auto" && text != "required") {
    return bad_field("tool_choice", fmt::format("tool_choice must be none, auto, required or a named tool, "
                                                "not \"{}\"",
                                                text));
  }
  if (tools == nullptr) return bad_field("tool_choice", "tool_choice is only allowed with tools");
  if (choice != nullptr && !is_text) return check_named_choice(*choice, tools);
  if (text == "required") {
    return unsupported_field("tool_choice", "tool_choice \"required\" is not available yet");
  }
  return bad_field(
      "tool_choice",
      "tool_choice \"auto\" (the default with tools) needs the server's --enable-auto-tool-choice "
      "and --tool-call-parser, which are not available yet: send tool_choice \"none\"");
}

Status read_tools(const Fields& fields, text::Conversation& chat) {
  SLUICE_TRY(const json::array* tools, fields.array("tools"));
  if (tools != nullptr && tools->empty()) return bad_field("tools", "tools must not be an empty list");
  SLUICE_TRY_STATUS(check_tool_choice(fields, tools));
  if (tools == nullptr) return {};
  for (std::size_t i = 0; i < tools->size(); ++i) {
    SLUICE_TRY([[maybe_unused]] auto name, read_tool_name((*tools)[i], fmt::format("tools[{}]", i)));
  }
  chat.tools = *tools;
  return {};
}

Status read_template_kwargs(const Fields& fields, TextRequest& request) {
  SLUICE_TRY(const json::object* kwargs, fields.object("chat_template_kwargs"));
  if (kwargs == nullptr) return {};
  for (const char* name : {"chat_template", "messages", "tools", "add_generation_prompt"}) {
    if (!kwargs->contains(name)) continue;
    return bad_field("chat_template_kwargs",
                     fmt::format("chat_template_kwargs must not contain \"{}\"", name));
  }
  for (const auto& entry : *kwargs) request.chat->template_kwargs[entry.key()] = entry.value();
  const json::value* thinking = kwargs->if_contains("enable_thinking");
  if (thinking != nullptr && thinking->is_bool()) request.thinking = thinking->get_bool();
  return {};
}

Status read_reasoning_effort(const Fields& fields, TextRequest& request) {
  std::string effort;
  SLUICE_TRY_STATUS(fields.read("reasoning_effort", effort));
  if (fields.find("reasoning_effort") == nullptr) return {};
  constexpr std::string_view kEfforts[] = {"none", "minimal", "low", "medium", "high", "xhigh", "max"};
  if (std::ranges::find(kEfforts, effort) == std::end(kEfforts)) {
    return bad_field("reasoning_effort",
                     "reasoning_effort must be none, minimal, low, medium, high, xhigh "
                     "or max");
  }
  json::object& kwargs = request.chat->template_kwargs;
  if (!kwargs.contains("reasoning_effort")) kwargs["reasoning_effort"] = effort;
  if (!kwargs.contains("enable_thinking")) request.thinking = effort != "none";
  return {};
}

Status read_prompt_switches(const Fields& fields, text::Conversation& chat) {
  bool continues = false;
  SLUICE_TRY_STATUS(fields.read("continue_final_message", continues));
  SLUICE_TRY_STATUS(fields.read("add_generation_prompt", chat.add_generation_prompt));
  if (continues && chat.add_generation_prompt) {
    return bad_field("continue_final_message",
                     "continue_final_message needs \"add_generation_prompt\": false");
  }
  if (continues) {
    return unsupported_field("continue_final_message", "continue_final_message is not available yet");
  }
  if (fields.find("chat_template") != nullptr) {
    return bad_field("chat_template", "chat_template in a request is not trusted by this server");
  }
  SLUICE_TRY(const json::array* documents, fields.array("documents"));
  if (documents != nullptr) chat.template_kwargs["documents"] = *documents;
  return {};
}

}  // namespace

Status read_conversation(const Fields& fields, TextRequest& request) {
  SLUICE_TRY(const json::array* messages, fields.array("messages"));
  if (messages == nullptr || messages->empty()) {
    return bad_field("messages", "messages must be a list of at least one message");
  }
  text::Conversation& chat = request.chat.emplace();
  for (const json::value& entry : *messages) {
    const std::string path = fmt::format("messages[{}].", chat.messages.size());
    SLUICE_TRY(const Fields inner, Fields::of(entry, path));
    SLUICE_TRY(text::Message message, read_message(inner));
    chat.messages.push_back(std::move(message));
  }
  SLUICE_TRY_STATUS(read_tools(fields, chat));
  SLUICE_TRY_STATUS(read_prompt_switches(fields, chat));
  SLUICE_TRY_STATUS(read_template_kwargs(fields, request));
  return read_reasoning_effort(fields, request);
}

}  // namespace sluice::api::openai
