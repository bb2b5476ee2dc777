// 16 lanes in plain C++: the form every host can run. Included inside the ISA's own namespace.
struct F {
  float v[16];
};
struct I {
  std::int32_t v[16];
};

#define LANES for (int i = 0; i < 16; ++i)

inline F f_zero() { return F{}; }
inline F f_set(float x) {
  F r;
  LANES r.v[i] = x;
  return r;
}
inline F f_load(const float* p) {
  F r;
  LANES r.v[i] = p[i];
  return r;
}
inline void f_store(float* p, F a) { LANES p[i] = a.v[i]; }
inline F f_add(F a, F b) {
  LANES a.v[i] += b.v[i];
  return a;
}
inline F f_sub(F a, F b) {
  LANES a.v[i] -= b.v[i];
  return a;
}
inline F f_mul(F a, F b) {
  LANES a.v[i] *= b.v[i];
  return a;
}
inline F f_div(F a, F b) {
  LANES a.v[i] /= b.v[i];
  return a;
}
inline F f_fma(F a, F b, F c) {
  LANES c.v[i] += a.v[i] * b.v[i];
  return c;
}
inline F f_max(F a, F b) {
  LANES a.v[i] = a.v[i] > b.v[i] ? a.v[i] : b.v[i];
  return a;
}
inline F f_min(F a, F b) {
  LANES a.v[i] = a.v[i] < b.v[i] ? a.v[i] : b.v[i];
  return a;
}
inline F f_round(F a) {
  LANES a.v[i] = __builtin_nearbyintf(a.v[i]);
  return a;
}
// a * 2^n for whole n in [-127, 127]; a where n is NaN.
inline F f_scale2(F a, F n) {
  LANES {
    if (n.v[i] != n.v[i]) continue;
    const std::int32_t bits = (static_cast<std::int32_t>(n.v[i]) + 127) * (1 << 23);
    float factor;
    __builtin_memcpy(&factor, &bits, 4);
    a.v[i] *= factor;
  }
  return a;
}
// Lanes [0, count) of a, `other` elsewhere.
inline F f_first(F a, int count, float other) {
  LANES if (i >= count) a.v[i] = other;
  return a;
}
inline F f_load_bf16(const std::uint16_t* p) {
  F r;
  LANES {
    const std::uint32_t bits = static_cast<std::uint32_t>(p[i]) << 16;
    __builtin_memcpy(&r.v[i], &bits, 4);
  }
  return r;
}
inline F f_load_f16(const std::uint16_t* p) {
  F r;
  LANES {
    const std::uint32_t sign = (p[i] & 0x8000U) << 16;
    const std::uint32_t exponent = (p[i] >> 10) & 31U;
    const std::uint32_t mantissa = p[i] & 0x3ffU;
    std::uint32_t bits = sign | (exponent == 31 ? 0xffU : exponent + 112) << 23 | mantissa << 13;
    if (exponent == 0) {
      const float small = static_cast<float>(mantissa) * 0x1p-24F;
      __builtin_memcpy(&bits, &small, 4);
      bits |= sign;
    }
    __builtin_memcpy(&r.v[i], &bits, 4);
  }
  return r;
}
// Even and odd 16-bit halves of 16 dwords, as floats.
inline F f_line_bf16(const std::uint8_t* line, int odd) {
  F r;
  LANES {
    std::uint32_t bits;
    __builtin_memcpy(&bits, line + 4 * i, 4);
    bits = odd ? bits & 0xffff0000U : bits << 16;
    __builtin_memcpy(&r.v[i], &bits, 4);
  }
  return r;
}
inline F f_line_f16(const std::uint8_t* line, int odd) {
  std::uint16_t half[16];
  LANES __builtin_memcpy(&half[i], line + 4 * i + 2 * odd, 2);
  return f_load_f16(half);
}
inline I i_zero() { return I{}; }
inline I i_set(std::int32_t x) {
  I r;
  LANES r.v[i] = x;
  return r;
}
inline I i_sub(I a, I b) {
  LANES a.v[i] -= b.v[i];
  return a;
}
inline I i_add(I a, I b) {
  LANES a.v[i] += b.v[i];
  return a;
}
inline I i_mul(I a, I b) {
  LANES a.v[i] *= b.v[i];
  return a;
}
inline F i_to_f(I a) {
  F r;
  LANES r.v[i] = static_cast<float>(a.v[i]);
  return r;
}
inline I i_load_i8(const std::int8_t* p) {
  I r;
  LANES r.v[i] = p[i];
  return r;
}
inline I i_load_u8(const std::uint8_t* p) {
  I r;
  LANES r.v[i] = p[i];
  return r;
}

// A line of 64 unsigned bytes.
struct B {
  std::uint8_t v[64];
};
inline B b_load(const std::uint8_t* p) {
  B r;
  __builtin_memcpy(r.v, p, 64);
  return r;
}
inline B b_low(B a) {
  for (auto& x : a.v) x &= 15;
  return a;
}
inline B b_high(B a) {
  for (auto& x : a.v) x >>= 4;
  return a;
}
// Two bits from position 2 * part, moved to bits 4 and 5, over the nibbles of `low`.
inline B b_six(B low, B high, int part) {
  for (int i = 0; i < 64; ++i) low.v[i] |= static_cast<std::uint8_t>(((high.v[i] >> (2 * part)) & 3) << 4);
  return low;
}
// acc[r] += sum over 4 bytes of line[r] * x; x holds 4 signed bytes. Exact.
inline I i_dot(I acc, B line, std::int32_t x) {
  std::int8_t q[4];
  __builtin_memcpy(q, &x, 4);
  LANES for (int j = 0; j < 4; ++j) acc.v[i] += line.v[4 * i + j] * q[j];
  return acc;
}
// The same for lines whose bytes may exceed 127.
inline I i_dot_wide(I acc, B line, std::int32_t x) { return i_dot(acc, line, x); }
#undef LANES

constexpr int kTileRows = 2;
constexpr int kTileStrips = 1;
constexpr int kAttentionTileRows = 2;
