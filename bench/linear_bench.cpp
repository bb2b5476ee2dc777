// Matrix products per format and number of rows, beside the read bandwidth of the same run. JSON lines.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <random>
#include <vector>

#include "backend/cpu/kernels/select.h"
#include "backend/cpu/linear.h"
#include "backend/quant_formats.h"
#include "base/compute_pool.h"

namespace sluice::backend::cpu {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kColumns = 1024;
constexpr std::size_t kRows = 65536;  // far more than the last cache holds, in every format

double seconds_of(const std::function<void()>& work) {
  work();
  double best = 1e9;
  for (int i = 0; i < 5; ++i) {
    const auto start = Clock::now();
    work();
    best = std::min(best, std::chrono::duration<double>(Clock::now() - start).count());
  }
  return best;
}

double read_bandwidth(ComputePool& pool) {
  constexpr std::size_t kChunk = 1 << 20;
  const std::vector<std::uint64_t> data(std::size_t{64} << 20, 1);  // 512 MiB
  std::vector<std::uint64_t> sums(data.size() / kChunk);
  const double seconds = seconds_of([&] {
    pool.run(sums.size(), [&](std::size_t i, std::size_t) {
      const std::uint64_t* from = data.data() + i * kChunk;
      std::uint64_t lanes[32] = {};  // enough independent sums to keep the loads in flight
      for (std::size_t j = 0; j < kChunk; j += 32)
        for (std::size_t lane = 0; lane < 32; ++lane) lanes[lane] += from[j + lane];
      sums[i] = std::accumulate(lanes, lanes + 32, std::uint64_t{0});
    });
  });
  return static_cast<double>(data.size() * 8) / seconds / 1e9;
}

void measure(const KernelTable& table, ComputePool& pool, DType format) {
  std::mt19937 random(1);
  std::vector<std::byte> stored(kRows * row_bytes(format, kColumns));
  const bool is_plain = traits(format).block_elements == 1;
  for (std::size_t i = 0; i + 4 <= stored.size(); i += 4) {
    std::uint32_t bits = random() & 0x3fff3fffU;                  // no NaN in any format
    if (is_plain) bits = (random() & 0x80ff80ffU) | 0x3c003c00U;  // nor denormals, which no model has
    std::memcpy(stored.data() + i, &bits, 4);
  }
  const RowSegment segment{stored, format, kRows, {}};
  const PackedWeight weight({&segment, 1}, kColumns, pool);
  for (const std::size_t m : {1, 2, 4, 8, 16, 64, 256}) {
    std::vector<float> x(m * kColumns, 0.5F);
    std::vector<float> out(m * kRows);
    const double seconds = seconds_of([&] {
      linear(table, pool, {out.data(), m, kRows, kRows}, weight, {x.data(), m, kColumns, kColumns});
    });
    std::printf(
        "{\"table\":\"%s\",\"format\":\"%s\",\"threads\":%zu,\"rows\":%zu,\"gigabytes_per_second\":%.1f,"
        "\"gigaops_per_second\":%.0f}\n",
        table.name, traits(format).name.data(), pool.threads(), m,
        static_cast<double>(weight.bytes()) / seconds / 1e9,
        2.0 * static_cast<double>(m * kRows * kColumns) / seconds / 1e9);
    std::fflush(stdout);
  }
}

}  // namespace
}  // namespace sluice::backend::cpu

int main(int argc, char** argv) {
  using namespace sluice::backend;
  const char* name = argc > 1 ? argv[1] : "auto";
  sluice::ComputePool pool(argc > 2 ? static_cast<std::size_t>(std::atoi(argv[2])) : 0);
  const cpu::KernelTable& table = cpu::select_table(name);
  std::printf("{\"read_gigabytes_per_second\":%.1f}\n", cpu::read_bandwidth(pool));
  for (const DType format : {DType::kQ8_0, DType::kQ4_0, DType::kQ4_1, DType::kQ4_K, DType::kQ6_K,
                             DType::kBF16, DType::kF16, DType::kF32})
    cpu::measure(table, pool, format);
  return 0;
}
