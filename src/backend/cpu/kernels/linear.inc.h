// Matrix products over packed strips, written once over the 16-lane vocabulary of simd_*.inc.h.
//
// One canonical order per output element, whatever the tile: float formats fold k ascending into one FMA
// chain; integer formats take an exact dot of 32 columns, then one FMA of (row scale * x scale), blocks
// ascending. So the bits of a row do not depend on how many rows or strips share a call. Source: spec of
// outer-product layouts, llama.cpp's formats.

inline std::int32_t x_dword(const std::int8_t* p) {
  std::int32_t x;
  __builtin_memcpy(&x, p, 4);
  return x;
}

constexpr std::size_t kScaleBytes = 32;  // 16 half floats
inline const std::uint16_t* halves(const std::uint8_t* p) {
  return reinterpret_cast<const std::uint16_t*>(p);
}
constexpr std::size_t kPrefetchBytes = 2048;
inline void prefetch(const std::uint8_t* p) { __builtin_prefetch(p + kPrefetchBytes); }

// ---- float formats
// -------------------------------------------------------------------------------------------------

struct FormatF32 {
  static constexpr int kPerLine = 1;  // columns in a line of 64 bytes
  static F line(const std::uint8_t* p, int) { return f_load(reinterpret_cast<const float*>(p)); }
};
struct FormatF16 {
  static constexpr int kPerLine = 2;
  static F line(const std::uint8_t* p, int odd) { return f_line_f16(p, odd); }
};
struct FormatBF16 {
  static constexpr int kPerLine = 2;
  static F line(const std::uint8_t* p, int odd) { return f_line_bf16(p, odd); }
};

template <typename Format, int kRows, int kStrips>
inline void float_tile(const StripJob& job, std::size_t strip, std::size_t row) {
  F acc[kStrips][kRows];
  for (int s = 0; s < kStrips; ++s)
    for (int m = 0; m < kRows; ++m) acc[s][m] = f_zero();
  const std::uint8_t* w = job.weights + strip * job.strip_bytes;
  const float* x = job.x + row * job.x_stride;
  for (std::size_t k = 0; k < job.columns; k += Format::kPerLine, w += kLineBytes) {
    for (int s = 0; s < kStrips; ++s) {
      prefetch(w + s * job.strip_bytes);
      for (int odd = 0; odd < Format::kPerLine; ++odd) {
        const F line = Format::line(w + s * job.strip_bytes, odd);
        for (int m = 0; m < kRows; ++m)
          acc[s][m] = f_fma(line, f_set(x[m * job.x_stride + k + odd]), acc[s][m]);
      }
    }
  }
  for (int s = 0; s < kStrips; ++s)
    for (int m = 0; m < kRows; ++m)
      f_store(job.out + (row + m) * job.out_stride + (strip + s) * kStripRows, acc[s][m]);
}

// ---- integer formats: one block of 32 columns
// ---------------------------------------------------------------------- Each format says how its stream is
// laid out per group of kGroup columns, and folds one block of 32 columns for kRows rows of x: acc[m] +=
// x_scale * (row scales * dot + row offsets).

struct BlockX {
  const std::int8_t* q;        // 32 values of row 0
  std::size_t stride;          // to the next row
  const float* scale;          // of row 0
  std::size_t scale_stride;    // columns / 32
  const std::int32_t* sums16;  // two sums of row 0
  std::int32_t sum(int m) const {
    const std::int32_t* p = sums16 + m * 2 * scale_stride;
    return p[0] + p[1];
  }
};

template <int kRows, bool kWide, typename Lines>
inline void dot_lines(I (&dots)[kRows], const BlockX& x, Lines lines, int from, int to) {
  for (int j = from; j < to; ++j) {
    const B line = lines(j);
    for (int m = 0; m < kRows; ++m) {
      const std::int32_t q = x_dword(x.q + m * x.stride + 4 * j);
      dots[m] = kWide ? i_dot_wide(dots[m], line, q) : i_dot(dots[m], line, q);
    }
  }
}

template <int kRows>
inline void dot_nibbles(I (&dots)[kRows], const BlockX& x, const std::uint8_t* quants) {
  for (int j = 0; j < 4; ++j) {
    const B both = b_load(quants + j * kLineBytes);
    const B low = b_low(both);
    const B high = b_high(both);
    for (int m = 0; m < kRows; ++m) {
      dots[m] = i_dot(dots[m], low, x_dword(x.q + m * x.stride + 4 * j));
      dots[m] = i_dot(dots[m], high, x_dword(x.q + m * x.stride + 16 + 4 * j));
    }
  }
}

struct FormatQ8_0 {  // scales, 8 lines of q + 128
  static constexpr std::size_t kGroup = 32;
  static constexpr std::size_t kGroupBytes = kScaleBytes + 8 * kLineBytes;
  template <int kRows>
  static void fold(F (&acc)[kRows], const std::uint8_t* w, int, const BlockX& x) {
    I dots[kRows];
    for (int m = 0; m < kRows; ++m) dots[m] = i_set(-128 * x.sum(m));
    dot_lines<kRows, true>(
        dots, x, [&](int j) { return b_load(w + kScaleBytes + j * kLineBytes); }, 0, 8);
    const F scale = f_load_f16(halves(w));
    for (int m = 0; m < kRows; ++m)
      acc[m] = f_fma(f_mul(scale, f_set(x.scale[m * x.scale_stride])), i_to_f(dots[m]), acc[m]);
  }
};

struct FormatQ4_0 {  // scales, 4 lines of nibbles
  static constexpr std::size_t kGroup = 32;
  static constexpr std::size_t kGroupBytes = kScaleBytes + 4 * kLineBytes;
  template <int kRows>
  static void fold(F (&acc)[kRows], const std::uint8_t* w, int, const BlockX& x) {
    I dots[kRows];
    for (int m = 0; m < kRows; ++m) dots[m] = i_set(-8 * x.sum(m));
    dot_nibbles<kRows>(dots, x, w + kScaleBytes);
    const F scale = f_load_f16(halves(w));
    for (int m = 0; m < kRows; ++m)
      acc[m] = f_fma(f_mul(scale, f_set(x.scale[m * x.scale_stride])), i_to_f(dots[m]), acc[m]);
  }
};

struct FormatQ4_1 {  // scales, minima, 4 lines of nibbles
  static constexpr std::size_t kGroup = 32;
  static constexpr std::size_t kGroupBytes = 2 * kScaleBytes + 4 * kLineBytes;
  template <int kRows>
  static void fold(F (&acc)[kRows], const std::uint8_t* w, int, const BlockX& x) {
    I dots[kRows];
    for (int m = 0; m < kRows; ++m) dots[m] = i_zero();
    dot_nibbles<kRows>(dots, x, w + 2 * kScaleBytes);
    const F scale = f_load_f16(halves(w));
    const F minimum = f_load_f16(halves(w + kScaleBytes));
    for (int m = 0; m < kRows; ++m) {
      const float s = x.scale[m * x.scale_stride];
      acc[m] = f_fma(f_mul(scale, f_set(s)), i_to_f(dots[m]), acc[m]);
      acc[m] = f_fma(minimum, f_set(s * static_cast<float>(x.sum(m))), acc[m]);
    }
  }
};

struct FormatQ4_K {  // scales, minima, 8 x 16 sub-scales, 8 x 16 sub-minima, then 8 blocks of 4 lines
  static constexpr std::size_t kGroup = 256;
  static constexpr std::size_t kHeader = 2 * kScaleBytes + 256;
  static constexpr std::size_t kGroupBytes = kHeader + 32 * kLineBytes;
  template <int kRows>
  static void fold(F (&acc)[kRows], const std::uint8_t* w, int block, const BlockX& x) {
    I dots[kRows];
    for (int m = 0; m < kRows; ++m) dots[m] = i_zero();
    dot_nibbles<kRows>(dots, x, w + kHeader + block * 4 * kLineBytes);
    const std::uint8_t* sub = w + 2 * kScaleBytes + block * 16;
    const F scale = f_mul(f_load_f16(halves(w)), i_to_f(i_load_u8(sub)));
    const F minimum = f_mul(f_load_f16(halves(w + kScaleBytes)), i_to_f(i_load_u8(sub + 128)));
    for (int m = 0; m < kRows; ++m) {
      const float s = x.scale[m * x.scale_stride];
      acc[m] = f_fma(f_mul(scale, f_set(s)), i_to_f(dots[m]), acc[m]);
      acc[m] = f_fma(minimum, f_set(-s * static_cast<float>(x.sum(m))), acc[m]);
    }
  }
};

struct FormatQ6_K {  // scales, 16 x 16 signed sub-scales, then 8 blocks of 4 nibble lines and 2 lines of top
                     // bits
  static constexpr std::size_t kGroup = 256;
  static constexpr std::size_t kHeader = kScaleBytes + 256;
  static constexpr std::size_t kGroupBytes = kHeader + 48 * kLineBytes;
  template <int kRows>
  static void fold(F (&acc)[kRows], const std::uint8_t* w, int block, const BlockX& x) {
    const std::uint8_t* quants = w + kHeader + block * 6 * kLineBytes;
    const auto lines = [&](int j) {
      const B both = b_load(quants + (j % 4) * kLineBytes);
      return b_six(j < 4 ? b_low(both) : b_high(both), b_load(quants + (4 + j % 2) * kLineBytes), j / 2);
    };
    const auto* sub = reinterpret_cast<const std::int8_t*>(w + kScaleBytes) + block * 32;
    I first[kRows];
    I second[kRows];
    for (int m = 0; m < kRows; ++m) {
      first[m] = i_set(-32 * x.sums16[m * 2 * x.scale_stride]);
      second[m] = i_set(-32 * x.sums16[m * 2 * x.scale_stride + 1]);
    }
    dot_lines<kRows, false>(first, x, lines, 0, 4);
    dot_lines<kRows, false>(second, x, lines, 4, 8);
    const F scale = f_load_f16(halves(w));
    for (int m = 0; m < kRows; ++m) {
      const I sum = i_add(i_mul(first[m], i_load_i8(sub)), i_mul(second[m], i_load_i8(sub + 16)));
      acc[m] = f_fma(f_mul(scale, f_set(x.scale[m * x.scale_stride])), i_to_f(sum), acc[m]);
    }
  }
};

template <typename Format, int kRows, int kStrips>
inline void quant_tile(const StripJob& job, std::size_t strip, std::size_t row) {
  F acc[kStrips][kRows];
  for (int s = 0; s < kStrips; ++s)
    for (int m = 0; m < kRows; ++m) acc[s][m] = f_zero();
  const std::uint8_t* w = job.weights + strip * job.strip_bytes;
  const std::size_t blocks = job.columns / 32;
  BlockX x{job.quantized.values + row * job.quantized.stride, job.quantized.stride,
           job.quantized.scales + row * blocks, blocks, job.quantized.sums16 + row * 2 * blocks};
  constexpr int kBlocks = Format::kGroup / 32;
  for (std::size_t k = 0; k < job.columns; k += Format::kGroup, w += Format::kGroupBytes) {
    for (int s = 0; s < kStrips; ++s)
      for (std::size_t ahead = 0; ahead < Format::kGroupBytes; ahead += kLineBytes)
        prefetch(w + s * job.strip_bytes + ahead);
    for (int block = 0; block < kBlocks; ++block) {
      for (int s = 0; s < kStrips; ++s)
        Format::template fold<kRows>(acc[s], w + s * job.strip_bytes, block, x);
      x.q += 32;
      x.scale += 1;
      x.sums16 += 2;
    }
  }
  for (int s = 0; s < kStrips; ++s)
    for (int m = 0; m < kRows; ++m)
      f_store(job.out + (row + m) * job.out_stride + (strip + s) * kStripRows, acc[s][m]);
}

// ---- tiling: many rows take one strip at a time, few rows take several strips, which hides latency
// ------------------

template <typename Format, bool kIsFloat, int kRows, int kStrips>
inline void tile(const StripJob& job, std::size_t strip, std::size_t row) {
  if constexpr (kIsFloat) {
    float_tile<Format, kRows, kStrips>(job, strip, row);
  } else {
    quant_tile<Format, kRows, kStrips>(job, strip, row);
  }
}

template <typename Format, bool kIsFloat>
void linear_strips(const StripJob& job) {
  std::size_t row = 0;
  if (job.rows >= 2) {
    for (std::size_t strip = 0; strip < job.strips; ++strip) {
      row = 0;
      for (; row + kTileRows <= job.rows; row += kTileRows)
        tile<Format, kIsFloat, kTileRows, 1>(job, strip, row);
      if (kTileRows > 4 && row + 4 <= job.rows) {
        tile<Format, kIsFloat, 4, 1>(job, strip, row);
        row += 4;
      }
      if (kTileRows > 2 && row + 2 <= job.rows) {
        tile<Format, kIsFloat, 2, 1>(job, strip, row);
        row += 2;
      }
    }
  }
  for (; row < job.rows; ++row) {
    std::size_t strip = 0;
    for (; strip + kTileStrips <= job.strips; strip += kTileStrips)
      tile<Format, kIsFloat, 1, kTileStrips>(job, strip, row);
    for (; strip < job.strips; ++strip) tile<Format, kIsFloat, 1, 1>(job, strip, row);
  }
}

// A block whose largest magnitude is below this counts as zero: above it, scale and inverse are both normal.
constexpr float kSmallestBlock = 0x1p-100F;

// Activations of 32 columns to 8 bits: scale = largest magnitude / 127, values rounded to nearest even. A
// block with NaN or infinity gets a scale of NaN, which makes every product of its row NaN and touches no
// other row.
void quantize_row(const float* x, std::size_t columns, std::int8_t* values, float* scales,
                  std::int32_t* sums16) {
  for (std::size_t block = 0; block < columns / 32; ++block, x += 32, values += 32, sums16 += 2) {
    // Bits of magnitudes are ordered as the magnitudes are, infinity and NaN above all numbers.
    std::int32_t bits[32];
    __builtin_memcpy(bits, x, sizeof bits);
    std::int32_t largest_bits = 0;
    for (const std::int32_t b : bits) {
      const std::int32_t magnitude = b & 0x7fffffff;
      largest_bits = magnitude > largest_bits ? magnitude : largest_bits;
    }
    float largest;
    __builtin_memcpy(&largest, &largest_bits, sizeof largest);
    sums16[0] = sums16[1] = 0;
    if (largest_bits >= 0x7f800000 || largest < kSmallestBlock) {
      scales[block] = largest_bits >= 0x7f800000 ? __builtin_nanf("") : 0.0F;
      __builtin_memset(values, 0, 32);
      continue;
    }
    scales[block] = largest / 127.0F;
    const float inverse = 127.0F / largest;
    for (int i = 0; i < 32; ++i) {
      // Adding 1.5 * 2^23 leaves the nearest whole number in the low bits; unlike rintf, any host vectorises
      // it.
      const float shifted = x[i] * inverse + 0x1.8p23F;
      __builtin_memcpy(&bits[i], &shifted, sizeof shifted);
      bits[i] -= 0x4b400000;
      values[i] = static_cast<std::int8_t>(bits[i]);
    }
    for (int i = 0; i < 16; ++i) {
      sums16[0] += bits[i];
      sums16[1] += bits[i + 16];
    }
  }
}
