#include <gtest/gtest.h>

#include <string>

#include "base/hash.h"
#include "base/json.h"
#include "base/result.h"

namespace sluice {
namespace {

Result<int> half(int value) {
  if (value % 2 != 0) return fail(ErrorCode::kInvalidArgument, "{} is odd", value);
  return value / 2;
}
Result<int> quarter(int value) {
  SLUICE_TRY(const int first, half(value));
  return half(first);
}

TEST(Result, TryPassesValueAndError) {
  EXPECT_EQ(*quarter(8), 2);
  EXPECT_EQ(quarter(6).error().message, "3 is odd");
}

TEST(Json, RefusesDeepNestingAndGarbage) {
  EXPECT_TRUE(json::parse(R"({"a":[1,2.5,"x"]})"));
  EXPECT_FALSE(json::parse(std::string(10000, '[')));
  EXPECT_FALSE(json::parse("{} x"));
  EXPECT_FALSE(json::parse("\"\xff\""));
  EXPECT_FALSE(json::parse(""));
}

TEST(BlockHash, DependsOnParentTokensAndSalt) {
  const BlockHash root = root_hash("tenant", "model", 1);
  EXPECT_NE(root, root_hash("tenan", "tmodel", 1));
  const TokenId first[] = {1, 2};
  const TokenId second[] = {2, 1};
  EXPECT_NE(chain_hash(root, first), chain_hash(root, second));
  EXPECT_NE(chain_hash(root, first), chain_hash(chain_hash(root, first), first));
}

}  // namespace
}  // namespace sluice
