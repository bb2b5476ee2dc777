// Norm, rotation and activation over the 16-lane vocabulary of simd_*.inc.h. Sums run over 16
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

// e^x for x in [-87, 88], the nearer end's value outside, NaN for NaN: min and max return their second
// operand when one is NaN. Source: Cody-Waite reduction, degree-6 polynomial; relative error under 2e-7.
inline F f_exp(F x) {
  const F small = f_max(f_set(-87.0F), f_min(f_set(88.0F), x));
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
