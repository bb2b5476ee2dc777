// Attention over the 16-lane vocabulary. The context is cut into chunks of 256 tokens from position 0; a
// chunk gives each row (largest, sum, weighted values), and chunks fold in ascending order, whoever computed
// them: that makes the bits independent of threads. Keys of a block are [head_dim][16], values
// [16][head_dim].

constexpr std::size_t kTokens = 16;  // of a block

struct ElementF32 {
  using Type = float;
  static F load(const float* p) { return f_load(p); }
};
struct ElementBF16 {
  using Type = std::uint16_t;
  static F load(const std::uint16_t* p) { return f_load_bf16(p); }
};

template <typename Element>
inline const typename Element::Type* block_of(const void* base, const AttentionJob& job, std::size_t token) {
  const auto block = static_cast<std::size_t>(job.block_table[token / kTokens]);
  return static_cast<const typename Element::Type*>(base) + block * job.block_stride;
}

// A row of scores is a line longer than the chunk, so that rows do not fall into one cache set.
using Scores = float[kChunkTokens + 16];

inline void prefetch_l2(const void* p, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; i += 64) __builtin_prefetch(static_cast<const char*>(p) + i, 0, 2);
}

// scores[row + m][offset + t] for kRows rows and the tokens of kBlocks neighbouring blocks of the table. The
// first rows fetch ahead: the values of these blocks, and the keys of the next.
template <typename Element, int kRows, int kBlocks>
inline void score_blocks(const AttentionJob& job, std::size_t row, std::size_t offset, std::size_t padded,
                         Scores* scores) {
  using Type = typename Element::Type;
  const Type* keys[kBlocks];
  const Type* ahead[2 * kBlocks];
  F acc[kBlocks][kRows];
  for (int b = 0; b < kBlocks; ++b) {
    const std::size_t at = offset + static_cast<std::size_t>(b) * kTokens;
    const std::size_t next = at + kBlocks * kTokens < padded ? at + kBlocks * kTokens : at;
    keys[b] = block_of<Element>(job.keys, job, job.begin + at);
    ahead[2 * b] = block_of<Element>(job.keys, job, job.begin + next);
    ahead[2 * b + 1] = block_of<Element>(job.values, job, job.begin + at);
    for (int m = 0; m < kRows; ++m) acc[b][m] = f_zero();
  }
  for (std::size_t part = 0; part < job.head_dim; part += 16) {
    if (row == 0) {
      for (int b = 0; b < 2 * kBlocks; ++b)
        prefetch_l2(ahead[b] + part * kTokens, 16 * kTokens * sizeof(Type));
    }
    for (std::size_t d = part; d < part + 16; ++d) {
      for (int b = 0; b < kBlocks; ++b) {
        const F line = Element::load(keys[b] + d * kTokens);
        for (int m = 0; m < kRows; ++m) acc[b][m] = f_fma(line, f_set(job.queries[row + m][d]), acc[b][m]);
      }
    }
  }
  for (int b = 0; b < kBlocks; ++b)
    for (int m = 0; m < kRows; ++m)
      f_store(scores[row + m] + offset + static_cast<std::size_t>(b) * kTokens, acc[b][m]);
}

// Few rows take two blocks at once, which hides the latency of their sums.
template <typename Element, int kRows>
inline void score_rows(const AttentionJob& job, std::size_t row, std::size_t offset, std::size_t padded,
                       Scores* scores) {
  const bool is_pair = offset + kTokens < padded;
  if constexpr (kRows <= 2) {
    if (is_pair) return score_blocks<Element, kRows, 2>(job, row, offset, padded, scores);
  }
  score_blocks<Element, kRows, 1>(job, row, offset, padded, scores);
  if (is_pair) score_blocks<Element, kRows, 1>(job, row, offset + kTokens, padded, scores);
}

// Scores of one row become weights relative to the chunk's largest; returns that and their sum.
inline SoftmaxState soften(float* scores, std::size_t visible, std::size_t padded) {
  const float minus_infinity = SoftmaxState{}.largest;
  F largest = f_set(minus_infinity);
  for (std::size_t t = 0; t < padded; t += kTokens) {
    const int inside = static_cast<int>(visible > t ? (visible - t < 16 ? visible - t : 16) : 0);
    const F s = f_first(f_load(scores + t), inside, minus_infinity);
    f_store(scores + t, s);
    largest = f_max(largest, s);
  }
  const float top = max_lanes(largest);
  F sum = f_zero();
  for (std::size_t t = 0; t < padded; t += kTokens) {
    const int inside = static_cast<int>(visible > t ? (visible - t < 16 ? visible - t : 16) : 0);
    const F p = f_first(f_exp(f_sub(f_load(scores + t), f_set(top))), inside, 0.0F);
    f_store(scores + t, p);
    sum = f_add(sum, p);
  }
  return {top, sum_lanes(sum)};
}

// partials[row + m][d...] += sum over tokens [first, end) of weight * value, ascending, for 16 * kLines
// dimensions.
template <typename Element, int kRows, int kLines, bool kAllSee>
inline void weigh_lines(const AttentionJob& job, std::size_t row, std::size_t d, std::size_t first,
                        std::size_t end, const Scores* weights) {
  float* partials = job.partials + row * job.head_dim + d;
  F acc[kRows][kLines];
  for (int m = 0; m < kRows; ++m)
    for (int i = 0; i < kLines; ++i)
      acc[m][i] = first == 0 ? f_zero() : f_load(partials + m * job.head_dim + 16 * i);
  const auto* values = block_of<Element>(job.values, job, job.begin + first) + d;
  for (std::size_t t = first; t < end; ++t, values += job.head_dim) {
    F line[kLines];
    for (int i = 0; i < kLines; ++i) line[i] = Element::load(values + 16 * i);
    for (int m = 0; m < kRows; ++m) {
      // A token that a row does not see must not touch it: 0 times infinity is no zero.
      if (!kAllSee && job.begin + t >= job.visible[row + m]) continue;
      const F weight = f_set(weights[row + m][t]);
      for (int i = 0; i < kLines; ++i) acc[m][i] = f_fma(line[i], weight, acc[m][i]);
    }
  }
  for (int m = 0; m < kRows; ++m)
    for (int i = 0; i < kLines; ++i) f_store(partials + m * job.head_dim + 16 * i, acc[m][i]);
}

template <typename Element, int kRows, int kLines>
inline void weigh_rows(const AttentionJob& job, std::size_t row, std::size_t first, std::size_t end,
                       const Scores* weights) {
  bool all_see = true;
  for (int m = 0; m < kRows; ++m) all_see &= job.visible[row + m] >= job.begin + end;
  std::size_t d = 0;
  for (; all_see && d + 16 * kLines <= job.head_dim; d += 16 * kLines)
    weigh_lines<Element, kRows, kLines, true>(job, row, d, first, end, weights);
  for (; d < job.head_dim; d += 16) weigh_lines<Element, kRows, 1, false>(job, row, d, first, end, weights);
}

template <typename Element>
inline void score_all(const AttentionJob& job, std::size_t padded, Scores* scores) {
  for (std::size_t t = 0; t < padded; t += 2 * kTokens) {
    std::size_t row = 0;
    for (; row + kAttentionTileRows <= job.rows; row += kAttentionTileRows)
      score_rows<Element, kAttentionTileRows>(job, row, t, padded, scores);
    for (; row + 4 <= job.rows; row += 4) score_rows<Element, 4>(job, row, t, padded, scores);
    for (; row + 2 <= job.rows; row += 2) score_rows<Element, 2>(job, row, t, padded, scores);
    for (; row < job.rows; ++row) score_rows<Element, 1>(job, row, t, padded, scores);
  }
}

template <typename Element>
inline void weigh_all(const AttentionJob& job, std::size_t tokens, const Scores* weights) {
  for (std::size_t t = 0; t < tokens; t += kTokens) {
    const std::size_t end = t + kTokens < tokens ? t + kTokens : tokens;
    std::size_t row = 0;
    for (; row + kAttentionTileRows <= job.rows; row += kAttentionTileRows)
      weigh_rows<Element, kAttentionTileRows, 1>(job, row, t, end, weights);
    for (; row + 4 <= job.rows; row += 4) weigh_rows<Element, 4, 1>(job, row, t, end, weights);
    for (; row + 2 <= job.rows; row += 2) weigh_rows<Element, 2, 2>(job, row, t, end, weights);
    for (; row < job.rows; ++row) weigh_rows<Element, 1, 2>(job, row, t, end, weights);
  }
}

// A block of keys or values serves all rows while it is in the first cache.
template <typename Element>
void attend_chunk(const AttentionJob& job) {
  alignas(64) Scores scores[kAttentionRowsMax];
  std::size_t longest = 0;
  for (std::size_t m = 0; m < job.rows; ++m) longest = job.visible[m] > longest ? job.visible[m] : longest;
  const std::size_t tokens = longest - job.begin < kChunkTokens ? longest - job.begin : kChunkTokens;
  const std::size_t padded = (tokens + kTokens - 1) / kTokens * kTokens;
  score_all<Element>(job, padded, scores);
  for (std::size_t m = 0; m < job.rows; ++m)
    if (job.visible[m] > job.begin) job.states[m] = soften(scores[m], job.visible[m] - job.begin, padded);
  weigh_all<Element>(job, tokens, scores);
}

void fold_chunk(float* running, SoftmaxState& state, const float* partial, const SoftmaxState& chunk,
                std::size_t head_dim) {
  const float top = state.largest > chunk.largest ? state.largest : chunk.largest;
  float factors[16] = {state.largest - top, chunk.largest - top};
  f_store(factors, f_exp(f_load(factors)));
  const bool is_first = state.sum == 0;
  const F old_factor = f_set(factors[0]);
  const F new_factor = f_set(factors[1]);
  for (std::size_t d = 0; d < head_dim; d += 16) {
    const F old = is_first ? f_zero() : f_mul(f_load(running + d), old_factor);
    f_store(running + d, f_fma(f_load(partial + d), new_factor, old));
  }
  state.sum = is_first ? chunk.sum * factors[1] : state.sum * factors[0] + chunk.sum * factors[1];
  state.largest = top;
}

void finish_attention(float* running, const SoftmaxState& state, std::size_t head_dim) {
  const F inverse = f_set(1.0F / state.sum);
  for (std::size_t d = 0; d < head_dim; d += 16) f_store(running + d, f_mul(f_load(running + d), inverse));
}
