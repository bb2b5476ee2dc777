// The small operators of every table against double loops, and attention of a ragged batch against each
// sequence alone.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>

#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/kernels/select.h"
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

TEST(Operators, AddRmsNorm) {
  for_tables([](CpuBackend& backend) {
    for (const std::size_t width : {1, 15, 64, 576, 1000}) {
      constexpr std::size_t kRows = 11;
      auto residual = random_values(kRows * width, 1);
      auto x = random_values(kRows * width, 2);
      const auto gain = random_values(width, 3);
      const auto before = residual;
      std::vector<float> out(kRows * width);
      backend.add_rms_norm(tensor(out, kRows), tensor(residual, kRows), tensor(x, kRows), gain, 1e-5F);
      for (std::size_t r = 0; r < kRows; ++r) {
        double squares = 0;
        for (std::size_t i = 0; i < width; ++i)
          squares += std::pow(double{before[r * width + i]} + x[r * width + i], 2);
        const double scale = 1 / std::sqrt(squares / static_cast<double>(width) + 1e-5);
        for (std::size_t i = 0; i < width; ++i) {
          const double sum = double{before[r * width + i]} + x[r * width + i];
          ASSERT_NEAR(residual[r * width + i], sum, 1e-6);
          ASSERT_NEAR(out[r * width + i], sum * scale * gain[i], 1e-4);
        }
      }
    }
  });
}

TEST(Operators, SiluAndMulOverTheWholeRange) {
  for_tables([](CpuBackend& backend) {
    constexpr std::size_t kWidth = 77;
    std::vector<float> gate_up(2 * kWidth, 1.0F);
    for (std::size_t i = 0; i < kWidth; ++i) gate_up[i] = (static_cast<float>(i) - 38) * 4;  // -152 to 152
    std::vector<float> out(kWidth);
    backend.silu_and_mul(tensor(out, 1), tensor(gate_up, 1));
    for (std::size_t i = 0; i < kWidth; ++i) {
      const double g = gate_up[i];
      ASSERT_NEAR(out[i], g / (1 + std::exp(-g)), 1e-6 * std::max(1.0, std::abs(g))) << g;
    }
  });
}

TEST(Operators, NormAndRotationOfHeads) {
  for_tables([](CpuBackend& backend) {
    constexpr std::size_t kDim = 80;
    constexpr std::size_t kTokens = 9;
    auto q = random_values(kTokens * 2 * kDim, 4);
    auto k = random_values(kTokens * kDim, 5);
    const auto gain = random_values(kDim, 6);
    const auto before = q;
    Rope rope;
    for (std::size_t i = 0; i < kDim / 2; ++i)
      rope.inverse_frequency.push_back(1.0F / std::pow(1e4F, 2.0F * static_cast<float>(i) / kDim));
    rope.attention_factor = 1.5F;
    std::vector<std::int32_t> positions = {0, 1, 2, 3, 500, 501, 7, 8, 1000};
    const QKNorm norm{gain, gain, 1e-6F};
    backend.qk_norm_rope(tensor(q, kTokens), tensor(k, kTokens), kDim, norm, rope, positions);
    for (std::size_t t = 0; t < kTokens; ++t) {
      const float* head = before.data() + t * 2 * kDim + kDim;  // the second head
      double squares = 0;
      for (std::size_t i = 0; i < kDim; ++i) squares += double{head[i]} * head[i];
      const double scale = 1 / std::sqrt(squares / kDim + 1e-6);
      for (std::size_t i = 0; i < kDim / 2; ++i) {
        const double angle = double{rope.inverse_frequency[i]} * positions[t];
        const double a = head[i] * scale * gain[i];
        const double b = head[i + kDim / 2] * scale * gain[i + kDim / 2];
        ASSERT_NEAR(q[t * 2 * kDim + kDim + i], 1.5 * (a * std::cos(angle) - b * std::sin(angle)), 3e-4);
        ASSERT_NEAR(q[t * 2 * kDim + kDim + kDim / 2 + i], 1.5 * (b * std::cos(angle) + a * std::sin(angle)),
                    3e-4);
      }
    }
  });
}

// Three sequences of other lengths in one call give what each gives alone, bit for bit; and what a row does
// not see, even infinity, does not touch it.
TEST(Operators, RaggedAttentionIsTheSameAlone) {
  for_tables([](CpuBackend& backend) {
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
