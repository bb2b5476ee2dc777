// The function pointers that differ between instruction sets. Each ISA file exports exactly one table.
// Plain data only: this header is seen by translation units with -m flags.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sluice::backend::cpu {

// Packed weights come in strips of 16 rows. A strip is one linear stream along k: per block of columns first
// the scales of the 16 rows, then lines of 64 bytes that hold 4 bytes of k for each row. Layouts:
// weight_packing.h.
inline constexpr std::size_t kStripRows = 16;
inline constexpr std::size_t kLineBytes = 64;

// Rows of x quantised to int8 per 32 columns: x ~ values * scales.
struct QuantizedRows {
  const std::int8_t* values = nullptr;   // [rows, stride]
  const float* scales = nullptr;         // [rows, columns / 32]
  const std::int32_t* sums16 = nullptr;  // [rows, columns / 16] sums of values
  std::size_t stride = 0;
};

// out[m][s * 16 + r] = product of x row m with row r of strip s, for `strips` neighbouring strips.
struct StripJob {
  const std::uint8_t* weights = nullptr;
  std::size_t strip_bytes = 0;
  std::size_t strips = 0;
  std::size_t columns = 0;
  std::size_t rows = 0;      // of x
  const float* x = nullptr;  // [rows, x_stride], for float formats
  std::size_t x_stride = 0;
  QuantizedRows quantized;  // for integer formats
  float* out = nullptr;
  std::size_t out_stride = 0;
};

using LinearKernel = void (*)(const StripJob& job);

// Softmax over a part of the context: the largest score and the sum of e^(score - largest).
struct SoftmaxState {
  float largest = -__builtin_inff();
  float sum = 0;
};

// One chunk of the context of query rows that attend to the same KV head: tokens [begin, begin +
// kChunkTokens), of which row m sees those below visible[m].
struct AttentionJob {
  const float* const* queries = nullptr;  // [rows] -> [head_dim], already scaled
  const std::size_t* visible = nullptr;   // [rows]
  std::size_t rows = 0;                   // <= kAttentionRowsMax
  std::size_t head_dim = 0;               // multiple of 16, <= kHeadDimMax
  std::size_t begin = 0;                  // multiple of kChunkTokens
  const std::int32_t* block_table = nullptr;
  std::size_t block_stride = 0;  // elements between blocks
  const void* keys = nullptr;    // of this layer and head in block 0: [head_dim, 16]
  const void* values = nullptr;  // likewise: [16, head_dim]
  // Results of rows that see a part of the chunk; others are not written.
  float* partials = nullptr;       // [rows, head_dim] sums of e^(score - largest) * value
  SoftmaxState* states = nullptr;  // [rows]
};
inline constexpr std::size_t kChunkTokens = 256;
inline constexpr std::size_t kAttentionRowsMax = 32;
inline constexpr std::size_t kHeadDimMax = 256;

struct KernelTable {
  const char* name;
  LinearKernel linear_f32, linear_f16, linear_bf16;
  LinearKernel linear_q8_0, linear_q4_0, linear_q4_1, linear_q4_k, linear_q6_k;
  // Quantises one row: columns is a multiple of 32.
  void (*quantize_row)(const float* x, std::size_t columns, std::int8_t* values, float* scales,
                       std::int32_t* sums16);
  // out = x / rms(x) * gain over n values.
  void (*rms_norm)(float* out, const float* x, const float* gain, float eps, std::size_t n);
  void (*add)(float* x, const float* y, std::size_t n);
  // Pair (i, i + half) turns by the angle whose cosine and sine are given.
  void (*rotate_halves)(float* x, const float* cosine, const float* sine, std::size_t half);
  void (*silu_and_mul)(float* out, const float* gate, const float* up, std::size_t n);
  void (*attend_chunk_f32)(const AttentionJob& job);
  void (*attend_chunk_bf16)(const AttentionJob& job);
  // Adds the next chunk of a row to its running [head_dim] sums and state; the first comes to an empty state.
  void (*fold_chunk)(float* running, SoftmaxState& state, const float* partial, const SoftmaxState& chunk,
                     std::size_t head_dim);
  // Divides the sums by state.sum.
  void (*finish_attention)(float* running, const SoftmaxState& state, std::size_t head_dim);
};

extern const KernelTable kScalar;
extern const KernelTable kAvx2;
extern const KernelTable kAvx512;

}  // namespace sluice::backend::cpu
