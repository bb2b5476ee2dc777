// The small operators of every table against reference/, and attention of a ragged batch against each
// sequence alone.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>

#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/kernels/select.h"
#include "backend/reference/reference_backend.h"
#include "base/compute_pool.h"

namespace sluice::backend::cpu {
namespace {

std::vector<float> random_values(std::size_t count, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, 1);
  std::vector<float> values(count);
  for (float& value : values) value = normal(random);
  return values;
}

Tensor tensor(std::vector<float>& values, std::size_t rows) {
  const std::size_t columns = values.size() / rows;
  return {values.data(), rows, columns, columns};
}

template <typename Test>
void for_tables(Test test) {
  auto pool = std::make_shared<ComputePool>(2);
  for (const KernelTable* table : available_tables()) {
    SCOPED_TRACE(table->name);
    CpuBackend backend(*table, pool);
    test(backend);
  }
}

void expect_near(const std::vector<float>& got, const std::vector<float>& expected, double limit) {
  for (std::size_t i = 0; i < expected.size(); ++i)
    ASSERT_NEAR(got[i], expected[i], limit * std::max(1.0F, std::abs(expected[i]))) << i;
}

TEST(Operators, AddRmsNorm) {
  for_tables([](Backend& backend) {
    ReferenceBackend reference;
    for (const std::size_t width : {1, 15, 64, 576, 1000}) {
      constexpr std::size_t kRows = 11;
      for (const bool adds : {true, false}) {
        auto x = random_values(kRows * width, 2);
        const auto gain = random_values(width, 3);
        std::vector<float> residuals[2] = {random_values(kRows * width, 1), random_values(kRows * width, 1)};
        std::vector<float> outs[2] = {std::vector<float>(kRows * width), std::vector<float>(kRows * width)};
        Backend* backends[] = {&backend, &reference};
        for (int i = 0; i < 2; ++i) {
          backends[i]->add_rms_norm(tensor(outs[i], kRows), tensor(residuals[i], kRows),
                                    adds ? tensor(x, kRows) : Tensor{}, gain, 1e-5F);
        }
        expect_near(residuals[0], residuals[1], 1e-6);
        expect_near(outs[0], outs[1], 1e-5);
      }
    }
  });
}

TEST(Operators, SiluAndMulOverTheWholeRange) {
  for_tables([](Backend& backend) {
    ReferenceBackend reference;
    constexpr std::size_t kWidth = 77;
    std::vector<float> gate_up(2 * kWidth, 1.0F);
    for (std::size_t i = 0; i < kWidth; ++i) gate_up[i] = (static_cast<float>(i) - 38) * 4;  // -152 to 152
    std::vector<float> out(kWidth);
    std::vector<float> expected(kWidth);
    backend.silu_and_mul(tensor(out, 1), tensor(gate_up, 1));
    reference.silu_and_mul(tensor(expected, 1), tensor(gate_up, 1));
    expect_near(out, expected, 1e-6);
  });
}

TEST(Operators, NormAndRotationOfHeads) {
  for_tables([](Backend& backend) {
    ReferenceBackend reference;
    constexpr std::size_t kDim = 80;
    constexpr std::size_t kTokens = 9;
    const auto gain = random_values(kDim, 6);
    Rope rope;
    for (std::size_t i = 0; i < kDim / 2; ++i)
      rope.inverse_frequency.push_back(1.0F / std::pow(1e4F, 2.0F * static_cast<float>(i) / kDim));
    rope.attention_factor = 1.5F;
    const std::vector<std::int32_t> positions = {0, 1, 2, 3, 500, 501, 7, 8, 130000};
    for (const bool norms : {true, false}) {
      const std::span<const float> gains = norms ? std::span<const float>(gain) : std::span<const float>();
      auto q = random_values(kTokens * 2 * kDim, 4);
      auto k = random_values(kTokens * kDim, 5);
      auto expected_q = q;
      auto expected_k = k;
      backend.qk_norm_rope(tensor(q, kTokens), tensor(k, kTokens), kDim, {gains, gains, 1e-6F}, rope,
                           positions);
      reference.qk_norm_rope(tensor(expected_q, kTokens), tensor(expected_k, kTokens), kDim,
                             {gains, gains, 1e-6F}, rope, positions);
      expect_near(q, expected_q, 1e-5);
      expect_near(k, expected_k, 1e-5);
    }
  });
}

TEST(Operators, EmbedBiasAndGather) {
  for_tables([](Backend& backend) {
    ReferenceBackend reference;
    auto table = random_values(20 * 48, 10);
    const auto bias = random_values(48, 11);
    const RowSegment segment{std::as_bytes(std::span(table)), DType::kF32, 20, {}};
    const std::vector<std::int32_t> ids = {19, 0, 7, 7, 1, 2, 3, 4, 5, 6};
    const std::vector<std::int32_t> rows = {9, 0, 3};
    std::vector<float> results[2];
    Backend* backends[] = {&backend, &reference};
    for (int i = 0; i < 2; ++i) {
      std::vector<float> out(ids.size() * 48);
      results[i].resize(rows.size() * 48);
      backends[i]->embed(tensor(out, ids.size()), *backends[i]->prepare({&segment, 1}, 48), ids);
      backends[i]->add_bias(tensor(out, ids.size()), bias);
      backends[i]->gather_rows(tensor(results[i], rows.size()), tensor(out, ids.size()), rows);
    }
    expect_near(results[0], results[1], 0);
  });
}

// Three sequences of other lengths in one call give what each gives alone, bit for bit; and what a row does
// not see, even infinity, does not touch it.
TEST(Operators, RaggedAttentionIsTheSameAlone) {
  for_tables([](Backend& backend) {
    constexpr std::size_t kDim = 64;
    constexpr std::size_t kHeads = 4;
    const std::size_t lengths[] = {40, 300, 17};
    const KVShape shape{1, 64, 2, kDim, KVFormat::kF32};
    auto cache = backend.allocate_kv(shape);
    auto q = random_values(357 * kHeads * kDim, 7);
    auto k = random_values(357 * 2 * kDim, 8);
    auto v = random_values(357 * 2 * kDim, 9);
    v[39 * 2 * kDim] = std::numeric_limits<float>::infinity();  // the first sequence's last token
    std::vector<std::int64_t> slots;
    std::vector<std::int32_t> tables(3 * 20);
    std::vector<std::int32_t> starts = {0};
    std::vector<std::int32_t> contexts;
    std::int32_t next_block = 1;
    for (std::size_t s = 0; s < 3; ++s) {
      for (std::size_t b = 0; b <= (lengths[s] - 1) / 16; ++b) tables[s * 20 + b] = next_block++;
      for (std::size_t t = 0; t < lengths[s]; ++t)
        slots.push_back(tables[s * 20 + t / 16] * 16 + static_cast<int>(t % 16));
      starts.push_back(starts.back() + static_cast<std::int32_t>(lengths[s]));
      contexts.push_back(static_cast<std::int32_t>(lengths[s]));
    }
    backend.store_kv(*cache, 0, tensor(k, 357), tensor(v, 357), slots);
    std::vector<float> all(q.size());
    backend.paged_attention(tensor(all, 357), tensor(q, 357), *cache, 0, {starts, contexts, tables, 20});
    for (std::size_t s = 0; s < 3; ++s) {
      std::vector<float> alone(lengths[s] * kHeads * kDim);
      const std::int32_t own[] = {0, contexts[s]};
      const auto from = static_cast<std::size_t>(starts[s]);
      const AttentionBatch batch{own, std::span(contexts).subspan(s, 1),
                                 std::span(tables).subspan(s * 20, 20), 20};
      backend.paged_attention(tensor(alone, lengths[s]), tensor(q, 357).rows_at(from, lengths[s]), *cache, 0,
                              batch);
      ASSERT_EQ(std::memcmp(alone.data(), all.data() + from * kHeads * kDim, alone.size() * 4), 0) << s;
    }
    for (std::size_t i = 0; i < 39 * kHeads * kDim; ++i) ASSERT_TRUE(std::isfinite(all[i])) << i;
  });
}

}  // namespace
}  // namespace sluice::backend::cpu
