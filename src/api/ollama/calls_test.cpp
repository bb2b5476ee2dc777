#include "api/ollama/calls.h"

#include <gtest/gtest.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

namespace sluice::api::ollama {
namespace {

Result<GenerateCall> generate(const std::string& text) {
  const Result<json::value> body = json::parse(text);
  if (!body) return tl::unexpected(body.error());
  return parse_generate(*body);
}

Result<GenerateCall> chat(const std::string& text) {
  const Result<json::value> body = json::parse(text);
  if (!body) return tl::unexpected(body.error());
  return parse_chat(*body);
}

// The options of a chat request.
Result<GenerateCall> with(const std::string& options) {
  return chat(R"({"model":"m","messages":[{"role":"user","content":"hi"}],"options":)" + options + "}");
}

TEST(ParseGenerate, MakesAConversation) {
  const auto call = generate(R"({"model":"m","prompt":"hi","system":"s","THINK":false,"stream":false})");
  ASSERT_TRUE(call) << call.error().message;
  EXPECT_FALSE(call->stream || call->is_chat || call->raw || call->load_only || call->unload);
  const auto& messages = call->request.chat->messages;
  ASSERT_EQ(messages.size(), 2U);
  EXPECT_EQ(messages[0].role, "system");
  EXPECT_EQ(messages[1].content, "hi");
  EXPECT_EQ(call->request.thinking, false);  // names match in any case, as in Go
  EXPECT_TRUE(call->request.shift_or_truncate);
}

TEST(ParseGenerate, LeavesARawPromptAlone) {
  const auto call = generate(R"({"model":"m","prompt":"<|im_start|>","raw":true})");
  ASSERT_TRUE(call);
  EXPECT_EQ(call->request.prompt, "<|im_start|>");
  EXPECT_FALSE(call->request.chat || call->request.split_reasoning);
}

TEST(ParseGenerate, LoadsAndUnloadsWithoutAPrompt) {
  const auto load = generate(R"({"model":"m"})");
  EXPECT_TRUE(load->load_only && !load->unload && !load->request.chat && !load->request.prompt);
  EXPECT_TRUE(load->stream);
  for (const char* zero : {"0", "\"0\"", "\"0s\"", "0.0"}) {
    const auto call = generate(R"({"model":"m","keep_alive":)" + std::string(zero) + "}");
    EXPECT_TRUE(call->unload && !call->load_only) << zero;
  }
  EXPECT_TRUE(chat(R"({"model":"m","messages":[],"keep_alive":0})")->unload);
  EXPECT_TRUE(chat(R"({"model":"m","keep_alive":"5m"})")->load_only);
}

TEST(ParseChat, ReadsMessages) {
  const auto call = chat(R"({"model":"m","messages":[
      {"role":"User","content":"a"},
      {"role":"assistant","content":null,"thinking":"t","tool_calls":[
        {"function":{"name":"f","arguments":{"b":1,"a":2}}}]},
      {"role":"tool","content":"r","tool_name":"f"}],"think":"high","truncate":false})");
  ASSERT_TRUE(call) << call.error().message;
  const auto& messages = call->request.chat->messages;
  EXPECT_EQ(messages[0].role, "user");
  EXPECT_EQ(messages[1].reasoning, "t");
  EXPECT_EQ(messages[1].tool_calls[0].arguments.as_object().begin()->key(), "b");
  EXPECT_EQ(messages[2].tool_name, "f");
  EXPECT_EQ(call->request.thinking, true);
  EXPECT_EQ(call->request.chat->template_kwargs.at("reasoning_effort").as_string(), "high");
  EXPECT_FALSE(call->request.shift_or_truncate);
}

TEST(ParseChat, ReadsOptions) {
  const auto call = with(R"({"temperature":0.5,"top_k":-1,"top_p":1.5,"min_p":0.1,"seed":7.9,"num_predict":5,
      "num_ctx":2,"repeat_penalty":1.2,"repeat_last_n":-5,"presence_penalty":0.5,"stop":["x",""],
      "mirostat":2,"numa":true,"thinking":false})");
  ASSERT_TRUE(call) << call.error().message;
  const TextRequest& request = call->request;
  EXPECT_FLOAT_EQ(request.sampling.temperature, 0.5F);
  EXPECT_EQ(request.sampling.top_k, 0);
  EXPECT_FLOAT_EQ(request.sampling.top_p, 1.0F);
  EXPECT_EQ(request.sampling.seed, 7U);
  EXPECT_EQ(request.max_tokens, 5);
  EXPECT_EQ(request.context_tokens_max, 4);
  EXPECT_FLOAT_EQ(request.sampling.repetition_penalty, 1.2F);
  EXPECT_EQ(request.sampling.repetition_window, -1);
  EXPECT_EQ(request.stop, std::vector<std::string>{"x"});
  EXPECT_EQ(request.thinking, false);
  EXPECT_TRUE(request.given.temperature && request.given.top_k && request.given.seed);
}

TEST(ParseChat, LeavesDefaultsToTheModel) {
  const auto call = with(R"({"temperature":null,"seed":-1,"num_predict":-1,"num_ctx":0})");
  ASSERT_TRUE(call);
  EXPECT_FALSE(call->request.given.temperature || call->request.given.seed || call->request.given.top_p);
  EXPECT_FALSE(call->request.max_tokens || call->request.context_tokens_max || call->request.thinking);
  EXPECT_EQ(call->request.sampling.repetition_window, 64);
}

TEST(ParseOllama, RefusesWithOllamasTexts) {
  struct Case {
    const char* body;
    const char* message;
    ErrorCode code = ErrorCode::kInvalidArgument;
  };
  constexpr auto kNotYet = ErrorCode::kUnimplemented;
  const Case generate_cases[] = {
      {"{}", "model '' not found", ErrorCode::kNotFound},
      {R"({"model":"m","prompt":"a","top_logprobs":21})", "top_logprobs must be between 0 and 20"},
      {R"({"model":"m","prompt":"a","raw":true,"system":"s"})",
       "raw mode does not support template, system, or context"},
      {R"({"model":"m","prompt":"a","think":"extreme"})",
       "invalid think value: \"extreme\" (must be \"high\", \"medium\", \"low\", \"max\", true, or false)"},
      {R"({"model":"m","prompt":"a","think":1})",
       "think must be a boolean or string (\"high\", \"medium\", \"low\", \"max\", true, or false)"},
      {R"({"model":"m","prompt":"a","suffix":"b"})", "m does not support insert"},
      {R"({"model":"m","prompt":"a","keep_alive":"10"})", "time: missing unit in duration \"10\""},
      {R"({"model":"m","prompt":"a","keep_alive":"x"})", "time: invalid duration \"x\""},
      {R"({"model":"m","prompt":"a","keep_alive":"5q"})", "time: unknown unit \"q\" in duration \"5q\""},
      {R"({"model":"m","prompt":"a","keep_alive":true})", "Unsupported type: 'bool'"},
      {R"({"model":"m","prompt":"a","template":"t"})", "template: ", kNotYet},
      {R"({"model":"m","prompt":"a","context":[1]})", "context: ", kNotYet},
      {R"({"model":"m","prompt":"a","images":["x"]})", "images: ", kNotYet},
      {R"({"model":"m","prompt":"a","format":"json"})", "format: ", kNotYet},
      {R"({"model":"m","prompt":"a","format":"xml"})", "invalid format"},
      {R"({"model":"m","prompt":5})", "prompt must be a string"},
  };
  for (const Case& test : generate_cases) {
    const auto call = generate(test.body);
    ASSERT_FALSE(call) << test.body;
    EXPECT_TRUE(call.error().message.starts_with(test.message)) << call.error().message;
    EXPECT_EQ(call.error().code, test.code) << test.body;
  }
  const Case chat_cases[] = {
      {"{}", "model is required"},
      {R"({"model":"m","messages":{}})", "messages must be a list"},
      {R"({"model":"m","messages":[{"role":"user","images":["x"]}]})", "messages[0].images", kNotYet},
      {R"({"model":"m","messages":[{"role":"user","content":"a"}],"tools":[{}]})",
       "m does not support tools"},
  };
  for (const Case& test : chat_cases) {
    const auto call = chat(test.body);
    ASSERT_FALSE(call) << test.body;
    EXPECT_TRUE(call.error().message.starts_with(test.message)) << call.error().message;
    EXPECT_EQ(call.error().code, test.code) << test.body;
  }
  EXPECT_EQ(with(R"({"temperature":"hot"})").error().message,
            "option \"temperature\" must be of type float32");
  EXPECT_EQ(with(R"({"seed":true})").error().message, "option \"seed\" must be of type integer");
  EXPECT_EQ(with(R"({"stop":"x"})").error().message, "option \"stop\" must be of an array of strings");
  EXPECT_EQ(with(R"({"thinking":1})").error().message, "option \"thinking\" must be of type boolean");
}

TEST(KeepAlive, ReadsNumbersAndGoDurations) {
  const std::pair<const char*, std::int64_t> cases[] = {
      {"300", 300},     {"1.5", 2},         {"\"5m\"", 300}, {"\"1h30m\"", 5400},
      {"\"300ms\"", 1}, {"\"1.5h\"", 5400}, {"\"+2s\"", 2},  {"\"100\xC2\xB5s\"", 1}};
  for (const auto& [text, seconds] : cases) {
    const auto keep = parse_keep_alive(*json::parse(text));
    ASSERT_TRUE(keep) << text;
    EXPECT_EQ(keep->value.count(), seconds) << text;
    EXPECT_FALSE(keep->forever);
  }
  for (const char* text : {"-1", "\"-1m\"", "1e300", "\"9999999999h\""}) {
    EXPECT_TRUE(parse_keep_alive(*json::parse(text))->forever) << text;
  }
  for (const char* text : {"\"\"", "\"-\"", "\"1.2.3s\"", "\".s\"", "\"m5\"", "[]"}) {
    EXPECT_FALSE(parse_keep_alive(*json::parse(text))) << text;
  }
}

}  // namespace
}  // namespace sluice::api::ollama
