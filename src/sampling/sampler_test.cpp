#include "sampling/sampler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace sluice::sampling {
namespace {

TokenId sample(std::vector<float> logits, const SamplingParams& params, std::uint64_t position = 0,
               std::vector<TokenId> prompt = {}, std::vector<TokenId> output = {}) {
  SamplingRow row;
  row.params = &params;
  row.position = position;
  row.prompt = prompt;
  row.output = output;
  return sample_row(logits, row).token;
}

TEST(Sampler, TinyTemperaturesTakeTheBest) {  // field report F024
  for (const float temperature : {0.0F, 1e-38F, 1e-5F, 1e-4F, 1e-3F}) {
    SamplingParams params;
    params.temperature = temperature;
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
      params.seed = seed;
      EXPECT_EQ(sample({std::log(0.3F), std::log(0.7F), -std::numeric_limits<float>::infinity()}, params), 1);
    }
  }
}

TEST(Sampler, DrawsInProportion) {
  SamplingParams params;
  const std::vector<float> logits = {std::log(0.1F), std::log(0.2F), std::log(0.3F), std::log(0.4F)};
  std::vector<int> counts(4);
  constexpr int kDraws = 20000;
  for (int i = 0; i < kDraws; ++i)
    ++counts[static_cast<std::size_t>(sample(logits, params, static_cast<std::uint64_t>(i)))];
  double chi_square = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    const double expected = kDraws * 0.1 * static_cast<double>(i + 1);
    chi_square += std::pow(counts[i] - expected, 2) / expected;
  }
  EXPECT_LT(chi_square, 16.27);  // 3 degrees of freedom, p = 0.001
}

TEST(Sampler, CutsKeepOnlyTheLikely) {
  const std::vector<float> logits = {std::log(0.5F), std::log(0.3F), std::log(0.15F), std::log(0.05F)};
  for (std::uint64_t i = 0; i < 500; ++i) {
    SamplingParams top_k;
    top_k.top_k = 2;
    EXPECT_LT(sample(logits, top_k, i), 2);
    SamplingParams top_p;
    top_p.top_p = 0.75F;
    EXPECT_LT(sample(logits, top_p, i), 2);
    SamplingParams min_p;
    min_p.min_p = 0.25F;
    EXPECT_LT(sample(logits, min_p, i), 3);
  }
}

TEST(Sampler, PenaltiesByHand) {  // field report F025
  SamplingParams repetition;
  repetition.temperature = 0;
  repetition.repetition_penalty = 2;
  EXPECT_EQ(sample({2.0F, 1.5F}, repetition, 0, {0}), 1);        // prompt counts
  EXPECT_EQ(sample({-1.0F, -1.5F}, repetition, 0, {}, {0}), 1);  // negative logits are multiplied
  repetition.repetition_window = 1;
  EXPECT_EQ(sample({2.0F, 1.5F}, repetition, 0, {0, 1}), 0);  // only the last token is looked at
  SamplingParams presence;
  presence.temperature = 0;
  presence.presence_penalty = 1;
  EXPECT_EQ(sample({2.0F, 1.5F}, presence, 0, {0}), 0);  // the prompt does not count
  EXPECT_EQ(sample({2.0F, 1.5F}, presence, 0, {}, {0}), 1);
  SamplingParams frequency;
  frequency.temperature = 0;
  frequency.frequency_penalty = 0.3F;
  EXPECT_EQ(sample({2.0F, 1.5F}, frequency, 0, {}, {0}), 0);
  EXPECT_EQ(sample({2.0F, 1.5F}, frequency, 0, {}, {0, 0}), 1);
}

TEST(Sampler, BiasMaskAndMinTokens) {
  SamplingParams params;
  params.temperature = 0;
  params.logit_bias = {{2, 100}};
  EXPECT_EQ(sample({3, 2, 1}, params), 2);
  SamplingParams plain;
  plain.temperature = 0;
  plain.min_tokens = 1;
  plain.logprobs = 2;
  std::vector<float> logits = {3, 2, 1};
  const std::vector<TokenId> end = {0};
  const std::vector<std::uint32_t> allowed = {0b101};
  SamplingRow row;
  row.params = &plain;
  row.end_ids = end;
  row.allowed = allowed;
  const SampledToken sampled = sample_row(logits, row);
  EXPECT_EQ(sampled.token, 2);
  ASSERT_EQ(sampled.logprobs.size(), 3U);
  EXPECT_EQ(sampled.logprobs[0].rank, 2);  // raw: the end id is more likely
  EXPECT_NEAR(sampled.logprobs[1].logprob, -std::log1p(std::exp(-2.0)), 1e-6);
}

TEST(Sampler, RefusesNonsense) {
  SamplingParams params;
  EXPECT_TRUE(validate(params, 100));
  params.temperature = std::nanf("");
  EXPECT_EQ(validate(params, 100).error().param, "temperature");
  params = {};
  params.top_p = 0;
  EXPECT_EQ(validate(params, 100).error().param, "top_p");
  params = {};
  params.logit_bias = {{100, 1}};
  EXPECT_EQ(validate(params, 100).error().param, "logit_bias");
}

}  // namespace
}  // namespace sluice::sampling
