// Shared by the tests of this folder: random operands, every table of the host, and how far its results may
// be from those of the reference back end.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/kernels/select.h"
#include "backend/quant_formats.h"
#include "backend/reference/reference_backend.h"
#include "base/compute_pool.h"

namespace sluice::backend::cpu {

inline constexpr DType kFormats[] = {DType::kF32,  DType::kF16,  DType::kBF16, DType::kQ8_0,
                                     DType::kQ4_0, DType::kQ4_1, DType::kQ4_K, DType::kQ6_K};
inline constexpr double kRoundoff = 0x1p-24;  // largest relative error of one rounding to float

inline std::vector<float> random_values(std::size_t count, std::uint32_t seed, float spread = 1) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, spread);
  std::vector<float> values(count);
  for (float& value : values) value = normal(random);
  return values;
}

inline Tensor tensor(std::vector<float>& values, std::size_t rows) {
  const std::size_t columns = values.size() / rows;
  return {values.data(), rows, columns, columns};
}

// Stored rows with random quants, and scales and plain values as models have them.
inline std::vector<std::byte> random_rows(DType format, std::size_t rows, std::size_t columns,
                                          std::uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, 0.05F);
  const DTypeTraits& layout = traits(format);
  std::vector<std::byte> bytes(rows * row_bytes(format, columns));
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  const auto put_half = [&](std::size_t at, float value) {
    const std::uint16_t bits = float_to_half(value);
    std::memcpy(bytes.data() + at, &bits, 2);
  };
  for (std::size_t at = 0; at < bytes.size(); at += layout.block_bytes) {
    const float value = normal(random);
    const std::uint16_t bf16 = float_to_bf16(value);
    if (format == DType::kF32) {
      std::memcpy(bytes.data() + at, &value, 4);
    } else if (format == DType::kBF16) {
      std::memcpy(bytes.data() + at, &bf16, 2);
    } else if (format == DType::kF16) {
      put_half(at, value);
    } else if (format == DType::kQ6_K) {
      put_half(at + 208, 1e-4F * (1 + value));
    } else {
      put_half(at, 1e-3F * (1 + value));
      if (format == DType::kQ4_1 || format == DType::kQ4_K) put_half(at + 2, 1e-3F * (1 - value));
    }
  }
  return bytes;
}

// test(backend, reference) with every table of the host.
template <typename Test>
void for_tables(Test test) {
  auto pool = std::make_shared<ComputePool>(2);
  reference::ReferenceBackend reference;
  for (const KernelTable* table : available_tables()) {
    SCOPED_TRACE(table->name);
    CpuBackend backend(*table, pool);
    test(backend, reference);
  }
}

// Each value within `absolute` + `relative` of its size.
inline void expect_near(const std::vector<float>& got, const std::vector<float>& want, double relative,
                        double absolute) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_NEAR(got[i], want[i], absolute + relative * std::abs(double{want[i]})) << "at " << i;
  }
}

}  // namespace sluice::backend::cpu
