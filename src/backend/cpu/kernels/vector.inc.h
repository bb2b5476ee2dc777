// Norm, rotation, activation and attention over the 16-lane vocabulary of simd_*.inc.h. Sums run over 16
// lanes with a fixed tree at the end, so a result never depends on what else is computed in the call.

inline float sum_lanes(F x) {
  float v[16];
  f_store(v, x);
  for (int width = 8; width > 0; width /= 2)
    for (int i = 0; i < width; ++i) v[i] += v[i + width];
  return v[0];
}

inline float max_lanes(F x) {
  float v[16];
  f_store(v, x);
  float largest = v[0];
  for (int i = 1; i < 16; ++i) largest = v[i] > largest ? v[i] : largest;
  return largest;
}

// e^x for x <= 88, 0 below -87. Source: Cody-Waite reduction, degree-6 polynomial; relative error under 2e-7.
inline F f_exp(F x) {
  x = f_min(x, f_set(88.0F));
  const F small = f_max(x, f_set(-87.0F));
  const F n = f_round(f_mul(small, f_set(1.44269504F)));
  F r = f_fma(n, f_set(-0.693359375F), small);
  r = f_fma(n, f_set(2.12194440e-4F), r);
  F p = f_set(1.9875691500e-4F);
  p = f_fma(p, r, f_set(1.3981999507e-3F));
  p = f_fma(p, r, f_set(8.3334519073e-3F));
  p = f_fma(p, r, f_set(4.1665795894e-2F));
  p = f_fma(p, r, f_set(1.6666665459e-1F));
  p = f_fma(p, r, f_set(5.0000001201e-1F));
  p = f_fma(f_mul(p, r), r, f_add(r, f_set(1.0F)));
  return f_scale2(p, n);
}

// Loads up to 16 values, zero beyond.
inline F load_part(const float* p, std::size_t count) {
  if (count >= 16) return f_load(p);
  float v[16] = {};
  for (std::size_t i = 0; i < count; ++i) v[i] = p[i];
  return f_load(v);
}
inline void store_part(float* p, F x, std::size_t count) {
  if (count >= 16) return f_store(p, x);
  float v[16];
  f_store(v, x);
  for (std::size_t i = 0; i < count; ++i) p[i] = v[i];
}

void rms_norm(float* out, const float* x, const float* gain, float eps, std::size_t n) {
  F squares = f_zero();
  for (std::size_t i = 0; i < n; i += 16) {
    const F v = load_part(x + i, n - i);
    squares = f_fma(v, v, squares);
  }
  const float mean = sum_lanes(squares) / static_cast<float>(n);
  const F scale = f_set(1.0F / __builtin_sqrtf(mean + eps));
  for (std::size_t i = 0; i < n; i += 16)
    store_part(out + i, f_mul(f_mul(load_part(x + i, n - i), scale), load_part(gain + i, n - i)), n - i);
}

void add(float* x, const float* y, std::size_t n) {
  for (std::size_t i = 0; i < n; i += 16)
    store_part(x + i, f_add(load_part(x + i, n - i), load_part(y + i, n - i)), n - i);
}

void rotate_halves(float* x, const float* cosine, const float* sine, std::size_t half) {
  for (std::size_t i = 0; i < half; i += 16) {
    const F a = load_part(x + i, half - i);
    const F b = load_part(x + half + i, half - i);
    const F c = load_part(cosine + i, half - i);
    const F s = load_part(sine + i, half - i);
    store_part(x + i, f_sub(f_mul(a, c), f_mul(b, s)), half - i);
    store_part(x + half + i, f_add(f_mul(b, c), f_mul(a, s)), half - i);
  }
}

void silu_and_mul(float* out, const float* gate, const float* up, std::size_t n) {
  for (std::size_t i = 0; i < n; i += 16) {
    const F g = load_part(gate + i, n - i);
    const F sigmoid = f_div(f_set(1.0F), f_add(f_set(1.0F), f_exp(f_sub(f_zero(), g))));
    store_part(out + i, f_mul(f_mul(g, sigmoid), load_part(up + i, n - i)), n - i);
  }
}

// ---- attention
// -----------------------------------------------------------------------------------------------------
// Context is cut into chunks of 256 tokens from position 0. A chunk gives each row (max, sum, weighted
// values); chunks fold in ascending order. Keys of a block are [head_dim][16], values [16][head_dim].

constexpr std::size_t kChunkTokens = 256;
constexpr std::size_t kTokens = 16;  // of a block
constexpr float kMinusInfinity = -__builtin_inff();

struct ElementF32 {
  using Type = float;
  static F load(const float* p) { return f_load(p); }
};
struct ElementBF16 {
  using Type = std::uint16_t;
  static F load(const std::uint16_t* p) { return f_load_bf16(p); }
};

struct RowState {
  float largest;
  float sum;
};

template <typename Element>
inline const typename Element::Type* block_of(const void* base, const AttentionJob& job, std::size_t token) {
  const auto block = static_cast<std::size_t>(job.block_table[token / kTokens]);
  return static_cast<const typename Element::Type*>(base) + block * job.block_stride;
}

// scores[m][t] for kRows rows and the 16 tokens of one block.
template <typename Element, int kRows>
inline void score_block(const AttentionJob& job, std::size_t row, std::size_t token,
                        float (*scores)[kChunkTokens], std::size_t offset) {
  const auto* keys = block_of<Element>(job.keys, job, token);
  F acc[kRows];
  for (int m = 0; m < kRows; ++m) acc[m] = f_zero();
  for (std::size_t d = 0; d < job.head_dim; ++d) {
    const F line = Element::load(keys + d * kTokens);
    for (int m = 0; m < kRows; ++m) acc[m] = f_fma(line, f_set(job.queries[row + m][d]), acc[m]);
  }
  for (int m = 0; m < kRows; ++m) f_store(scores[row + m] + offset, acc[m]);
}

template <typename Element>
inline void score_rows(const AttentionJob& job, std::size_t token, float (*scores)[kChunkTokens],
                       std::size_t offset) {
  std::size_t row = 0;
  for (; row + 8 <= job.rows; row += 8) score_block<Element, 8>(job, row, token, scores, offset);
  for (; row + 4 <= job.rows; row += 4) score_block<Element, 4>(job, row, token, scores, offset);
  for (; row < job.rows; ++row) score_block<Element, 1>(job, row, token, scores, offset);
}

// Scores of one row become weights relative to the chunk's largest; returns that and their sum.
inline RowState soften(float* scores, std::size_t visible, std::size_t padded) {
  F largest = f_set(kMinusInfinity);
  for (std::size_t t = 0; t < padded; t += kTokens) {
    const int inside = static_cast<int>(visible > t ? (visible - t < 16 ? visible - t : 16) : 0);
    const F s = f_first(f_load(scores + t), inside, kMinusInfinity);
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

// partial[row][d] = sum over tokens of weight * value, tokens ascending.
template <typename Element, int kRows>
inline void weigh_values(const AttentionJob& job, std::size_t row, std::size_t begin, std::size_t tokens,
                         const float (*weights)[kChunkTokens], float (*partial)[kHeadDimMax]) {
  for (std::size_t d = 0; d < job.head_dim; d += 16) {
    F acc[kRows];
    for (int m = 0; m < kRows; ++m) acc[m] = f_zero();
    for (std::size_t t = 0; t < tokens; ++t) {
      const auto* values =
          block_of<Element>(job.values, job, begin + t) + (begin + t) % kTokens * job.head_dim;
      const F line = Element::load(values + d);
      // A token that a row does not see must not touch it: 0 times infinity is no zero.
      for (int m = 0; m < kRows; ++m)
        if (begin + t < job.visible[row + m]) acc[m] = f_fma(line, f_set(weights[row + m][t]), acc[m]);
    }
    for (int m = 0; m < kRows; ++m) f_store(partial[row + m] + d, acc[m]);
  }
}

// Folds a chunk's partial result into the running one.
inline void fold_chunk(float* out, RowState& running, const float* partial, RowState chunk,
                       std::size_t head_dim) {
  const float top = running.largest > chunk.largest ? running.largest : chunk.largest;
  float factors[16] = {running.largest - top, chunk.largest - top};
  f_store(factors, f_exp(f_load(factors)));
  const F old_factor = f_set(running.sum > 0 ? factors[0] : 0.0F);
  const F new_factor = f_set(factors[1]);
  for (std::size_t d = 0; d < head_dim; d += 16)
    f_store(out + d, f_fma(f_load(partial + d), new_factor, f_mul(f_load(out + d), old_factor)));
  running.sum = running.sum > 0 ? running.sum * factors[0] + chunk.sum * factors[1] : chunk.sum * factors[1];
  running.largest = top;
}

template <typename Element>
void attention(const AttentionJob& job) {
  alignas(64) float scores[kAttentionRowsMax][kChunkTokens];
  alignas(64) float partial[kAttentionRowsMax][kHeadDimMax];
  RowState running[kAttentionRowsMax];
  std::size_t longest = 0;
  for (std::size_t m = 0; m < job.rows; ++m) {
    running[m] = {kMinusInfinity, 0};
    for (std::size_t d = 0; d < job.head_dim; ++d) job.outputs[m][d] = 0;
    longest = job.visible[m] > longest ? job.visible[m] : longest;
  }
  for (std::size_t begin = 0; begin < longest; begin += kChunkTokens) {
    const std::size_t tokens = longest - begin < kChunkTokens ? longest - begin : kChunkTokens;
    const std::size_t padded = (tokens + kTokens - 1) / kTokens * kTokens;
    for (std::size_t t = 0; t < padded; t += kTokens) score_rows<Element>(job, begin + t, scores, t);
    RowState chunk[kAttentionRowsMax];
    for (std::size_t m = 0; m < job.rows; ++m)
      if (job.visible[m] > begin) chunk[m] = soften(scores[m], job.visible[m] - begin, padded);
    std::size_t row = 0;
    for (; row + 8 <= job.rows; row += 8) weigh_values<Element, 8>(job, row, begin, tokens, scores, partial);
    for (; row + 4 <= job.rows; row += 4) weigh_values<Element, 4>(job, row, begin, tokens, scores, partial);
    for (; row < job.rows; ++row) weigh_values<Element, 1>(job, row, begin, tokens, scores, partial);
    for (std::size_t m = 0; m < job.rows; ++m)
      if (job.visible[m] > begin) fold_chunk(job.outputs[m], running[m], partial[m], chunk[m], job.head_dim);
  }
  for (std::size_t m = 0; m < job.rows; ++m) {
    const F inverse = f_set(1.0F / running[m].sum);
    for (std::size_t d = 0; d < job.head_dim; d += 16)
      f_store(job.outputs[m] + d, f_mul(f_load(job.outputs[m] + d), inverse));
  }
}
