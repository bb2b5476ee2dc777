#include "kvcache/kv_cache_manager.h"

#include <gtest/gtest.h>

#include <numeric>

namespace sluice::kvcache {
namespace {

std::vector<TokenId> tokens(std::size_t count, TokenId first = 0) {
  std::vector<TokenId> ids(count);
  std::iota(ids.begin(), ids.end(), first);
  return ids;
}

BlockTable table_for(const char* tenant) {
  BlockTable table;
  table.root = root_hash(tenant, "model", 1);
  return table;
}

TEST(KVCacheManager, SharesOnlyWhatWasComputed) {  // field report F035
  KVCacheManager cache(16, 16);
  const auto prompt = tokens(40);
  BlockTable first = table_for("a");
  ASSERT_TRUE(cache.grow(first, 40));
  BlockTable second = table_for("a");
  EXPECT_EQ(cache.reuse_prefix(second, prompt), 0U);
  cache.commit(first, prompt, 40);
  EXPECT_EQ(cache.reuse_prefix(second, prompt), 32U);
  EXPECT_EQ(second.blocks[0], first.blocks[0]);
  BlockTable other = table_for("b");
  EXPECT_EQ(cache.reuse_prefix(other, prompt), 0U) << "tenants never share";
  cache.release(first);
  cache.release(second);
  cache.check_invariants();
  EXPECT_EQ(cache.free_blocks(), 16U);
}

TEST(KVCacheManager, LeavesTheLastTokenToCompute) {  // field report F036
  for (const std::size_t length : {15U, 16U, 17U, 31U, 32U, 33U}) {
    KVCacheManager cache(8, 16);
    const auto prompt = tokens(length);
    BlockTable first = table_for("a");
    ASSERT_TRUE(cache.grow(first, length));
    cache.commit(first, prompt, length);
    BlockTable second = table_for("a");
    EXPECT_EQ(cache.reuse_prefix(second, prompt), (length - 1) / 16 * 16) << length;
  }
}

TEST(KVCacheManager, AConstantHashGivesMissesNotWrongReuse) {
  KVCacheManager cache(8, 16, [](const BlockHash&, std::span<const TokenId>) { return BlockHash{1, 1}; });
  BlockTable first = table_for("a");
  ASSERT_TRUE(cache.grow(first, 32));
  cache.commit(first, tokens(32), 32);
  BlockTable second = table_for("a");
  EXPECT_EQ(cache.reuse_prefix(second, tokens(40, 100)), 0U);
  cache.check_invariants();
}

TEST(KVCacheManager, EvictsTheLeastRecentAndForgetsItsPrefix) {
  KVCacheManager cache(2, 16);
  BlockTable first = table_for("a");
  ASSERT_TRUE(cache.grow(first, 32));
  cache.commit(first, tokens(32), 32);
  cache.release(first);
  BlockTable second = table_for("a");
  ASSERT_TRUE(cache.grow(second, 16));  // takes the tail of `first`
  BlockTable third = table_for("a");
  EXPECT_EQ(cache.reuse_prefix(third, tokens(32)), 16U);
  EXPECT_FALSE(cache.grow(second, 32));
  cache.check_invariants();
}

TEST(KVCacheManager, TruncateGivesBackTheTail) {
  KVCacheManager cache(4, 16);
  BlockTable table = table_for("a");
  ASSERT_TRUE(cache.grow(table, 64));
  cache.commit(table, tokens(64), 20);
  cache.truncate(table, 20);
  EXPECT_EQ(table.blocks.size(), 2U);
  EXPECT_EQ(table.published_blocks, 1U);
  EXPECT_EQ(cache.free_blocks(), 2U);
  cache.check_invariants();
}

}  // namespace
}  // namespace sluice::kvcache
