// The matrix product of every table of the host and every format against the reference back end, with bounds
// that follow from the roundings, and equal bits whatever the number of rows and threads.
#include "backend/cpu/linear.h"

#include "backend/cpu/table_testing.h"

namespace sluice::backend::cpu {
namespace {

constexpr std::size_t kRowsMax = 40;

bool is_integer(DType format) { return traits(format).block_elements > 1; }

struct Product {
  DType format;
  std::size_t n, k;
  std::vector<std::byte> stored;
  std::vector<float> x;  // [kRowsMax, k]

  Product(DType f, std::size_t rows, std::size_t columns)
      : format(f),
        n(rows),
        k(columns),
        stored(random_rows(f, rows, columns, static_cast<std::uint32_t>(rows * columns))),
        x(random_values(kRowsMax * columns, static_cast<std::uint32_t>(rows + columns))) {}

  std::vector<float> run(Backend& backend, std::vector<float>& rows) const {
    const RowSegment segment{stored, format, n, {}};
    const auto weight = backend.prepare({&segment, 1}, k);
    std::vector<float> out(rows.size() / k * n, -1);
    backend.linear(tensor(out, rows.size() / k), *weight, tensor(rows, rows.size() / k));
    return out;
  }
};

// The rows as the integer kernels see them: per 32 columns, whole multiples of largest / 127.
std::vector<float> rounded_to_8_bits(std::vector<float> x) {
  for (std::size_t block = 0; block < x.size(); block += 32) {
    float largest = 0;
    for (std::size_t i = block; i < block + 32; ++i) largest = std::max(largest, std::abs(x[i]));
    for (std::size_t i = block; i < block + 32; ++i)
      x[i] = largest / 127 * std::nearbyint(x[i] * (127 / largest));
  }
  return x;
}

// Largest |got - want| in units of its bound. An output is a chain of `roundings` roundings over terms whose
// sizes sum to `size`, so it is within roundings * 2^-24 * size of the exact sum: one FMA per column for
// float formats; for integer formats, whose sums of 32 columns are exact, at most two FMAs per block and a
// few roundings of its scales. A Q4_1 or Q4_K value is a difference whose two terms may each be larger than
// any value of the block, hence the threefold size. `steps` adds half a step of 8-bit activations per column.
double worst_error(const Product& p, const std::vector<float>& got, const std::vector<float>& want,
                   const std::vector<float>& x, bool steps) {
  const bool has_minima = p.format == DType::kQ4_1 || p.format == DType::kQ4_K;
  const double blocks = static_cast<double>(p.k) / 32;
  const double roundings = is_integer(p.format) ? 2 * blocks + 6 : static_cast<double>(p.k) + 2;
  std::vector<float> w(p.k);
  double worst = 0;
  for (std::size_t j = 0; j < p.n; ++j) {
    dequantize_row(p.format, p.stored.data() + j * row_bytes(p.format, p.k), p.k, w.data());
    for (std::size_t m = 0; m < kRowsMax; ++m) {
      double size = 0;
      double half_steps = 0;
      for (std::size_t block = 0; block < p.k; block += 32) {
        double top_w = 0;
        double top_x = 0;
        double sum_w = 0;
        double sum_x = 0;
        double plain = 0;
        for (std::size_t i = block; i < std::min(p.k, block + 32); ++i) {
          const double a = std::abs(double{w[i]});
          const double b = std::abs(double{x[m * p.k + i]});
          top_w = std::max(top_w, a);
          top_x = std::max(top_x, b);
          sum_w += a;
          sum_x += b;
          plain += a * b;
        }
        size += has_minima ? 3 * top_w * sum_x : plain;
        half_steps += top_x / 127 / 2 * sum_w;
      }
      const double bound = roundings * kRoundoff * size * (1 + 1e-6) + (steps ? half_steps : 0) + 1e-30;
      worst = std::max(worst, std::abs(double{got[m * p.n + j]} - want[m * p.n + j]) / bound);
    }
  }
  return worst;
}

TEST(Linear, EveryTableAndFormatIsTheReferenceProduct) {
  for_tables([](CpuBackend& backend, Backend& reference) {
    for (const DType format : kFormats) {
      const std::size_t unit = std::max<std::size_t>(2, traits(format).block_elements);
      for (const std::size_t n : {1, 15, 16, 17, 79, 200}) {
        for (const std::size_t units : {1, 3, 9}) {
          SCOPED_TRACE(testing::Message() << traits(format).name << " " << n << " x " << units * unit);
          const Product p(format, n, units * unit);
          std::vector<float> x = p.x;
          const auto got = p.run(backend, x);
          if (is_integer(format)) {
            EXPECT_LE(worst_error(p, got, p.run(reference, x), x, true), 1);
            x = rounded_to_8_bits(x);
          }
          EXPECT_LE(worst_error(p, got, p.run(reference, x), x, false), 1);
        }
      }
    }
  });
}

TEST(Linear, BitsDoNotDependOnRowsOrThreads) {
  auto one = std::make_shared<ComputePool>(1);
  for_tables([&](CpuBackend& backend, Backend&) {
    CpuBackend single(cpu::select_table(backend.name()), one);
    for (const DType format : kFormats) {
      const Product p(format, 100, 512);
      std::vector<float> x = p.x;
      const auto all = p.run(backend, x);
      for (std::size_t m = 1; m <= kRowsMax; ++m) {
        std::vector<float> first(p.x.begin(), p.x.begin() + static_cast<std::ptrdiff_t>(m * p.k));
        const auto some = p.run(m % 2 == 0 ? backend : single, first);
        ASSERT_EQ(std::memcmp(some.data(), all.data(), some.size() * 4), 0) << traits(format).name << m;
        std::vector<float> last(first.end() - static_cast<std::ptrdiff_t>(p.k), first.end());
        const auto alone = p.run(single, last);
        ASSERT_EQ(std::memcmp(alone.data(), &all[(m - 1) * p.n], alone.size() * 4), 0)
            << traits(format).name << m;
      }
    }
  });
}

TEST(Linear, MixedSegmentsAreTheirParts) {
  constexpr std::size_t kColumns = 256;
  constexpr std::size_t kRows = 21;
  for_tables([](CpuBackend& backend, Backend& reference) {
    std::vector<std::vector<std::byte>> stored;
    std::vector<RowSegment> segments;
    for (const DType format : kFormats) stored.push_back(random_rows(format, kRows, kColumns, 3));
    for (std::size_t i = 0; i < stored.size(); ++i) segments.push_back({stored[i], kFormats[i], kRows, {}});
    const auto fused = backend.prepare(segments, kColumns);
    auto x = random_values(3 * kColumns, 4);
    std::vector<float> all(3 * fused->rows());
    backend.linear(tensor(all, 3), *fused, tensor(x, 3));
    for (std::size_t i = 0; i < segments.size(); ++i) {
      const auto single = backend.prepare({&segments[i], 1}, kColumns);
      std::vector<float> part(3 * kRows);
      backend.linear(tensor(part, 3), *single, tensor(x, 3));
      for (std::size_t m = 0; m < 3; ++m)
        EXPECT_EQ(std::memcmp(&part[m * kRows], &all[m * fused->rows() + i * kRows], kRows * 4), 0);
    }
    std::vector<std::int32_t> ids;
    for (std::size_t row = fused->rows(); row > 0; --row) ids.push_back(static_cast<std::int32_t>(row - 1));
    std::vector<float> got(ids.size() * kColumns);
    std::vector<float> want(got.size());
    backend.embed(tensor(got, ids.size()), *fused, ids);
    reference.embed(tensor(want, ids.size()), *reference.prepare(segments, kColumns), ids);
    EXPECT_EQ(got, want);
  });
}

TEST(Linear, RowsWithNaNOrInfinityAreNaNAndDisturbNoOther) {
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for_tables([&](CpuBackend& backend, Backend&) {
    for (const DType format : kFormats) {
      const Product p(format, 33, 512);
      std::vector<float> x = p.x;
      const auto clean = p.run(backend, x);
      const std::pair<std::size_t, float> bad[] = {{0, kNaN}, {3, -kNaN}, {11, kInfinity}, {38, -kInfinity}};
      for (const auto& [row, value] : bad) x[row * p.k + 7 * row] = value;
      const auto got = p.run(backend, x);
      for (std::size_t m = 0; m < kRowsMax; ++m) {
        const auto* is_bad =
            std::find_if(std::begin(bad), std::end(bad), [&](auto& b) { return b.first == m; });
        if (is_bad == std::end(bad)) {
          ASSERT_EQ(std::memcmp(&got[m * p.n], &clean[m * p.n], p.n * 4), 0) << traits(format).name << m;
        } else if (is_integer(format) || std::isnan(is_bad->second)) {
          for (std::size_t j = 0; j < p.n; ++j) ASSERT_TRUE(std::isnan(got[m * p.n + j])) << m << " " << j;
        }
      }
    }
  });
}

// From zero over denormals to the largest float: all tables give the same integers, and each value is within
// half a step, or, below 2^-100, nothing.
TEST(Linear, QuantisesEveryMagnitudeAlike) {
  std::vector<float> x;
  for (const float top : {0.0F, 1e-45F, 1e-40F, 1.2e-38F, 1e-37F, 7e-31F, 1e-30F, 1e-3F, 1.0F, 1e30F,
                          std::numeric_limits<float>::max()}) {
    for (const float part : random_values(32, 5)) x.push_back(top * std::clamp(part / 3, -1.0F, 1.0F));
    x[x.size() - 9] = -top;
  }
  std::vector<std::int8_t> first;
  for (const KernelTable* table : available_tables()) {
    std::vector<std::int8_t> values(x.size(), 99);
    std::vector<float> scales(x.size() / 32, -1);
    std::vector<std::int32_t> sums(x.size() / 16, -1);
    table->quantize_row(x.data(), x.size(), values.data(), scales.data(), sums.data());
    if (first.empty()) first = values;
    EXPECT_EQ(values, first) << table->name;
    std::vector<std::int32_t> counted(sums.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double scale = scales[i / 32];
      const double lost = std::abs(scale * values[i] - x[i]);
      EXPECT_LE(lost, scale == 0 ? 0x1p-100 : scale * 0.5001) << table->name << " " << x[i];
      counted[i / 16] += values[i];
    }
    EXPECT_EQ(sums, counted) << table->name;
  }
}

}  // namespace
}  // namespace sluice::backend::cpu
