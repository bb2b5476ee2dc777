#include "api/openai/completions.h"

#include <gtest/gtest.h>

namespace sluice::api::openai {
namespace {

Result<CompletionCall> parse(const std::string& text) {
  const Result<json::value> body = json::parse(text);
  if (!body) return tl::unexpected(body.error());
  return parse_completion(*body);
}

TEST(ParseCompletion, ReadsPromptsInFourForms) {
  EXPECT_EQ(parse(R"({"prompt":"a"})")->requests[0].prompt, "a");
  const auto texts = parse(R"({"prompt":["a","b"],"n":2,"temperature":1})");
  ASSERT_EQ(texts->requests.size(), 2U);
  EXPECT_EQ(texts->requests[1].prompt, "b");
  EXPECT_EQ(texts->choices, 2);
  EXPECT_EQ(parse(R"({"prompt":[1,2]})")->requests[0].prompt_ids, (std::vector<TokenId>{1, 2}));
  const auto ids = parse(R"({"prompt":[[1],[2,3]]})");
  ASSERT_EQ(ids->requests.size(), 2U);
  EXPECT_EQ(ids->requests[1].prompt_ids, (std::vector<TokenId>{2, 3}));
  EXPECT_FALSE(ids->requests[1].prompt);
}

TEST(ParseCompletion, HasItsOwnDefaults) {
  const auto call = parse(R"({"prompt":"a","max_tokens":null})");
  EXPECT_EQ(call->requests[0].max_tokens, 16);
  EXPECT_FALSE(call->requests[0].split_reasoning);
  EXPECT_EQ(call->logprobs, -1);
  const auto echo = parse(R"({"prompt":"a","max_tokens":0,"echo":true})");
  ASSERT_TRUE(echo);
  EXPECT_TRUE(echo->drops_output);
}

TEST(ParseCompletion, RefusesWithTheFieldsName) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({})", "prompt"},
      {R"({"prompt":""})", "prompt"},
      {R"({"prompt":[]})", "prompt"},
      {R"({"prompt":["a",""]})", "prompt"},
      {R"({"prompt":["a",1]})", "prompt"},
      {R"({"prompt":[1,"a"]})", "prompt"},
      {R"({"prompt":[[1],"a"]})", "prompt"},
      {R"({"prompt":[[]]})", "prompt"},
      {R"({"prompt":[-1]})", "prompt"},
      {R"({"prompt":[1.5]})", "prompt"},
      {R"({"prompt":[99999999999]})", "prompt"},
      {R"({"prompt":{"a":1}})", "prompt"},
      {R"({"prompt":"a","suffix":"b"})", "suffix"},
      {R"({"prompt":"a","max_tokens":0})", "max_tokens"},
      {R"({"prompt":"a","logprobs":-1})", "logprobs"},
      {R"({"prompt":"a","logprobs":true})", "logprobs"},
      {R"({"prompt":"a","logprobs":1,"echo":true})", "logprobs"},
      {R"({"prompt":[1],"echo":true})", "echo"},
      {R"({"prompt":"a","stream_options":{}})", "stream_options"},
      {R"({"prompt":"a","min_tokens":17})", "min_tokens"}};
  for (const auto& [body, param] : cases) {
    const auto call = parse(body);
    ASSERT_FALSE(call) << body;
    EXPECT_EQ(call.error().param, param) << call.error().message;
  }
}

const ReplyHeader kHeader{"cmpl-1", "m", 5};
const std::string kPrefix =
    R"(data: {"id":"cmpl-1","object":"text_completion","created":5,"model":"m","choices":)";

TEST(CompletionStream, WritesTheFramesOfTheSpecification) {
  CompletionCall call;
  call.logprobs = 1;
  CompletionStreamWriter writer(kHeader, call);
  writer.write({0, LogprobsDelta{{{{7, "é", -0.25F}, {{7, "é", -0.25F}, {8, "x", -2.0F}}}}}});
  EXPECT_EQ(writer.write({0, TextDelta{"é"}}),
            kPrefix + R"([{"index":0,"text":"é","logprobs":{"text_offset":[0],"token_logprobs":[-0.25],)" +
                R"("tokens":["é"],"top_logprobs":[{"é":-0.25,"x":-2.0}]},)" +
                R"("finish_reason":null,"stop_reason":null}]})" + "\n\n");
  writer.write({0, LogprobsDelta{{{{9, "z", -1.0F}, {}}}}});
  const std::string next = writer.write({0, TextDelta{"z"}});
  EXPECT_NE(next.find(R"("text_offset":[1])"), std::string::npos);  // goes on across frames, in characters
  EXPECT_EQ(writer.write({0, Finish{FinishReason::kLength, {}, {}}}),
            kPrefix +
                R"([{"index":0,"text":"","logprobs":null,"finish_reason":"length","stop_reason":null}]})" +
                "\n\n");
  EXPECT_EQ(writer.write({0, UsageReport{}}), "data: [DONE]\n\n");
}

TEST(CompletionStream, EchoesEachPromptOnce) {
  CompletionCall call;
  call.echo = true;
  call.choices = 2;
  call.prompt_texts = {"P", "Q"};
  CompletionStreamWriter writer(kHeader, call);
  EXPECT_NE(writer.write({1, TextDelta{"a"}}).find(R"("text":"Pa")"), std::string::npos);
  EXPECT_NE(writer.write({1, TextDelta{"b"}}).find(R"("text":"b")"), std::string::npos);
  EXPECT_NE(writer.write({2, Finish{}}).find(R"("text":"Q")"), std::string::npos);
}

TEST(CompletionReply, OfAnEchoAloneHasNoOutput) {
  CompletionCall call;
  call.echo = call.drops_output = true;
  call.prompt_texts = {"P"};
  Usage usage;
  usage.prompt_tokens = 1;
  usage.completion_tokens = 1;
  const std::vector<TextEvent> events = {
      {0, TextDelta{"x"}}, {0, Finish{FinishReason::kStop, {}, {}}}, {0, UsageReport{usage}}};
  const std::string reply = completion_reply(kHeader, call, events);
  EXPECT_NE(reply.find(R"("text":"P","logprobs":null,"finish_reason":"length")"), std::string::npos) << reply;
  EXPECT_NE(reply.find(R"("completion_tokens":0)"), std::string::npos);
}

}  // namespace
}  // namespace sluice::api::openai
