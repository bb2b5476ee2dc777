// Attention of every table of the host against the reference back end, and equal bits whatever the batch, the
// cut of the prefill, the cut of the context and the threads.
#include "backend/cpu/kv_pages.h"
#include "backend/cpu/table_testing.h"

namespace sluice::backend::cpu {
namespace {

struct Shape {
  std::size_t heads, kv_heads, dim;
  KVFormat format;
};

// Sequences of random tokens in scattered blocks of one pool.
struct Sequences {
  Shape shape;
  std::vector<std::size_t> lengths;
  std::vector<float> q, k, v;  // of all tokens, sequence after sequence
  std::size_t blocks_max = 0;
  std::vector<std::int32_t> tables;
  std::vector<std::int64_t> slots;

  Sequences(const Shape& s, std::vector<std::size_t> tokens) : shape(s), lengths(std::move(tokens)) {
    std::size_t total = 0;
    for (const std::size_t length : lengths) {
      blocks_max = std::max(blocks_max, (length + kBlockTokens - 1) / kBlockTokens);
      total += length;
    }
    q = random_values(total * s.heads * s.dim, 1);
    k = random_values(total * s.kv_heads * s.dim, 2);
    v = random_values(total * s.kv_heads * s.dim, 3);
    // Multiplying by an odd number scatters the blocks over a pool of a power of two.
    for (std::size_t i = 0; i < lengths.size() * blocks_max; ++i)
      tables.push_back(static_cast<std::int32_t>(i * 37 % pool_blocks()));
    for (std::size_t i = 0; i < lengths.size(); ++i)
      for (std::size_t t = 0; t < lengths[i]; ++t)
        slots.push_back(tables[i * blocks_max + t / 16] * 16 + static_cast<int>(t % 16));
  }

  std::size_t pool_blocks() const { return std::bit_ceil(lengths.size() * blocks_max + 1); }
  std::size_t start_of(std::size_t sequence) const {
    return std::accumulate(lengths.begin(), lengths.begin() + static_cast<std::ptrdiff_t>(sequence),
                           std::size_t{0});
  }

  std::unique_ptr<KVCache> store(Backend& backend) {
    auto cache = backend.allocate_kv({2, pool_blocks(), shape.kv_heads, shape.dim, shape.format});
    backend.store_kv(*cache, 1, tensor(k, slots.size()), tensor(v, slots.size()), slots);
    return cache;
  }

  // Outputs of the last `queries` of the first `context` tokens of one sequence.
  std::vector<float> attend(Backend& backend, const KVCache& cache, std::size_t sequence, std::size_t context,
                            std::size_t queries) {
    const std::size_t width = shape.heads * shape.dim;
    std::vector<float> out(queries * width);
    const std::int32_t starts[] = {0, static_cast<std::int32_t>(queries)};
    const std::int32_t contexts[] = {static_cast<std::int32_t>(context)};
    const auto table = std::span(tables).subspan(sequence * blocks_max, blocks_max);
    const Tensor rows = tensor(q, slots.size()).rows_at(start_of(sequence) + context - queries, queries);
    backend.paged_attention({out.data(), queries, width, width}, rows, cache, 1,
                            {starts, contexts, table, blocks_max});
    return out;
  }

  // All queries of all sequences in one call.
  std::vector<float> attend_all(Backend& backend, const KVCache& cache) {
    std::vector<float> out(q.size());
    std::vector<std::int32_t> starts = {0};
    std::vector<std::int32_t> contexts;
    for (const std::size_t length : lengths) {
      contexts.push_back(static_cast<std::int32_t>(length));
      starts.push_back(starts.back() + contexts.back());
    }
    backend.paged_attention(tensor(out, slots.size()), tensor(q, slots.size()), cache, 1,
                            {starts, contexts, tables, blocks_max});
    return out;
  }
};

// Scores are sums of D float products, each off by at most about D * 2^-24 of the size of its terms; with
// values of size one that moves a weighted mean by less than 2e-5. Both sides keep the same rounded keys and
// values, so BF16 needs no more.
constexpr double kErrorMax = 2e-5;

TEST(Attention, AgreesWithTheReference) {
  for_tables([](CpuBackend& backend, Backend& reference) {
    for (const KVFormat format : {KVFormat::kF32, KVFormat::kBF16}) {
      for (const Shape& shape : {Shape{2, 2, 128, format}, Shape{4, 2, 64, format}, Shape{8, 1, 80, format},
                                 Shape{3, 1, 16, format}, Shape{1, 1, 256, format}}) {
        Sequences s(shape, {600});
        const auto cache = s.store(backend);
        const auto expected_cache = s.store(reference);
        for (const std::size_t context : {1, 2, 15, 16, 17, 33, 255, 256, 257, 272, 511, 512, 513, 600}) {
          const std::size_t queries = std::min<std::size_t>(context, context % 2 == 0 ? 1 : 5);
          SCOPED_TRACE(testing::Message() << shape.heads << "/" << shape.kv_heads << " x " << shape.dim
                                          << " context " << context);
          const auto got = s.attend(backend, *cache, 0, context, queries);
          expect_near(got, s.attend(reference, *expected_cache, 0, context, queries), 0, kErrorMax);
        }
      }
    }
  });
}

// A prefill of all rows, in one call, is what any later cut of it gives; and a long context that is cut into
// pieces for many threads is what one thread gives.
TEST(Attention, BitsDoNotDependOnTheCutOrThreads) {
  auto one = std::make_shared<ComputePool>(1);
  auto five = std::make_shared<ComputePool>(5);
  for_tables([&](CpuBackend& backend, Backend&) {
    CpuBackend single(select_table(backend.name()), one);
    CpuBackend many(select_table(backend.name()), five);
    Sequences s({6, 2, 64, KVFormat::kBF16}, {1300});
    const auto cache = s.store(backend);
    const auto all = s.attend_all(backend, *cache);
    for (const std::size_t queries : {1, 3, 16, 100}) {
      for (const std::size_t end : {100, 255, 256, 257, 700, 1024, 1025, 1300}) {
        const auto part = s.attend(single, *cache, 0, end, queries);
        const float* expected = all.data() + (end - queries) * 6 * 64;
        ASSERT_EQ(std::memcmp(part.data(), expected, part.size() * 4), 0) << queries << " " << end;
        ASSERT_EQ(s.attend(many, *cache, 0, end, queries), part) << queries << " " << end;
        ASSERT_EQ(s.attend(backend, *cache, 0, end, queries), part) << queries << " " << end;
      }
    }
  });
}

// Three sequences of other lengths in one call give what each gives alone, bit for bit; what a row does not
// see, even infinity, does not touch it; NaN stays in the rows that see it.
TEST(Attention, RaggedBatchIsTheSameAlone) {
  for_tables([](CpuBackend& backend, Backend& reference) {
    Sequences s({4, 2, 64, KVFormat::kF32}, {40, 900, 17});
    s.v[39 * 2 * 64] = std::numeric_limits<float>::infinity();         // the first sequence's last token
    s.k[939 * 2 * 64 + 64] = std::numeric_limits<float>::quiet_NaN();  // the second's last token, KV head 1
    const auto cache = s.store(backend);
    const auto all = s.attend_all(backend, *cache);
    for (std::size_t i = 0; i < 3; ++i) {
      const auto alone = s.attend(backend, *cache, i, s.lengths[i], s.lengths[i]);
      ASSERT_EQ(std::memcmp(alone.data(), all.data() + s.start_of(i) * 256, alone.size() * 4), 0) << i;
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
      const bool sees_infinity =
          i / 256 == 39 && i % 256 < 128 && i % 64 == 0;  // heads 0 and 1 share KV head 0
      const bool sees_nan = i / 256 == 939 && i % 256 >= 128;
      ASSERT_EQ(std::isfinite(all[i]), !sees_infinity && !sees_nan) << i / 256 << " " << i % 256;
      ASSERT_TRUE(!sees_nan || std::isnan(all[i])) << i;
    }
    const auto expected = s.attend(reference, *s.store(reference), 2, 17, 17);
    expect_near(s.attend(backend, *cache, 2, 17, 17), expected, 0, kErrorMax);
  });
}

TEST(KVPages, OffsetsAreSixtyFourBit) {  // field report F040
  const KVShape shape{48, 1U << 20, 8, 128, KVFormat::kBF16};
  const std::uint64_t last = KVPages::value_offset(shape, 47, shape.blocks - 1, 7) + 16 * 128;
  EXPECT_EQ(last * 2, shape.block_bytes() * shape.blocks);
  EXPECT_GT(last, std::uint64_t{1} << 32);
}

}  // namespace
}  // namespace sluice::backend::cpu
