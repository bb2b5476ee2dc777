// Every table that the host has, every format: values against reference/,
// and equal bits whatever the number of rows and threads.
#include "backend/cpu/linear.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "backend/cpu/kernels/select.h"
#include "backend/quant_formats.h"
#include "backend/reference/reference_backend.h"
#include "base/compute_pool.h"

namespace sluice::backend::cpu {
namespace {

constexpr DType kFormats[] = {DType::kF32,  DType::kF16,  DType::kBF16, DType::kQ8_0,
                              DType::kQ4_0, DType::kQ4_1, DType::kQ4_K, DType::kQ6_K};

std::vector<std::byte> random_rows(DType format, std::size_t rows, std::size_t columns,
                                   std::mt19937& random) {
  const DTypeTraits& layout = traits(format);
  std::vector<std::byte> bytes(rows * row_bytes(format, columns));
  std::normal_distribution<float> normal(0, 0.05F);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  const auto put_half = [&](std::size_t at, float value) {
    const std::uint16_t bits = float_to_half(value);
    std::memcpy(bytes.data() + at, &bits, 2);
  };
  for (std::size_t at = 0; at < bytes.size(); at += layout.block_bytes) {
    switch (format) {
      case DType::kF32: {
        const float value = normal(random);
        std::memcpy(bytes.data() + at, &value, 4);
        break;
      }
      case DType::kF16:
        put_half(at, normal(random));
        break;
      case DType::kBF16: {
        const std::uint16_t bits = float_to_bf16(normal(random));
        std::memcpy(bytes.data() + at, &bits, 2);
        break;
      }
      case DType::kQ6_K:
        put_half(at + 208, 1e-4F);
        break;
      default:
        put_half(at, 1e-3F + 1e-4F * normal(random));
        if (layout.block_bytes != 34 && layout.block_bytes != 18) put_half(at + 2, 1e-3F);
    }
  }
  return bytes;
}

std::vector<float> product(const KernelTable& table, ComputePool& pool, const PackedWeight& weight,
                           std::vector<float>& x, std::size_t first, std::size_t rows) {
  std::vector<float> out(rows * weight.rows(), -1);
  const Tensor xs{x.data() + first * weight.columns(), rows, weight.columns(), weight.columns()};
  linear(table, pool, {out.data(), rows, weight.rows(), weight.rows()}, weight, xs);
  return out;
}

// Largest error, relative to the root of the sum of squared terms: what rounding each activation to 8 bits (a
// step of at most 1/127 of its block's largest) can move a sum of independent terms by.
double worst_error(const std::vector<float>& out, const std::vector<float>& expected, DType format,
                   const std::vector<std::byte>& stored, std::size_t n, std::size_t k,
                   const std::vector<float>& x) {
  std::vector<float> row(k);
  double worst = 0;
  for (std::size_t j = 0; j < n; ++j) {
    dequantize_row(format, stored.data() + j * row_bytes(format, k), k, row.data());
    for (std::size_t m = 0; m < out.size() / n; ++m) {
      double size = 0;
      for (std::size_t i = 0; i < k; ++i) size += std::pow(double{row[i]} * x[m * k + i], 2);
      worst = std::max(worst, std::abs(double{out[m * n + j]} - expected[m * n + j]) / std::sqrt(size));
    }
  }
  return worst;
}

TEST(Linear, EveryTableAndFormatAgreesWithReference) {
  std::mt19937 random(7);
  ComputePool pool(2);
  ReferenceBackend reference;
  std::normal_distribution<float> normal(0, 1);
  for (const DType format : kFormats) {
    for (const std::size_t n : {1, 15, 64, 200}) {
      const std::size_t k = traits(format).block_elements == 256 ? 512 : 576;
      const auto stored = random_rows(format, n, k, random);
      const RowSegment segment{stored, format, n, {}};
      const PackedWeight weight({&segment, 1}, k, pool);
      std::vector<float> x(5 * k);
      for (float& value : x) value = normal(random);
      std::vector<float> expected(5 * n);
      reference.linear({expected.data(), 5, n, n}, *reference.prepare({&segment, 1}, k), {x.data(), 5, k, k});
      const double limit = traits(format).block_elements > 1 ? 0.03 : 1e-5;
      for (const KernelTable* table : available_tables()) {
        const auto out = product(*table, pool, weight, x, 0, 5);
        EXPECT_LT(worst_error(out, expected, format, stored, n, k, x), limit)
            << table->name << " " << traits(format).name << " " << n;
      }
    }
  }
  for (const KernelTable* table : available_tables()) std::printf("checked table %s\n", table->name);
}

// A NaN or an infinity makes its own row NaN and no other; what is too small to be scaled counts as zero.
TEST(Linear, NonFiniteAndTinyActivations) {
  std::mt19937 random(13);
  ComputePool pool(2);
  constexpr std::size_t kColumns = 512;
  constexpr std::size_t kRows = 9;
  for (const KernelTable* table : available_tables()) {
    for (const DType format : kFormats) {
      const auto stored = random_rows(format, 33, kColumns, random);
      const RowSegment segment{stored, format, 33, {}};
      const PackedWeight weight({&segment, 1}, kColumns, pool);
      std::vector<float> x(kRows * kColumns, 0.25F);
      x[1 * kColumns + 40] = std::numeric_limits<float>::quiet_NaN();
      x[3 * kColumns] = std::numeric_limits<float>::infinity();
      x[5 * kColumns + 511] = -std::numeric_limits<float>::infinity();
      std::fill_n(x.begin() + 7 * kColumns, kColumns, 1e-42F);
      std::fill_n(x.begin() + 8 * kColumns, kColumns, 0.0F);
      const auto out = product(*table, pool, weight, x, 0, kRows);
      for (std::size_t m = 0; m < kRows; ++m) {
        for (std::size_t n = 0; n < 33; ++n) {
          const float value = out[m * 33 + n];
          const bool is_right = m == 1             ? std::isnan(value)
                                : m == 3 || m == 5 ? !std::isfinite(value)
                                : m >= 7           ? std::abs(value) < 1e-35F
                                                   : value == out[n];
          ASSERT_TRUE(is_right) << table->name << traits(format).name << " row " << m << ": " << value;
        }
      }
    }
  }
}

TEST(Linear, BitsDoNotDependOnRowsOrThreads) {
  std::mt19937 random(11);
  ComputePool one(1);
  ComputePool two(2);
  constexpr std::size_t kColumns = 512;
  constexpr std::size_t kRows = 37;
  for (const KernelTable* table : available_tables()) {
    for (const DType format : kFormats) {
      const auto stored = random_rows(format, 100, kColumns, random);
      const RowSegment segment{stored, format, 100, {}};
      const PackedWeight weight({&segment, 1}, kColumns, two);
      std::vector<float> x(kRows * kColumns);
      for (float& value : x) value = static_cast<float>(random() % 1000) / 500.0F - 1;
      const auto all = product(*table, two, weight, x, 0, kRows);
      for (std::size_t m = 0; m < kRows; ++m) {
        const auto alone = product(*table, one, weight, x, m, 1);
        ASSERT_EQ(std::memcmp(alone.data(), all.data() + m * 100, 400), 0)
            << table->name << traits(format).name << m;
      }
      for (const std::size_t rows : {2, 3, 4, 7, 8, 16}) {
        const auto some = product(*table, two, weight, x, 0, rows);
        ASSERT_EQ(std::memcmp(some.data(), all.data(), some.size() * 4), 0)
            << table->name << traits(format).name << rows;
      }
    }
  }
}

TEST(Linear, UnpacksRowsAndMixesFormats) {
  std::mt19937 random(3);
  ComputePool pool(2);
  constexpr std::size_t kColumns = 256;
  std::vector<std::vector<std::byte>> stored;
  std::vector<RowSegment> segments;
  for (const DType format : kFormats) stored.push_back(random_rows(format, 21, kColumns, random));
  for (std::size_t i = 0; i < stored.size(); ++i) segments.push_back({stored[i], kFormats[i], 21, {}});
  const PackedWeight weight(segments, kColumns, pool);
  std::vector<float> x(3 * kColumns, 0.5F);
  const auto fused = product(*available_tables()[0], pool, weight, x, 0, 3);
  std::vector<float> expected(kColumns);
  std::vector<float> got(kColumns);
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const PackedWeight single({&segments[i], 1}, kColumns, pool);
    const auto part = product(*available_tables()[0], pool, single, x, 0, 3);
    for (std::size_t m = 0; m < 3; ++m)
      EXPECT_EQ(std::memcmp(part.data() + m * 21, fused.data() + m * weight.rows() + i * 21, 84), 0);
    for (std::size_t row = 0; row < 21; ++row) {
      dequantize_row(kFormats[i], stored[i].data() + row * row_bytes(kFormats[i], kColumns), kColumns,
                     expected.data());
      weight.unpack_row(i * 21 + row, got.data());
      for (std::size_t c = 0; c < kColumns; ++c)
        ASSERT_NEAR(got[c], expected[c], 1e-6F) << traits(kFormats[i]).name;
    }
  }
}

}  // namespace
}  // namespace sluice::backend::cpu
