// The small operators of every table against the reference back end. A sum of n terms in float is within
// n * 2^-24 of the reference's, relative to the sizes of its terms; the tolerances leave room for that at
// these widths and no more.
#include "backend/cpu/table_testing.h"

namespace sluice::backend::cpu {
namespace {

TEST(Operators, AddRmsNorm) {
  for_tables([](CpuBackend& backend, Backend& reference) {
    for (const std::size_t width : {1, 15, 16, 64, 576, 1000, 4096}) {
      constexpr std::size_t kRows = 11;
      const auto gain = random_values(width, 3);
      for (const bool adds : {true, false}) {
        auto x = random_values(kRows * width, 2);
        auto residual = random_values(kRows * width, 1);
        auto expected_residual = residual;
        std::vector<float> out(kRows * width);
        std::vector<float> expected(out.size());
        const Tensor added = adds ? tensor(x, kRows) : Tensor{};
        backend.add_rms_norm(tensor(out, kRows), tensor(residual, kRows), added, gain, 1e-5F);
        reference.add_rms_norm(tensor(expected, kRows), tensor(expected_residual, kRows), added, gain, 1e-5F);
        EXPECT_EQ(residual, expected_residual);  // one rounding each
        // Sixteen lanes sum width / 16 squares each.
        expect_near(out, expected, (static_cast<double>(width) / 16 + 10) * kRoundoff, 1e-30);
      }
    }
  });
}

// e^-x is clamped at x = 87, where silu is below 1e-36.
TEST(Operators, SiluAndMulOverTheWholeRange) {
  for_tables([](CpuBackend& backend, Backend& reference) {
    for (const std::size_t width : {1, 16, 77, 3072}) {
      auto gate_up = random_values(9 * 2 * width, 4);
      for (std::size_t i = 0; i < width; ++i) gate_up[i] = static_cast<float>(i % 311) - 155;
      std::vector<float> out(9 * width);
      std::vector<float> expected(out.size());
      backend.silu_and_mul(tensor(out, 9), tensor(gate_up, 9));
      reference.silu_and_mul(tensor(expected, 9), tensor(gate_up, 9));
      expect_near(out, expected, 1e-6, 1e-35);
    }
  });
}

Rope rope_of(std::size_t dim) {
  Rope rope;
  for (std::size_t i = 0; i < dim / 2; ++i)
    rope.inverse_frequency.push_back(std::pow(1e4F, -2.0F * static_cast<float>(i) / static_cast<float>(dim)));
  rope.attention_factor = 1.5F;
  return rope;
}

// Cosines and sines of float angles are within 2^-24 of the reference's, norms as above.
TEST(Operators, NormAndRotationOfHeads) {
  constexpr std::size_t kTokens = 9;
  const std::vector<std::int32_t> positions = {0, 1, 2, 3, 500, 501, 7, 8, 20000};
  for_tables([&](CpuBackend& backend, Backend& reference) {
    for (const std::size_t dim : {2, 16, 80, 128, 256}) {
      const Rope rope = rope_of(dim);
      const auto gain = random_values(2 * dim, 6);
      const std::span all(gain);
      for (const QKNorm& norm : {QKNorm{all.first(dim), all.last(dim), 1e-6F}, QKNorm{}}) {
        auto q = random_values(kTokens * 4 * dim, 4);
        auto k = random_values(kTokens * 2 * dim, 5);
        auto expected_q = q;
        auto expected_k = k;
        backend.qk_norm_rope(tensor(q, kTokens), tensor(k, kTokens), dim, norm, rope, positions);
        reference.qk_norm_rope(tensor(expected_q, kTokens), tensor(expected_k, kTokens), dim, norm, rope,
                               positions);
        expect_near(q, expected_q, 2e-6, 5e-6);
        expect_near(k, expected_k, 2e-6, 5e-6);
      }
    }
  });
}

TEST(Operators, BiasAndGather) {
  for_tables([](CpuBackend& backend, Backend& reference) {
    for (const std::size_t width : {1, 17, 100}) {
      auto x = random_values(12 * width, 1);
      auto expected = x;
      const auto bias = random_values(width, 2);
      backend.add_bias(tensor(x, 12), bias);
      reference.add_bias(tensor(expected, 12), bias);
      EXPECT_EQ(x, expected);
      const std::vector<std::int32_t> rows = {11, 0, 3, 3};
      std::vector<float> out(4 * width);
      std::vector<float> expected_out(4 * width);
      backend.gather_rows(tensor(out, 4), tensor(x, 12), rows);
      reference.gather_rows(tensor(expected_out, 4), tensor(x, 12), rows);
      EXPECT_EQ(out, expected_out);
    }
  });
}

TEST(Operators, NaNStaysNaNInItsRow) {
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  for_tables([&](CpuBackend& backend, Backend&) {
    std::vector<float> gate_up(2 * 64, 1.0F);
    gate_up[5] = kNaN;
    gate_up[40] = std::numeric_limits<float>::infinity();
    std::vector<float> out(2 * 32);
    backend.silu_and_mul(tensor(out, 2), tensor(gate_up, 2));
    for (std::size_t i = 0; i < 64; ++i) EXPECT_EQ(std::isnan(out[i]), i == 5) << i;
  });
}

}  // namespace
}  // namespace sluice::backend::cpu
