#include "api/ollama/writer.h"

#include <gtest/gtest.h>

#include "api/ollama/catalogue.h"
#include "api/ollama/errors.h"
#include "api/ollama/timestamps.h"

namespace sluice::api::ollama {
namespace {

std::chrono::system_clock::time_point fixed_time() {
  return std::chrono::system_clock::time_point(std::chrono::nanoseconds(1760000000120000000));
}

const ReplyHeader kHeader{"qwen3", fixed_time};
const std::string kHead = R"({"model":"qwen3","created_at":"2025-10-09T08:53:20.12Z",)";

Usage some_usage() {
  Usage usage;
  usage.prompt_tokens = 11;
  usage.completion_tokens = 3;
  usage.total_time = std::chrono::nanoseconds(50);
  usage.load_time = std::chrono::nanoseconds(10);
  usage.prefill_time = std::chrono::nanoseconds(15);
  usage.decode_time = std::chrono::nanoseconds(25);
  return usage;
}

const std::string kDone =
    R"("total_duration":50,"load_duration":10,"prompt_eval_count":11,"prompt_eval_duration":15,)"
    R"("eval_count":3,"eval_duration":25})";

TEST(OllamaStream, WritesChatLines) {
  GenerateCall call;
  call.is_chat = true;
  StreamWriter writer(kHeader, call);
  EXPECT_EQ(writer.write({0, RoleDelta{"assistant"}}), "");
  EXPECT_EQ(writer.write({0, ReasoningDelta{"hm"}}),
            kHead + R"("message":{"role":"assistant","content":"","thinking":"hm"},"done":false})" + "\n");
  EXPECT_EQ(writer.write({0, TextDelta{"a\n"}}),
            kHead + R"("message":{"role":"assistant","content":"a\n"},"done":false})" + "\n");
  EXPECT_EQ(writer.write({0, ToolCallStart{0, "call_1", "f"}}), "");
  EXPECT_EQ(writer.write({0, ToolCallArguments{0, "{\n\"b\": 1,"}}), "");
  EXPECT_EQ(writer.write({0, ToolCallArguments{0, " \"a\": 2}"}}), "");
  EXPECT_EQ(writer.write({0, ToolCallEnd{0}}),
            kHead +
                R"("message":{"role":"assistant","content":"","tool_calls":[{"id":"call_1","function":)"
                R"({"index":0,"name":"f","arguments":{ "b": 1, "a": 2}}}]},"done":false})" +
                "\n");
  EXPECT_EQ(writer.write({0, Finish{FinishReason::kLength, {}, {}}}), "");
  EXPECT_EQ(writer.write({0, UsageReport{some_usage()}}),
            kHead + R"("message":{"role":"assistant","content":""},"done":true,"done_reason":"length",)" +
                kDone + "\n");
}

TEST(OllamaStream, WritesGenerateLinesAndErrors) {
  StreamWriter writer(kHeader, GenerateCall{});
  EXPECT_EQ(writer.write({0, TextDelta{"a"}}), kHead + R"("response":"a","done":false})" + "\n");
  EXPECT_EQ(writer.write({0, Error{ErrorCode::kInternal, "broken", ""}}), "{\"error\":\"broken\"}\n");
}

TEST(OllamaStream, CarriesLogprobsWithTheTextThatFollows) {
  StreamWriter writer(kHeader, GenerateCall{});
  writer.write({0, LogprobsDelta{{{{1, "a", -0.5F}, {{1, "a", -0.5F}}}}}});
  EXPECT_EQ(writer.write({0, TextDelta{"a"}}),
            kHead +
                R"("response":"a","done":false,"logprobs":[{"token":"a","logprob":-0.5,"bytes":[97],)"
                R"("top_logprobs":[{"token":"a","logprob":-0.5,"bytes":[97]}]}]})" +
                "\n");
}

TEST(OllamaReply, IsTheFoldAndLoadsSaySo) {
  GenerateCall call;
  const std::vector<TextEvent> events = {{0, ReasoningDelta{"t"}},
                                         {0, TextDelta{"a"}},
                                         {0, TextDelta{"b"}},
                                         {0, Finish{FinishReason::kStop, {}, {}}},
                                         {0, UsageReport{some_usage()}}};
  EXPECT_EQ(reply(kHeader, call, events),
            kHead + R"("response":"ab","thinking":"t","done":true,"done_reason":"stop",)" + kDone);
  EXPECT_EQ(load_reply(kHeader, call), kHead + R"("response":"","done":true,"done_reason":"load"})");
  call.unload = call.is_chat = true;
  EXPECT_EQ(load_reply(kHeader, call),
            kHead + R"("message":{"role":"assistant","content":""},"done":true,"done_reason":"unload"})");
}

TEST(OllamaReply, OfNumPredictZeroIsEmpty) {
  GenerateCall call;
  call.request.max_tokens = 0;
  const std::vector<TextEvent> events = {{0, TextDelta{"a"}}, {0, Finish{}}, {0, UsageReport{some_usage()}}};
  const std::string body = reply(kHeader, call, events);
  EXPECT_NE(body.find(R"("response":"","done":true,"done_reason":"length")"), std::string::npos) << body;
  EXPECT_NE(body.find(R"("eval_count":0)"), std::string::npos);
}

TEST(Timestamps, AreRfc3339) {
  EXPECT_EQ(utc_nanoseconds(std::chrono::system_clock::time_point()), "1970-01-01T00:00:00Z");
  EXPECT_EQ(utc_seconds(1760000000), "2025-10-09T08:53:20+00:00");
}

TEST(Catalogue, ListsModelsInOrder) {
  EXPECT_EQ(tags_reply({}), R"({"models":[]})");
  ModelInfo old_model;
  old_model.name = "a:latest";
  old_model.modified_unix = 1;
  ModelInfo new_model;
  new_model.name = "b:1";
  new_model.digest = "cafe";
  new_model.family = "qwen3";
  new_model.parameter_size = "8.2B";
  new_model.quantization_level = "Q4_K_M";
  new_model.size_bytes = 9;
  new_model.modified_unix = 2;
  new_model.context_length = 40960;
  new_model.expires_unix = -1;
  const std::string tags = tags_reply(std::vector<ModelInfo>{old_model, new_model});
  EXPECT_TRUE(tags.starts_with(
      R"({"models":[{"name":"b:1","model":"b:1","modified_at":"1970-01-01T00:00:02+00:00","size":9,)"
      R"("digest":"cafe","details":{"parent_model":"","format":"gguf","family":"qwen3",)"
      R"("families":["qwen3"],"parameter_size":"8.2B","quantization_level":"Q4_K_M",)"
      R"("context_length":40960}},{"name":"a:latest")"))
      << tags;
  const std::string ps = ps_reply(std::vector<ModelInfo>{old_model, new_model});
  EXPECT_NE(ps.find(R"("expires_at":"2318-)"), std::string::npos) << ps;
  EXPECT_LT(ps.find("b:1"), ps.find("a:latest"));
}

TEST(Catalogue, ShowsWhatClientsRead) {
  ModelInfo model;
  model.architecture = "qwen3";
  model.context_length = 40960;
  model.embedding_length = 4096;
  model.parameter_count = 8;
  model.template_text = "{{ x }}";
  model.capabilities = {"completion", "thinking"};
  model.metadata = {{"qwen3.block_count", 36},
                    {"tokenizer.ggml.tokens", boost::json::array{1, 2}},
                    {"general.name", "hidden"}};
  const std::string show = show_reply(model);
  EXPECT_NE(show.find(R"("model_info":{"general.architecture":"qwen3","general.parameter_count":8,)"
                      R"("qwen3.context_length":40960,"qwen3.embedding_length":4096,)"
                      R"("qwen3.block_count":36,"tokenizer.ggml.tokens":null})"),
            std::string::npos)
      << show;
  EXPECT_NE(show.find(R"("capabilities":["completion","thinking"])"), std::string::npos);
  EXPECT_TRUE(json::parse(show));
  EXPECT_EQ(version_reply("0.33.0"), R"({"version":"0.33.0"})");
}

TEST(OllamaErrors, AreStringsWithStatus) {
  EXPECT_EQ(error_reply({ErrorCode::kNotFound, "model 'x' not found", ""}).body,
            R"({"error":"model 'x' not found"})");
  EXPECT_EQ(error_reply({ErrorCode::kNotFound, "", ""}).status, 404);
  EXPECT_EQ(error_reply({ErrorCode::kResourceExhausted, "", ""}).status, 503);
}

}  // namespace
}  // namespace sluice::api::ollama
