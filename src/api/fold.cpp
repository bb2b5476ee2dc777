#include "api/fold.h"

#include <algorithm>

namespace sluice::api {
namespace {

struct OpenChoice {
  FoldedChoice folded;
  std::vector<TokenLogprobs> waiting;
  std::map<std::int32_t, std::size_t> calls;  // call number to its place

  void take_waiting(bool is_reasoning) {
    for (TokenLogprobs& token : waiting) folded.tokens.push_back({std::move(token), is_reasoning});
    waiting.clear();
  }
  void add_call(const ToolCallStart& start) {
    calls[start.call] = folded.tool_calls.size();
    folded.tool_calls.push_back({start.id, start.name, {}});
  }
  void add_arguments(const ToolCallArguments& part) {
    const auto call = calls.find(part.call);
    if (call != calls.end()) folded.tool_calls[call->second].arguments += part.fragment;
  }
};

void add(OpenChoice& choice, const TextEvent& event) {
  if (const auto* text = std::get_if<TextDelta>(&event.body)) {
    choice.folded.content += text->text;
    choice.take_waiting(false);
  } else if (const auto* thought = std::get_if<ReasoningDelta>(&event.body)) {
    choice.folded.reasoning += thought->text;
    choice.take_waiting(true);
  } else if (const auto* start = std::get_if<ToolCallStart>(&event.body)) {
    choice.add_call(*start);
    choice.take_waiting(false);
  } else if (const auto* part = std::get_if<ToolCallArguments>(&event.body)) {
    choice.add_arguments(*part);
    choice.take_waiting(false);
  } else if (const auto* logprobs = std::get_if<LogprobsDelta>(&event.body)) {
    choice.waiting.insert(choice.waiting.end(), logprobs->tokens.begin(), logprobs->tokens.end());
  } else if (const auto* finish = std::get_if<Finish>(&event.body)) {
    choice.folded.finish = *finish;
    choice.take_waiting(false);
  }
}

}  // namespace

Folded fold(std::span<const TextEvent> events) {
  std::map<std::int32_t, OpenChoice> open;
  Folded folded;
  for (const TextEvent& event : events) {
    if (const auto* report = std::get_if<UsageReport>(&event.body)) {
      folded.usage = report->usage;
    } else if (!std::holds_alternative<PromptIds>(event.body) && !std::holds_alternative<Error>(event.body)) {
      add(open[event.choice], event);
    }
  }
  for (auto& [index, choice] : open) folded.choices.emplace(index, std::move(choice.folded));
  return folded;
}

const Error* find_error(std::span<const TextEvent> events) {
  const auto found =
      std::ranges::find_if(events, [](const TextEvent& e) { return std::holds_alternative<Error>(e.body); });
  return found == events.end() ? nullptr : &std::get<Error>(found->body);
}

}  // namespace sluice::api
