// 16 lanes as two AVX2 registers. Included inside the ISA's own namespace.
struct F {
  __m256 a, b;
};
struct I {
  __m256i a, b;
};

inline F f_zero() { return {_mm256_setzero_ps(), _mm256_setzero_ps()}; }
inline F f_set(float x) { return {_mm256_set1_ps(x), _mm256_set1_ps(x)}; }
inline F f_load(const float* p) { return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}; }
inline void f_store(float* p, F x) {
  _mm256_storeu_ps(p, x.a);
  _mm256_storeu_ps(p + 8, x.b);
}
inline F f_add(F x, F y) { return {_mm256_add_ps(x.a, y.a), _mm256_add_ps(x.b, y.b)}; }
inline F f_sub(F x, F y) { return {_mm256_sub_ps(x.a, y.a), _mm256_sub_ps(x.b, y.b)}; }
inline F f_mul(F x, F y) { return {_mm256_mul_ps(x.a, y.a), _mm256_mul_ps(x.b, y.b)}; }
inline F f_div(F x, F y) { return {_mm256_div_ps(x.a, y.a), _mm256_div_ps(x.b, y.b)}; }
inline F f_fma(F x, F y, F z) { return {_mm256_fmadd_ps(x.a, y.a, z.a), _mm256_fmadd_ps(x.b, y.b, z.b)}; }
inline F f_max(F x, F y) { return {_mm256_max_ps(x.a, y.a), _mm256_max_ps(x.b, y.b)}; }
inline F f_min(F x, F y) { return {_mm256_min_ps(x.a, y.a), _mm256_min_ps(x.b, y.b)}; }
inline F f_round(F x) {
  constexpr int kNearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
  return {_mm256_round_ps(x.a, kNearest), _mm256_round_ps(x.b, kNearest)};
}
inline __m256 scale2(__m256 x, __m256 n) {
  const __m256i bits = _mm256_slli_epi32(_mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127)), 23);
  return _mm256_mul_ps(x, _mm256_castsi256_ps(bits));
}
inline F f_scale2(F x, F n) { return {scale2(x.a, n.a), scale2(x.b, n.b)}; }
inline F f_first(F x, int count, float other) {
  const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  const __m256 low = _mm256_castsi256_ps(_mm256_cmpgt_epi32(_mm256_set1_epi32(count), lane));
  const __m256 high = _mm256_castsi256_ps(_mm256_cmpgt_epi32(_mm256_set1_epi32(count - 8), lane));
  const __m256 fill = _mm256_set1_ps(other);
  return {_mm256_blendv_ps(fill, x.a, low), _mm256_blendv_ps(fill, x.b, high)};
}
inline __m256 widen_bf16(const std::uint16_t* p) {
  const __m256i wide = _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  return _mm256_castsi256_ps(_mm256_slli_epi32(wide, 16));
}
inline F f_load_bf16(const std::uint16_t* p) { return {widen_bf16(p), widen_bf16(p + 8)}; }
inline __m256 widen_f16(const std::uint16_t* p) {
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}
inline F f_load_f16(const std::uint16_t* p) { return {widen_f16(p), widen_f16(p + 8)}; }

inline __m256i load_bytes(const std::uint8_t* p) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
}
inline __m256 half_bf16(__m256i dwords, int odd) {
  const __m256i mask = _mm256_set1_epi32(static_cast<int>(0xffff0000U));
  return _mm256_castsi256_ps(odd ? _mm256_and_si256(dwords, mask) : _mm256_slli_epi32(dwords, 16));
}
inline F f_line_bf16(const std::uint8_t* line, int odd) {
  return {half_bf16(load_bytes(line), odd), half_bf16(load_bytes(line + 32), odd)};
}
inline __m256 half_f16(__m256i dwords, int odd) {
  const __m256i low =
      odd ? _mm256_srli_epi32(dwords, 16) : _mm256_and_si256(dwords, _mm256_set1_epi32(0xffff));
  const __m256i packed = _mm256_permute4x64_epi64(_mm256_packus_epi32(low, low), 0x08);
  return _mm256_cvtph_ps(_mm256_castsi256_si128(packed));
}
inline F f_line_f16(const std::uint8_t* line, int odd) {
  return {half_f16(load_bytes(line), odd), half_f16(load_bytes(line + 32), odd)};
}
inline I i_zero() { return {_mm256_setzero_si256(), _mm256_setzero_si256()}; }
inline I i_set(std::int32_t x) { return {_mm256_set1_epi32(x), _mm256_set1_epi32(x)}; }
inline I i_add(I x, I y) { return {_mm256_add_epi32(x.a, y.a), _mm256_add_epi32(x.b, y.b)}; }
inline I i_sub(I x, I y) { return {_mm256_sub_epi32(x.a, y.a), _mm256_sub_epi32(x.b, y.b)}; }
inline I i_mul(I x, I y) { return {_mm256_mullo_epi32(x.a, y.a), _mm256_mullo_epi32(x.b, y.b)}; }
inline F i_to_f(I x) { return {_mm256_cvtepi32_ps(x.a), _mm256_cvtepi32_ps(x.b)}; }
inline I i_load_i8(const std::int8_t* p) {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  return {_mm256_cvtepi8_epi32(bytes), _mm256_cvtepi8_epi32(_mm_srli_si128(bytes, 8))};
}
inline I i_load_u8(const std::uint8_t* p) {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  return {_mm256_cvtepu8_epi32(bytes), _mm256_cvtepu8_epi32(_mm_srli_si128(bytes, 8))};
}

struct B {
  __m256i a, b;
};
inline B b_load(const std::uint8_t* p) { return {load_bytes(p), load_bytes(p + 32)}; }
inline B b_low(B x) {
  const __m256i mask = _mm256_set1_epi8(15);
  return {_mm256_and_si256(x.a, mask), _mm256_and_si256(x.b, mask)};
}
inline B b_high(B x) {
  const __m256i mask = _mm256_set1_epi8(15);
  return {_mm256_and_si256(_mm256_srli_epi16(x.a, 4), mask),
          _mm256_and_si256(_mm256_srli_epi16(x.b, 4), mask)};
}
inline __m256i six(__m256i low, __m256i high, int part) {
  const __m256i bits = _mm256_and_si256(_mm256_srli_epi16(high, 2 * part), _mm256_set1_epi8(3));
  return _mm256_or_si256(low, _mm256_slli_epi16(bits, 4));
}
inline B b_six(B low, B high, int part) { return {six(low.a, high.a, part), six(low.b, high.b, part)}; }

// Bytes up to 127: two products of u8 and s8 fit an int16.
inline __m256i dot(__m256i acc, __m256i u, __m256i s) {
  return _mm256_add_epi32(acc, _mm256_madd_epi16(_mm256_maddubs_epi16(u, s), _mm256_set1_epi16(1)));
}
inline I i_dot(I acc, B line, std::int32_t x) {
  const __m256i s = _mm256_set1_epi32(x);
  return {dot(acc.a, line.a, s), dot(acc.b, line.b, s)};
}
// Bytes up to 255: w = (w ^ 128 as signed) + 128; the signed part by the sign trick, the rest is 128 *
// sum(x).
inline __m256i dot_wide(__m256i acc, __m256i u, __m256i s, __m256i sum128) {
  const __m256i w = _mm256_xor_si256(u, _mm256_set1_epi8(static_cast<char>(0x80)));
  return _mm256_add_epi32(dot(acc, _mm256_abs_epi8(w), _mm256_sign_epi8(s, w)), sum128);
}
inline I i_dot_wide(I acc, B line, std::int32_t x) {
  const __m256i s = _mm256_set1_epi32(x);
  const __m256i sum = _mm256_madd_epi16(_mm256_maddubs_epi16(_mm256_set1_epi8(1), s), _mm256_set1_epi16(128));
  return {dot_wide(acc.a, line.a, s, sum), dot_wide(acc.b, line.b, s, sum)};
}

constexpr int kTileRows = 2;
constexpr int kTileStrips = 2;
constexpr int kAttentionTileRows = 6;
