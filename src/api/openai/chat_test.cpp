#include "api/openai/chat.h"

#include <gtest/gtest.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "api/openai/errors.h"
#include "api/openai/models.h"

namespace sluice::api::openai {
namespace {

Result<ChatCall> parse(const std::string& text) {
  const Result<json::value> body = json::parse(text);
  if (!body) return tl::unexpected(body.error());
  return parse_chat(*body);
}

// A body with one user message and `more` members.
std::string with(const std::string& more) {
  return R"({"messages":[{"role":"user","content":"hi"}])" + (more.empty() ? "" : "," + more) + "}";
}

TEST(ParseChat, ReadsEveryFieldItHonours) {
  const auto good = parse(with(
      R"("model":"m","temperature":0.5,"top_p":0.9,"top_k":20,"min_p":0.1,"repetition_penalty":1.1,
         "presence_penalty":1,"frequency_penalty":-1,"seed":7,"n":2,"max_tokens":5,"min_tokens":1,
         "stop":["a","b"],"stop_token_ids":[3],"ignore_eos":true,"skip_special_tokens":false,
         "include_stop_str_in_output":true,"cache_salt":"s","logit_bias":{"5":200},"logprobs":true,
         "top_logprobs":3,"stream":true,"stream_options":{"include_usage":true},"user":"u","unknown":[1])"));
  ASSERT_TRUE(good) << good.error().message;
  const TextRequest& request = good->request;
  EXPECT_EQ(request.model, "m");
  EXPECT_FLOAT_EQ(request.sampling.temperature, 0.5F);
  EXPECT_EQ(request.sampling.top_k, 20);
  EXPECT_TRUE(request.given.temperature && request.given.top_p && request.given.top_k && request.given.min_p);
  EXPECT_TRUE(request.given.repetition_penalty && request.given.seed);
  EXPECT_EQ(request.sampling.seed, 7U);
  EXPECT_EQ(request.choices, 2);
  EXPECT_EQ(request.max_tokens, 5);
  EXPECT_EQ(request.stop, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(request.sampling.stop_token_ids, std::vector<TokenId>{3});
  EXPECT_EQ(request.sampling.logit_bias[0], (std::pair<TokenId, float>{5, 100.0F}));
  EXPECT_EQ(request.sampling.logprobs, 3);
  EXPECT_TRUE(good->stream && good->include_usage && !good->continuous_usage);
}

TEST(ParseChat, LeavesDefaultsToTheModel) {
  const auto call = parse(with(R"("temperature":null,"seed":-1,"max_tokens":null)"));
  ASSERT_TRUE(call);
  EXPECT_FALSE(call->request.given.temperature || call->request.given.seed || call->request.given.top_k);
  EXPECT_FALSE(call->request.max_tokens);
  EXPECT_FALSE(call->request.thinking);
  EXPECT_EQ(call->request.sampling.logprobs, -1);
}

TEST(ParseChat, PrefersTheNewNameOfMaxTokens) {
  EXPECT_EQ(parse(with(R"("max_tokens":5,"max_completion_tokens":9)"))->request.max_tokens, 9);
}

TEST(ParseChat, NormalisesMessages) {
  const auto call = parse(R"({"messages":[
      {"role":"developer","content":[{"type":"text","text":"first"},{"type":"text","text":"second"}]},
      {"role":"user","content":["a",{"type":"input_text","text":"b"}]},
      {"role":"assistant","content":null,"reasoning_content":"why","tool_calls":[
        {"id":"1","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}},
        {"id":"2","type":"function","function":{"name":"g","arguments":"not json"}}]},
      {"role":"tool","tool_call_id":"1","content":"42"}]})");
  ASSERT_TRUE(call) << call.error().message;
  const auto& messages = call->request.chat->messages;
  EXPECT_EQ(messages[0].role, "system");
  EXPECT_EQ(messages[0].content, "first\nsecond");  // field report F008
  EXPECT_EQ(messages[1].content, "a\nb");
  EXPECT_EQ(messages[2].content, "");  // field report F007
  EXPECT_EQ(messages[2].reasoning, "why");
  EXPECT_EQ(messages[2].tool_calls[0].arguments.as_object().at("x").as_int64(), 1);
  EXPECT_EQ(messages[2].tool_calls[1].arguments.as_string(), "not json");
  EXPECT_EQ(messages[3].tool_call_id, "1");
}

TEST(ParseChat, KnowsTheWaysToSwitchThinking) {
  EXPECT_EQ(parse(with(R"("chat_template_kwargs":{"enable_thinking":false})"))->request.thinking, false);
  EXPECT_EQ(parse(with(R"("reasoning_effort":"none")"))->request.thinking, false);
  EXPECT_EQ(parse(with(R"("reasoning_effort":"low")"))->request.thinking, true);
  const auto both =
      parse(with(R"("reasoning_effort":"none","chat_template_kwargs":{"enable_thinking":true})"));
  EXPECT_EQ(both->request.thinking, true);
}

TEST(ParseChat, PassesToolsWithChoiceNone) {
  const auto call =
      parse(with(R"("tools":[{"type":"function","function":{"name":"f"}}],"tool_choice":"none")"));
  ASSERT_TRUE(call);
  EXPECT_EQ(call->request.chat->tools.size(), 1U);
}

struct Refusal {
  const char* more;
  const char* param;
  ErrorCode code = ErrorCode::kInvalidArgument;
};

TEST(ParseChat, RefusesWithTheFieldsName) {
  constexpr auto kNotYet = ErrorCode::kUnimplemented;
  const char* tool = R"("tools":[{"type":"function","function":{"name":"f"}}])";
  const std::string with_tool = std::string(tool) + ",";
  const std::string named = with_tool + R"("tool_choice":{"type":"function","function":{"name":"g"}})";
  const std::string known = with_tool + R"("tool_choice":{"type":"function","function":{"name":"f"}})";
  const std::string nameless = with_tool + R"("tool_choice":{"type":"function"})";
  const std::string unknown = with_tool + R"("tool_choice":"maybe")";
  const std::string required = with_tool + R"("tool_choice":"required")";
  const Refusal refusals[] = {
      {R"("stream_options":{"include_usage":true})", "stream_options"},
      {R"("stream":true,"prompt_logprobs":1)", "prompt_logprobs"},
      {R"("prompt_logprobs":-2)", "prompt_logprobs"},
      {R"("logprobs":true,"top_logprobs":-2)", "top_logprobs"},
      {R"("logprobs":true,"top_logprobs":1.5)", "top_logprobs"},
      {R"("logprobs":true,"top_logprobs":21)", "top_logprobs"},
      {R"("top_logprobs":2)", "top_logprobs"},
      {R"("n":0)", "n"},
      {R"("n":2,"temperature":0)", "n"},
      {R"("structured_outputs":{"json":{},"regex":"a"})", "structured_outputs"},
      {R"("structured_outputs":{"regex":"a"})", "structured_outputs", kNotYet},
      {R"("guided_json":{})", "guided_json", kNotYet},
      {R"("response_format":{"type":"json_schema","json_schema":{}})", "response_format"},
      {R"("response_format":{"type":"json_object"})", "response_format", kNotYet},
      {R"("response_format":{"type":"xml"})", "response_format"},
      {R"("cache_salt":"")", "cache_salt"},
      {R"("priority":1)", "priority"},
      {R"("allowed_token_ids":[])", "allowed_token_ids"},
      {R"("logit_bias":{"a":1})", "logit_bias"},
      {R"("logit_bias":{"1":"x"})", "logit_bias"},
      {R"("bad_words":[""])", "bad_words"},
      {R"("stop":"")", "stop"},
      {R"("stop":["a",""])", "stop"},
      {R"("stop":[1])", "stop"},
      {R"("stop_token_ids":[-1])", "stop_token_ids"},
      {R"("min_tokens":9,"max_tokens":3)", "min_tokens"},
      {R"("max_tokens":0)", "max_tokens"},
      {R"("max_completion_tokens":0)", "max_completion_tokens"},
      {R"("max_tokens":"5")", "max_tokens"},
      {R"("max_tokens":1e300)", "max_tokens"},
      {R"("temperature":"hot")", "temperature"},
      {R"("stream":1)", "stream"},
      {R"("tools":[])", "tools"},
      {R"("tool_choice":"auto")", "tool_choice"},
      {tool, "tool_choice"},
      {named.c_str(), "tool_choice"},
      {nameless.c_str(), "tool_choice"},
      {unknown.c_str(), "tool_choice"},
      {known.c_str(), "tool_choice", kNotYet},
      {required.c_str(), "tool_choice", kNotYet},
      {R"("continue_final_message":true)", "continue_final_message"},
      {R"("chat_template":"x")", "chat_template"},
      {R"("chat_template_kwargs":{"chat_template":"x"})", "chat_template_kwargs"},
      {R"("reasoning_effort":"huge")", "reasoning_effort"},
      {R"("use_beam_search":true)", "use_beam_search", kNotYet},
      {R"("thinking_token_budget":5)", "thinking_token_budget", kNotYet},
  };
  for (const Refusal& refusal : refusals) {
    const auto call = parse(with(refusal.more));
    ASSERT_FALSE(call) << refusal.more;
    EXPECT_EQ(call.error().param, refusal.param) << refusal.more << ": " << call.error().message;
    EXPECT_EQ(call.error().code, refusal.code) << refusal.more;
    EXPECT_NE(call.error().message.find(refusal.param), std::string::npos) << call.error().message;
  }
}

TEST(ParseChat, RefusesBadMessages) {
  const std::pair<const char*, const char*> cases[] = {
      {R"([])", ""},
      {R"({})", "messages"},
      {R"({"messages":[]})", "messages"},
      {R"({"messages":"hi"})", "messages"},
      {R"({"messages":[1]})", "messages[0]"},
      {R"({"messages":[{"role":"wizard","content":"a"}]})", "messages[0].role"},
      {R"({"messages":[{"role":"user","content":5}]})", "messages[0].content"},
      {R"({"messages":[{"role":"user","content":[{"type":"image_url"}]}]})", "messages[0].content[0].type"},
      {R"({"messages":[{"role":"assistant","tool_calls":[{}]}]})", "messages[0].tool_calls[0].function"}};
  for (const auto& [body, param] : cases) {
    const auto call = parse(body);
    ASSERT_FALSE(call) << body;
    EXPECT_EQ(call.error().param, param) << call.error().message;
  }
  EXPECT_NE(parse(R"({"messages":[{"role":"user","content":[{"type":"image_url"}]}]})")
                .error()
                .message.find("image_url"),
            std::string::npos);
  EXPECT_NE(
      parse(with(R"("tools":[{"function":{"name":"f"}}])")).error().message.find("--enable-auto-tool-choice"),
      std::string::npos);
}

const ReplyHeader kHeader{"chatcmpl-1", "m", 1760000000};
const std::string kPrefix =
    R"(data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1760000000,"model":"m","choices":)";

TEST(ChatStream, WritesTheFramesOfTheSpecification) {
  ChatCall call;
  call.include_usage = true;
  ChatStreamWriter writer(kHeader, call);
  EXPECT_EQ(writer.write({0, PromptIds{{1, 2}}}), "");
  EXPECT_EQ(writer.write({0, RoleDelta{"assistant"}}), "");  // not before the first token
  const std::string tail = R"(,"logprobs":null,"finish_reason":null}]})"
                           "\n\n";
  EXPECT_EQ(writer.write({0, ReasoningDelta{"Hm"}}),
            kPrefix + R"([{"index":0,"delta":{"role":"assistant","content":""})" + tail + kPrefix +
                R"([{"index":0,"delta":{"reasoning":"Hm","reasoning_content":"Hm"})" + tail);
  EXPECT_EQ(writer.write({0, TextDelta{"你"}}), kPrefix + R"([{"index":0,"delta":{"content":"你"})" + tail);
  EXPECT_EQ(writer.write({0, Finish{FinishReason::kStop, "END", {}}}),
            kPrefix +
                R"([{"index":0,"delta":{},"logprobs":null,"finish_reason":"stop","stop_reason":"END"}]})"
                "\n\n");
  Usage usage;
  usage.prompt_tokens = 2;
  usage.completion_tokens = 3;
  usage.reasoning_tokens = 1;
  EXPECT_EQ(writer.write({0, UsageReport{usage}}),
            kPrefix + R"([],"usage":{"prompt_tokens":2,"total_tokens":5,"completion_tokens":3,)"
                      R"("prompt_tokens_details":{"cached_tokens":0},)"
                      R"("completion_tokens_details":{"reasoning_tokens":1}}})"
                      "\n\ndata: [DONE]\n\n");
}

TEST(ChatStream, EndsWithTheErrorAndDone) {
  ChatStreamWriter writer(kHeader, ChatCall{});
  writer.write({0, TextDelta{"a"}});
  EXPECT_EQ(writer.write({0, Error{ErrorCode::kInternal, "broke at 0x7ffe12 here", ""}}),
            R"(data: {"error":{"message":"broke here","type":"InternalServerError","param":null,"code":500}})"
            "\n\ndata: [DONE]\n\n");
}

TEST(ChatStream, HidesReasoningWithItsLogprobs) {
  ChatCall call;
  call.include_reasoning = false;
  call.logprobs = true;
  ChatStreamWriter writer(kHeader, call);
  writer.write({0, LogprobsDelta{{{{7, "secret", -1.0F}, {}}}}});
  std::string frames = writer.write({0, ReasoningDelta{"secret"}});
  frames += writer.write({0, LogprobsDelta{{{{8, "\xE9\xBE", -0.5F}, {}}}}});
  frames += writer.write({0, TextDelta{"ok"}});
  EXPECT_EQ(frames.find("secret"), std::string::npos);
  EXPECT_NE(frames.find(R"("logprobs":{"content":[{"token":")"
                        "\xEF\xBF\xBD\xEF\xBF\xBD"
                        R"(","logprob":-0.5,"bytes":[233,190],"top_logprobs":[]}]})"),
            std::string::npos)
      << frames;
}

TEST(ChatReply, NamesOnlyStopTokensOfTheRequest) {
  ChatCall call;
  call.stop_token_ids = {5};
  const std::vector<TextEvent> stop = {{0, Finish{FinishReason::kStop, {}, 5}}};
  const std::vector<TextEvent> end = {{0, Finish{FinishReason::kStop, {}, 6}}};
  EXPECT_NE(chat_reply(kHeader, call, stop).find(R"("stop_reason":5)"), std::string::npos);
  EXPECT_NE(chat_reply(kHeader, call, end).find(R"("stop_reason":null)"), std::string::npos);
}

TEST(Errors, HaveStatusAndType) {
  EXPECT_EQ(error_reply({ErrorCode::kInvalidArgument, "n must be 1", "n"}).body,
            R"({"error":{"message":"n must be 1","type":"BadRequestError","param":"n","code":400}})");
  EXPECT_EQ(error_reply({ErrorCode::kNotFound, "x", ""}).status, 404);
  EXPECT_EQ(error_reply({ErrorCode::kUnimplemented, "x", ""}).status, 501);
  EXPECT_EQ(error_reply({ErrorCode::kUnavailable, "x", ""}).status, 503);
}

TEST(Models, HaveVllmsCard) {
  const ModelCard card{"q", "/m/q", 5, 4096};
  EXPECT_EQ(
      models_reply({&card, 1}),
      R"({"object":"list","data":[{"id":"q","object":"model","created":5,"owned_by":"vllm","root":"/m/q",)"
      R"("parent":null,"max_model_len":4096,"permission":[{"id":"modelperm-q","object":"model_permission",)"
      R"("created":5,"allow_create_engine":false,"allow_sampling":true,"allow_logprobs":true,)"
      R"("allow_search_indices":false,"allow_view":true,"allow_fine_tuning":false,"organization":"*",)"
      R"("group":null,"is_blocking":false}]}]})");
}

}  // namespace
}  // namespace sluice::api::openai
