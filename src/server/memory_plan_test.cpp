#include "server/memory_plan.h"

#include <gtest/gtest.h>

namespace sluice::server {
namespace {

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;

model::ModelConfig qwen3_14b() {
  model::ModelConfig config;
  config.layers = 40;
  config.hidden = 5120;
  config.ffn = 17408;
  config.heads = 40;
  config.kv_heads = 8;
  config.head_dim = 128;
  config.vocabulary = 151936;
  return config;
}

TEST(MemoryPlan, NamesEveryItem) {
  LoadOptions options;
  options.kv_cache_bytes = 2 * kGiB;
  const auto plan = plan_memory(15 * kGiB, 24 * kGiB, options, qwen3_14b(), 40960);
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->kv_blocks, 2 * kGiB / (2 * 40 * 16 * 8 * 128 * 2));
  EXPECT_GT(plan->activations, 512 * 4 * (2 * 5120U + 3 * 17408U));
  const std::string text = plan->text();
  for (const char* part : {"weights 15.00 GiB", "KV cache 2.00 GiB", "activations", "of 24.00 GiB available"})
    EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST(MemoryPlan, RefusesWhatCannotFitAndSaysWhatToDo) {
  for (const std::uint64_t available : {std::uint64_t{0}, 8 * kGiB, 16 * kGiB}) {
    const auto plan = plan_memory(15 * kGiB, available, {}, qwen3_14b(), 40960);
    ASSERT_FALSE(plan) << available;
    EXPECT_EQ(plan.error().code, ErrorCode::kResourceExhausted);
    EXPECT_NE(plan.error().message.find("--kv-cache-bytes"), std::string::npos);
  }
  LoadOptions options;
  options.kv_cache_bytes = 1000;
  EXPECT_FALSE(plan_memory(kGiB, 24 * kGiB, options, qwen3_14b(), 40960)) << "no block fits";
}

TEST(MemoryPlan, TakesNoMoreThanSequencesCanUse) {
  LoadOptions options;
  options.sequences_max = 2;
  const auto plan = plan_memory(kGiB, 24 * kGiB, options, qwen3_14b(), 100);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->kv_blocks, 2U * 7);
  EXPECT_GT(available_bytes(), 0U);
}

}  // namespace
}  // namespace sluice::server
