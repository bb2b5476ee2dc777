// The pieces of a stream, put together, are the plain reply: for random event logs, in every wire format.
#include <gtest/gtest.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/string.hpp>
#include <boost/json/value_to.hpp>
#include <random>

#include "api/fold.h"
#include "api/ollama/writer.h"
#include "api/openai/chat.h"
#include "api/openai/completions.h"

namespace sluice::api {
namespace {

constexpr int kLogs = 300;

struct LogKind {
  std::int32_t choices = 1;
  bool reasoning = false;
  bool tools = false;
  bool logprobs = false;
};

class LogMaker {
 public:
  explicit LogMaker(std::uint32_t seed) : random_(seed) {}

  std::vector<TextEvent> make(const LogKind& kind) {
    std::vector<std::vector<TextEvent>> choices;
    for (std::int32_t i = 0; i < kind.choices; ++i) choices.push_back(make_choice(i, kind));
    std::vector<TextEvent> log = {{0, PromptIds{{1, 2, 3}}}};
    while (!choices.empty()) {  // interleaved at random
      auto& choice = choices[random_() % choices.size()];
      log.push_back(choice.front());
      choice.erase(choice.begin());
      std::erase_if(choices, [](const auto& rest) { return rest.empty(); });
    }
    Usage usage;
    usage.prompt_tokens = 3;
    usage.completion_tokens = 17;
    log.push_back({0, UsageReport{usage}});
    return log;
  }
  std::uint32_t pick(std::uint32_t below) { return static_cast<std::uint32_t>(random_() % below); }

 private:
  std::string text() {
    constexpr std::string_view kPieces[] = {"a",  "\"",       "\\", "\n", "你",
                                            "🙂", "</think>", "é",  " ",  "data: "};
    std::string text;
    for (std::uint32_t i = 0; i <= pick(3); ++i) text += kPieces[pick(std::size(kPieces))];
    return text;
  }
  void add_logprobs(std::int32_t choice, std::vector<TextEvent>& log) {
    LogprobsDelta delta;
    for (std::uint32_t i = 0; i <= pick(2); ++i) {
      TokenText token{static_cast<TokenId>(pick(100)), text(), -static_cast<float>(pick(8))};
      delta.tokens.push_back({token, {token, {5, "\xE9", -1.0F}}});
    }
    log.push_back({choice, std::move(delta)});
  }
  std::vector<TextEvent> make_choice(std::int32_t choice, const LogKind& kind) {
    std::vector<TextEvent> log = {{choice, RoleDelta{"assistant"}}};
    const auto add = [&](auto body) {
      if (kind.logprobs && pick(3) != 0) add_logprobs(choice, log);
      log.push_back({choice, std::move(body)});
    };
    for (std::uint32_t i = pick(6); kind.reasoning && i > 0; --i) add(ReasoningDelta{text()});
    for (std::uint32_t i = pick(9); i > 0; --i) add(TextDelta{text()});
    const auto calls = static_cast<std::int32_t>(kind.tools ? pick(3) : 0);
    for (std::int32_t call = 0; call < calls; ++call) {
      log.push_back({choice, ToolCallStart{call, fmt::format("call_{}", call), "f"}});
      for (const char* part : {"{\"a\"", ": \"x", "}\"", "}"}) {
        log.push_back({choice, ToolCallArguments{call, part}});
      }
      log.push_back({choice, ToolCallEnd{call}});
    }
    if (kind.logprobs && pick(2) == 0) add_logprobs(choice, log);
    Finish finish;
    finish.reason = calls > 0 ? FinishReason::kToolCalls : FinishReason::kStop;
    if (pick(2) == 0) finish.stop_string = text();
    log.push_back({choice, finish});
    return log;
  }
  std::mt19937 random_;
};

json::value parse(std::string_view text) {
  auto value = json::parse(text);
  EXPECT_TRUE(value) << text;
  return value ? *value : json::value(json::object{});
}

// Splits "data: {...}\n\n" frames; checks that the last is [DONE].
std::vector<json::object> frames_of(std::string_view stream) {
  std::vector<json::object> frames;
  bool is_done = false;
  while (!stream.empty()) {
    const std::size_t end = stream.find("\n\n");
    EXPECT_NE(end, std::string_view::npos);
    EXPECT_FALSE(is_done);
    const std::string_view data = stream.substr(6, end - 6);
    is_done = data == "[DONE]";
    if (!is_done) frames.push_back(parse(data).as_object());
    stream.remove_prefix(end + 2);
  }
  EXPECT_TRUE(is_done);
  return frames;
}

void append(json::value& target, const json::value& piece) {
  if (piece.is_null()) return;
  if (target.is_null()) target = json::string();
  target.as_string().append(piece.as_string());
}

// Adds the lists of one "logprobs" object to another, whatever their names.
void append_lists(json::value& target, const json::value& piece) {
  if (piece.is_null()) return;
  if (target.is_null()) target = json::object{};
  for (const auto& entry : piece.as_object()) {
    json::value& list = target.as_object()[entry.key()];
    if (list.is_null()) list = json::array{};
    for (const json::value& item : entry.value().as_array()) list.as_array().push_back(item);
  }
}

struct Assembled {
  json::value role, content, reasoning, text, logprobs, finish_reason, stop_reason;
  std::map<std::int64_t, std::array<json::value, 3>> calls;  // id, name, arguments
};

void add_delta(Assembled& choice, const json::object& delta) {
  EXPECT_TRUE(!delta.contains("role") || choice.role.is_null());
  for (const auto& [name, target] : {std::pair{"role", &choice.role}, std::pair{"content", &choice.content},
                                     std::pair{"reasoning", &choice.reasoning}}) {
    if (delta.contains(name)) append(*target, delta.at(name));
  }
  if (!delta.contains("tool_calls")) return;
  for (const json::value& entry : delta.at("tool_calls").as_array()) {
    auto& [id, name, arguments] = choice.calls[entry.at("index").as_int64()];
    const json::object& function = entry.at("function").as_object();
    if (entry.as_object().contains("id")) {
      EXPECT_TRUE(id.is_null());
      id = entry.at("id");
      name = function.at("name");
    }
    append(arguments, function.at("arguments"));
  }
}

std::map<std::int64_t, Assembled> assemble(const std::vector<json::object>& frames) {
  std::map<std::int64_t, Assembled> choices;
  for (const json::object& frame : frames) {
    if (frame.at("choices").as_array().empty()) continue;
    const json::object& piece = frame.at("choices").as_array().at(0).as_object();
    Assembled& choice = choices[piece.at("index").as_int64()];
    EXPECT_TRUE(choice.finish_reason.is_null()) << "nothing may follow the finish";
    if (piece.contains("delta")) add_delta(choice, piece.at("delta").as_object());
    if (piece.contains("text")) append(choice.text, piece.at("text"));
    append_lists(choice.logprobs, piece.at("logprobs"));
    choice.finish_reason = piece.at("finish_reason");
    if (piece.contains("stop_reason")) choice.stop_reason = piece.at("stop_reason");
  }
  return choices;
}

json::value none_if_empty(const json::value& value) {
  return value.is_string() && value.as_string().empty() ? json::value() : value;
}

void expect_same_chat(Assembled& choice, const json::object& whole) {
  const json::object& message = whole.at("message").as_object();
  EXPECT_EQ(choice.role, message.at("role"));
  EXPECT_EQ(none_if_empty(choice.content), none_if_empty(message.at("content")));
  const json::value* reasoning = message.if_contains("reasoning");
  EXPECT_EQ(none_if_empty(choice.reasoning), reasoning == nullptr ? json::value() : *reasoning);
  const json::value* calls = message.if_contains("tool_calls");
  ASSERT_EQ(choice.calls.size(), calls == nullptr ? 0U : calls->as_array().size());
  for (auto& [index, call] : choice.calls) {
    const json::value& expected = calls->as_array().at(static_cast<std::size_t>(index));
    EXPECT_EQ(call[0], expected.at("id"));
    EXPECT_EQ(call[1], expected.at("function").at("name"));
    EXPECT_EQ(call[2], expected.at("function").at("arguments"));
  }
}

void expect_same_end(const Assembled& choice, const json::object& whole) {
  EXPECT_EQ(choice.finish_reason, whole.at("finish_reason"));
  EXPECT_EQ(choice.stop_reason, whole.at("stop_reason"));
  json::value expected = whole.at("logprobs");
  const bool is_empty = expected.is_object() && expected.as_object().begin()->value().as_array().empty();
  EXPECT_EQ(choice.logprobs, is_empty ? json::value() : expected);
}

TEST(StreamFold, ChatStreamsAddUpToTheReply) {
  for (int i = 0; i < kLogs; ++i) {
    LogMaker maker(static_cast<std::uint32_t>(i));
    openai::ChatCall call;
    call.logprobs = maker.pick(2) == 0;
    call.include_usage = maker.pick(2) == 0;
    call.continuous_usage = call.include_usage && maker.pick(2) == 0;
    call.include_reasoning = maker.pick(4) != 0;
    if (maker.pick(4) == 0) call.echo = "once upon";
    const auto log =
        maker.make({static_cast<std::int32_t>(1 + maker.pick(3)), true, maker.pick(2) == 0, call.logprobs});
    const openai::ReplyHeader header{"chatcmpl-1", "m", 1};
    openai::ChatStreamWriter writer(header, call);
    std::string stream;
    for (const TextEvent& event : log) stream += writer.write(event);
    const auto frames = frames_of(stream);
    auto choices = assemble(frames);
    const json::value whole = parse(openai::chat_reply(header, call, log));
    ASSERT_EQ(choices.size(), whole.at("choices").as_array().size());
    for (auto& [index, choice] : choices) {
      const auto& expected = whole.at("choices").as_array().at(static_cast<std::size_t>(index)).as_object();
      expect_same_chat(choice, expected);
      expect_same_end(choice, expected);
    }
    EXPECT_EQ(frames.back().at("choices").as_array().empty(), call.include_usage);
    if (call.include_usage) {
      EXPECT_EQ(frames.back().at("usage"), whole.at("usage"));
    }
  }
}

TEST(StreamFold, CompletionStreamsAddUpToTheReply) {
  for (int i = 0; i < kLogs; ++i) {
    LogMaker maker(static_cast<std::uint32_t>(i));
    openai::CompletionCall call;
    call.logprobs = maker.pick(2) == 0 ? 2 : -1;
    call.echo = call.logprobs < 0 && maker.pick(2) == 0;
    call.choices = static_cast<std::int32_t>(1 + maker.pick(2));
    call.prompt_texts = {"first", "二"};
    call.include_usage = maker.pick(2) == 0;
    const auto log = maker.make({call.choices * 2, false, false, call.logprobs >= 0});
    const openai::ReplyHeader header{"cmpl-1", "m", 1};
    openai::CompletionStreamWriter writer(header, call);
    std::string stream;
    for (const TextEvent& event : log) stream += writer.write(event);
    const auto frames = frames_of(stream);
    const json::value whole = parse(openai::completion_reply(header, call, log));
    for (const auto& [index, choice] : assemble(frames)) {
      const auto& expected = whole.at("choices").as_array().at(static_cast<std::size_t>(index)).as_object();
      EXPECT_EQ(choice.text, expected.at("text"));
      expect_same_end(choice, expected);
    }
    if (call.include_usage) {
      EXPECT_EQ(frames.back().at("usage"), whole.at("usage"));
    }
  }
}

struct Lines {
  json::value content, thinking, logprobs = json::array{}, calls = json::array{};
  json::object last;
};

Lines read_lines(std::string_view stream, bool is_chat) {
  Lines lines;
  while (!stream.empty()) {
    const std::size_t end = stream.find('\n');
    EXPECT_GT(end, 0U) << "a blank line breaks clients";
    lines.last = parse(stream.substr(0, end)).as_object();
    const json::object& part = is_chat ? lines.last.at("message").as_object() : lines.last;
    append(lines.content, part.at(is_chat ? "content" : "response"));
    if (part.contains("thinking")) append(lines.thinking, part.at("thinking"));
    for (const auto& [from, name, to] : {std::tuple{&part, "tool_calls", &lines.calls},
                                         std::tuple<const json::object*, const char*, json::value*>{
                                             &lines.last, "logprobs", &lines.logprobs}}) {
      if (!from->contains(name)) continue;
      for (const json::value& item : from->at(name).as_array()) to->as_array().push_back(item);
    }
    stream.remove_prefix(end + 1);
    EXPECT_EQ(lines.last.at("done").as_bool(), stream.empty());
  }
  return lines;
}

json::value member(const json::object& object, const char* name, json::value otherwise) {
  return object.contains(name) ? object.at(name) : otherwise;
}

TEST(StreamFold, OllamaLinesAddUpToTheReply) {
  for (int i = 0; i < kLogs; ++i) {
    LogMaker maker(static_cast<std::uint32_t>(i));
    ollama::GenerateCall call;
    call.is_chat = maker.pick(2) == 0;
    const auto log = maker.make({1, true, maker.pick(2) == 0, maker.pick(2) == 0});
    ollama::ReplyHeader header{"m", [] { return std::chrono::system_clock::time_point(); }};
    ollama::StreamWriter writer(header, call);
    std::string stream;
    for (const TextEvent& event : log) stream += writer.write(event);
    const Lines lines = read_lines(stream, call.is_chat);
    const json::object whole = parse(ollama::reply(header, call, log)).as_object();
    const json::object& part = call.is_chat ? whole.at("message").as_object() : whole;
    EXPECT_EQ(lines.content, part.at(call.is_chat ? "content" : "response"));
    EXPECT_EQ(lines.thinking, member(part, "thinking", nullptr));
    EXPECT_EQ(lines.calls, member(part, "tool_calls", json::array{}));
    EXPECT_EQ(lines.logprobs, member(whole, "logprobs", json::array{}));
    for (const char* name : {"done_reason", "total_duration", "eval_count", "prompt_eval_count"}) {
      EXPECT_EQ(lines.last.at(name), whole.at(name));
    }
  }
}

TEST(Fold, FindsTheErrorThatEndedALog) {
  const std::vector<TextEvent> log = {{0, TextDelta{"a"}}, {0, Error{ErrorCode::kInternal, "x", ""}}};
  ASSERT_NE(find_error(log), nullptr);
  EXPECT_EQ(find_error(log)->message, "x");
  EXPECT_EQ(find_error(std::span(log).first(1)), nullptr);
}

}  // namespace
}  // namespace sluice::api
