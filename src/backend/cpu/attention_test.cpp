// Attention of every table against reference/, and equal bits whatever the batch, the cut of the prefill
// and threads.
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

#include "backend/backend.h"
#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/kernels/select.h"
#include "backend/cpu/kv_pages.h"
#include "backend/reference/reference_backend.h"
#include "base/compute_pool.h"

namespace sluice::backend::cpu {
namespace {

struct Case {
  std::size_t heads, kv_heads, dim, tokens;
  KVFormat format;
};

// One sequence whose keys and values are all stored; attention over any cut of its queries.
struct Fixture {
  Case shape;
  std::vector<float> q, k, v;
  std::vector<std::int32_t> table;

  explicit Fixture(const Case& c) : shape(c) {
    std::mt19937 random(5);
    std::normal_distribution<float> normal(0, 1);
    q.resize(c.tokens * c.heads * c.dim);
    k.resize(c.tokens * c.kv_heads * c.dim);
    v.resize(k.size());
    for (auto* part : {&q, &k, &v})
      for (float& value : *part) value = normal(random);
    const auto blocks = static_cast<std::int32_t>((c.tokens + 15) / 16);
    for (std::int32_t b = 0; b < blocks; ++b) table.push_back((b * 7 + 3) % (blocks * 8));
  }

  std::unique_ptr<KVCache> store(Backend& backend) {
    const KVShape kv{1, table.size() * 8, shape.kv_heads, shape.dim, shape.format};
    auto cache = backend.allocate_kv(kv);
    std::vector<std::int64_t> slots;
    for (std::size_t t = 0; t < shape.tokens; ++t)
      slots.push_back(table[t / 16] * 16 + static_cast<int>(t % 16));
    const std::size_t width = shape.kv_heads * shape.dim;
    backend.store_kv(*cache, 0, {k.data(), shape.tokens, width, width},
                     {v.data(), shape.tokens, width, width}, slots);
    return cache;
  }

  // Outputs of queries [from, to).
  std::vector<float> attend(Backend& backend, const KVCache& cache, std::size_t from, std::size_t to) {
    const std::size_t width = shape.heads * shape.dim;
    std::vector<float> out((to - from) * width);
    const std::int32_t starts[] = {0, static_cast<std::int32_t>(to - from)};
    const std::int32_t lengths[] = {static_cast<std::int32_t>(to)};
    const AttentionBatch batch{starts, lengths, table, table.size()};
    backend.paged_attention({out.data(), to - from, width, width},
                            {q.data() + from * width, to - from, width, width}, cache, 0, batch);
    return out;
  }
};

// Both sides round keys and values to BF16 alike, so one limit holds for both formats.
TEST(Attention, AgreesWithReference) {
  auto pool = std::make_shared<ComputePool>(2);
  ReferenceBackend reference;
  for (const Case& c : {Case{4, 2, 64, 37, KVFormat::kF32}, Case{8, 1, 128, 300, KVFormat::kF32},
                        Case{2, 2, 96, 600, KVFormat::kBF16}, Case{5, 1, 80, 17, KVFormat::kBF16},
                        Case{16, 2, 32, 256, KVFormat::kBF16}, Case{1, 1, 256, 257, KVFormat::kF32}}) {
    Fixture f(c);
    const auto expected_cache = f.store(reference);
    const auto expected = f.attend(reference, *expected_cache, 0, c.tokens);
    for (const KernelTable* table : available_tables()) {
      CpuBackend backend(*table, pool);
      const auto cache = f.store(backend);
      const auto out = f.attend(backend, *cache, 0, c.tokens);
      for (std::size_t i = 0; i < out.size(); ++i) ASSERT_NEAR(out[i], expected[i], 2e-5) << table->name << i;
    }
  }
}

TEST(Attention, BitsDoNotDependOnTheCutOrThreads) {
  auto one = std::make_shared<ComputePool>(1);
  auto two = std::make_shared<ComputePool>(2);
  for (const KernelTable* table : available_tables()) {
    CpuBackend backend(*table, two);
    CpuBackend single(*table, one);
    Fixture f({6, 2, 64, 530, KVFormat::kBF16});
    const auto cache = f.store(backend);
    const auto all = f.attend(backend, *cache, 0, 530);
    const std::size_t width = 6 * 64;
    for (const std::size_t step : {1, 16, 100}) {
      for (std::size_t t = 0; t < 530; t += 53) {
        const std::size_t end = std::min<std::size_t>(530, t + step);
        const auto part = f.attend(single, *cache, t, end);
        ASSERT_EQ(std::memcmp(part.data(), all.data() + t * width, part.size() * 4), 0)
            << table->name << step << t;
      }
    }
  }
}

TEST(KVPages, OffsetsAreSixtyFourBit) {  // field report F040
  const KVShape shape{48, 1U << 20, 8, 128, KVFormat::kBF16};
  const std::uint64_t last = KVPages::value_offset(shape, 47, shape.blocks - 1, 7) + 16 * 128;
  EXPECT_EQ(last * 2, shape.block_bytes() * shape.blocks);
  EXPECT_GT(last, std::uint64_t{1} << 32);
}

}  // namespace
}  // namespace sluice::backend::cpu
