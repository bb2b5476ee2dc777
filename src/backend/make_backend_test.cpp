// Names, the one compute pool, and operands that reach outside memory, on every back end of the host.
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

#include "backend/backend.h"

namespace sluice::backend {
namespace {

std::string refusal_of(std::string_view name, std::size_t threads) {
  try {
    make_backend(name, threads);
  } catch (const std::invalid_argument& problem) {
    return problem.what();
  }
  return {};
}

TEST(MakeBackend, MakesEveryNameItLists) {
  const auto names = backend_names();
  EXPECT_EQ(names.front(), "auto");
  EXPECT_EQ(names.back(), "reference");
  for (const std::string& name : names) {
    const auto backend = make_backend(name, 2);
    EXPECT_EQ(backend->name(), name == "auto" ? names[1] : name);
  }
  const std::string refusal = refusal_of("avx3", 2);
  for (const std::string& name : names) EXPECT_NE(refusal.find(name), std::string::npos) << refusal;
}

TEST(MakeBackend, OnePoolServesAllCpuBackEnds) {
  {
    const auto first = make_backend("auto", 2);
    const auto same = make_backend("scalar", 2);
    const auto any = make_backend("auto", 0);
    EXPECT_NE(refusal_of("auto", 3).find("already computes with 2"), std::string::npos);
    EXPECT_EQ(refusal_of("reference", 3), "");
  }
  EXPECT_EQ(refusal_of("auto", 3), "");  // the pool went with its last back end
}

class OperandsDeathTest : public testing::TestWithParam<std::string> {
 protected:
  static constexpr std::size_t kBlocks = 4;

  OperandsDeathTest() : backend_(make_backend(GetParam(), 1)) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    cache_ = backend_->allocate_kv({1, kBlocks, 1, 16, KVFormat::kF32});
  }

  Tensor row() { return {values_, 1, 16, 16}; }
  void store(std::size_t layer, std::int64_t slot) {
    backend_->store_kv(*cache_, layer, row(), row(), std::span(&slot, 1));
  }
  void attend(std::int32_t context, std::vector<std::int32_t> table) {
    const std::int32_t starts[] = {0, 1};
    backend_->paged_attention(row(), row(), *cache_, 0,
                              {starts, std::span(&context, 1), table, table.size()});
  }
  void gather(std::int32_t index) { backend_->gather_rows(row(), row(), std::span(&index, 1)); }
  void rotate(std::int32_t position) {
    Rope rope;
    rope.inverse_frequency.resize(8);
    backend_->qk_norm_rope(row(), row(), 16, {}, rope, std::span(&position, 1));
  }
  void embed(std::int32_t id) {
    const RowSegment segment{std::as_bytes(std::span(values_)), DType::kF32, 1, {}};
    const auto table = backend_->prepare({&segment, 1}, 16);
    backend_->embed(row(), *table, std::span(&id, 1));
  }

  float values_[16] = {};
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<KVCache> cache_;
};

TEST_P(OperandsDeathTest, OutsideMemoryIsRefused) {
  store(0, kBlocks * 16 - 1);
  EXPECT_DEATH(store(0, kBlocks * 16), "slot outside");
  EXPECT_DEATH(store(0, -1), "slot outside");
  EXPECT_DEATH(store(1, 0), "layer outside");
  attend(17, {3, 0});
  EXPECT_DEATH(attend(17, {3, 4}), "block outside");
  EXPECT_DEATH(attend(17, {3, -1}), "block outside");
  EXPECT_DEATH(attend(33, {0, 1}), "context longer");
  EXPECT_DEATH(attend(0, {0}), "last tokens of their context");
  gather(0);
  EXPECT_DEATH(gather(1), "row index outside");
  EXPECT_DEATH(gather(-1), "row index outside");
  rotate(0);
  EXPECT_DEATH(rotate(-1), "negative position");
  embed(0);
  EXPECT_DEATH(embed(1), "row index outside");
}

INSTANTIATE_TEST_SUITE_P(Backends, OperandsDeathTest, testing::ValuesIn(backend_names()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace sluice::backend
