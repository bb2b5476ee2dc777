// 16 lanes as one AVX-512 register, with VNNI. Included inside the ISA's own namespace.
using F = __m512;
using I = __m512i;
using B = __m512i;

inline F f_zero() { return _mm512_setzero_ps(); }
inline F f_set(float x) { return _mm512_set1_ps(x); }
inline F f_load(const float* p) { return _mm512_loadu_ps(p); }
inline void f_store(float* p, F x) { _mm512_storeu_ps(p, x); }
inline F f_add(F x, F y) { return _mm512_add_ps(x, y); }
inline F f_sub(F x, F y) { return _mm512_sub_ps(x, y); }
inline F f_mul(F x, F y) { return _mm512_mul_ps(x, y); }
inline F f_div(F x, F y) { return _mm512_div_ps(x, y); }
inline F f_fma(F x, F y, F z) { return _mm512_fmadd_ps(x, y, z); }
inline F f_max(F x, F y) { return _mm512_max_ps(x, y); }
inline F f_min(F x, F y) { return _mm512_min_ps(x, y); }
inline F f_round(F x) { return _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
inline F f_scale2(F x, F n) { return _mm512_scalef_ps(x, n); }
inline F f_first(F x, int count, float other) {
  const __mmask16 mask = count >= 16 ? 0xffff : count <= 0 ? 0 : static_cast<__mmask16>((1U << count) - 1);
  return _mm512_mask_blend_ps(mask, _mm512_set1_ps(other), x);
}
inline F f_load_bf16(const std::uint16_t* p) {
  const __m512i wide = _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  return _mm512_castsi512_ps(_mm512_slli_epi32(wide, 16));
}
inline F f_load_f16(const std::uint16_t* p) {
  return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
}
inline F f_line_bf16(const std::uint8_t* line, int odd) {
  const __m512i dwords = _mm512_loadu_si512(line);
  const __m512i mask = _mm512_set1_epi32(static_cast<int>(0xffff0000U));
  return _mm512_castsi512_ps(odd ? _mm512_and_si512(dwords, mask) : _mm512_slli_epi32(dwords, 16));
}
inline F f_line_f16(const std::uint8_t* line, int odd) {
  const __m512i dwords = _mm512_loadu_si512(line);
  return _mm512_cvtph_ps(_mm512_cvtepi32_epi16(odd ? _mm512_srli_epi32(dwords, 16) : dwords));
}
inline I i_zero() { return _mm512_setzero_si512(); }
inline I i_set(std::int32_t x) { return _mm512_set1_epi32(x); }
inline I i_add(I x, I y) { return _mm512_add_epi32(x, y); }
inline I i_sub(I x, I y) { return _mm512_sub_epi32(x, y); }
inline I i_mul(I x, I y) { return _mm512_mullo_epi32(x, y); }
inline F i_to_f(I x) { return _mm512_cvtepi32_ps(x); }
inline I i_load_i8(const std::int8_t* p) {
  return _mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}
inline I i_load_u8(const std::uint8_t* p) {
  return _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}
inline B b_load(const std::uint8_t* p) { return _mm512_loadu_si512(p); }
inline B b_low(B x) { return _mm512_and_si512(x, _mm512_set1_epi8(15)); }
inline B b_high(B x) { return _mm512_and_si512(_mm512_srli_epi16(x, 4), _mm512_set1_epi8(15)); }
inline B b_six(B low, B high, int part) {
  const __m512i bits = _mm512_and_si512(_mm512_srli_epi16(high, 2 * part), _mm512_set1_epi8(3));
  return _mm512_or_si512(low, _mm512_slli_epi16(bits, 4));
}
inline I i_dot(I acc, B line, std::int32_t x) { return _mm512_dpbusd_epi32(acc, line, _mm512_set1_epi32(x)); }
inline I i_dot_wide(I acc, B line, std::int32_t x) { return i_dot(acc, line, x); }

constexpr int kTileRows = 8;
constexpr int kTileStrips = 4;
constexpr int kAttentionTileRows = 8;
