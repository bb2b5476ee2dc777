#include "server/request_defaults.h"

#include <gtest/gtest.h>

namespace sluice::server {
namespace {

TEST(RequestDefaults, GenerationConfigGoesBeforeNeutralAndBehindTheRequest) {
  const auto defaults = read_generation_config(
      R"({"do_sample":true,"temperature":0.6,"top_k":20,"top_p":0.95,"max_new_tokens":100,"eos_token_id":[1,2]})");
  ASSERT_TRUE(defaults) << defaults.error().message;
  EXPECT_EQ(defaults->text(), "temperature 0.6, top_p 0.95, top_k 20, max_new_tokens 100");
  api::TextRequest request;
  request.sampling.temperature = 0;
  request.given.temperature = true;
  request.max_tokens = 500;
  const api::TextRequest full = with_defaults(request, *defaults);
  EXPECT_EQ(full.sampling.temperature, 0);
  EXPECT_EQ(full.sampling.top_k, 20);
  EXPECT_FLOAT_EQ(full.sampling.top_p, 0.95F);
  EXPECT_EQ(full.sampling.min_p, 0);
  EXPECT_EQ(full.max_tokens, 100) << "no answer is longer";
}

TEST(RequestDefaults, DamagedFilesNameTheField) {
  for (const char* text :
       {"[]", "{", R"({"temperature":"hot"})", R"({"top_k":1.5})", R"({"max_new_tokens":0})"})
    EXPECT_FALSE(read_generation_config(text)) << text;
  EXPECT_NE(read_generation_config(R"({"temperature":"hot"})").error().message.find("generation_config.json"),
            std::string::npos);
  EXPECT_EQ(read_generation_config("")->text(), "");
  EXPECT_FALSE(read_model_layers(R"({"top_k":"many"})", ""));
}

TEST(RequestDefaults, StoredLayers) {
  const auto defaults = read_model_layers(
      R"({"temperature":0.2,"stop":["END"],"num_predict":9,"num_ctx":64,"seed":5,"repeat_last_n":7})",
      "Be brief.");
  ASSERT_TRUE(defaults) << defaults.error().message;
  api::TextRequest request;
  request.chat.emplace();
  text::Message question;
  question.role = "user";
  request.chat->messages = {question};
  api::TextRequest full = with_defaults(request, *defaults);
  EXPECT_FLOAT_EQ(full.sampling.temperature, 0.2F);
  EXPECT_EQ(full.stop, std::vector<std::string>{"END"});
  EXPECT_EQ(full.max_tokens, 9);
  EXPECT_EQ(full.context_tokens_max, 64);
  EXPECT_EQ(full.sampling.seed, 5U);
  EXPECT_TRUE(full.given.seed);
  EXPECT_EQ(full.sampling.repetition_window, 7);
  ASSERT_EQ(full.chat->messages.size(), 2U);
  EXPECT_EQ(full.chat->messages[0].content, "Be brief.");

  request.chat->messages[0].role = "system";
  request.stop = {"X"};
  full = with_defaults(request, *defaults);
  EXPECT_EQ(full.chat->messages.size(), 1U) << "its own system text wins";
  EXPECT_EQ(full.stop, std::vector<std::string>{"X"}) << "replaced, not joined";
}

}  // namespace
}  // namespace sluice::server
