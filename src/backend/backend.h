// The operators of a transformer at the granularity where fusion pays. One device; calls come from one
// thread, in order. reference/ implements all of them as the obvious loop and is the specification; cpu/ and
// cuda/ may only be faster.
//
// Determinism (docs/adr/0013): a result row depends on its own inputs alone, never on how many rows or
// sequences share the call, on thread count, or on how a context was cut into calls.
//
// Shapes: T tokens of this step, E hidden, H/K query/key-value heads, D head dim, F feed-forward, V
// vocabulary.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/dtype.h"
#include "backend/tensor.h"

namespace sluice::backend {

// Owned activation memory, 64-byte aligned.
class Buffer {
 public:
  virtual ~Buffer() = default;
  virtual float* data() = 0;
  virtual std::size_t size() const = 0;  // in floats
};

// Consecutive rows of a matrix, as the checkpoint stores them. A fused matrix (q,k,v or gate,up) is several
// segments, whose formats may differ. Slicing for tensor parallelism has happened before.
struct RowSegment {
  std::span<const std::byte> values;  // rows x row_bytes(format, columns)
  DType format = DType::kF32;
  std::size_t rows = 0;
  std::span<const float> block_scales = {};  // 128x128 scales of FP8 checkpoints; empty otherwise
};

// A matrix [rows, columns] in the layout that the back end's kernels want.
class Weight {
 public:
  virtual ~Weight() = default;
  virtual std::size_t rows() const = 0;
  virtual std::size_t columns() const = 0;
  virtual std::size_t bytes() const = 0;  // streamed once per product
};

enum class KVFormat : std::uint8_t { kF32, kBF16 };

inline constexpr std::size_t kBlockTokens = 16;  // tokens of a KV block, also the hash granularity
inline constexpr std::size_t kAttentionChunkTokens =
    256;  // context chunk, counted from position 0 (fixed: determinism)

struct KVShape {
  std::size_t layers = 0;
  std::size_t blocks = 0;  // of kBlockTokens each
  std::size_t kv_heads = 0;
  std::size_t head_dim = 0;
  KVFormat format = KVFormat::kBF16;

  // Keys and values of all layers for one block. 64-bit throughout (field report F040).
  std::uint64_t block_bytes() const {
    const std::uint64_t element = format == KVFormat::kF32 ? 4 : 2;
    return 2 * std::uint64_t{layers} * kBlockTokens * kv_heads * head_dim * element;
  }
};

// Paged keys and values of all layers; the inner layout is the back end's own.
class KVCache {
 public:
  virtual ~KVCache() = default;
  virtual const KVShape& shape() const = 0;
};

// Ragged batch: sequence s owns query rows [query_starts[s], query_starts[s+1]) of this step, which are the
// last of its context_lengths[s] tokens (this step's included). Its token at position p is in slot
// block_tables[s * blocks_per_sequence_max + p / 16] * 16 + p % 16.
struct AttentionBatch {
  std::span<const std::int32_t> query_starts;     // [S + 1]
  std::span<const std::int32_t> context_lengths;  // [S]
  std::span<const std::int32_t> block_tables;     // [S, blocks_per_sequence_max]
  std::size_t blocks_per_sequence_max = 0;
  std::size_t sequences() const { return context_lengths.size(); }
};

// Per-head RMS norm of q and k before rotation (Qwen3). Empty gains: no norm.
struct QKNorm {
  std::span<const float> q_gain;  // [D]
  std::span<const float> k_gain;  // [D]
  float eps = 1e-6F;
};

// Rotary tables for every position: halves layout, pair (i, i + D/2) turns by position *
// inverse_frequency[i], then both are multiplied by `attention_factor` (YaRN; 1 otherwise).
struct Rope {
  std::vector<float> inverse_frequency;  // [D/2]
  float attention_factor = 1.0F;
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual const char* name() const = 0;  // "avx2": part of the system fingerprint

  // Throw std::bad_alloc: start-up only.
  virtual std::unique_ptr<Buffer> allocate(std::size_t floats) = 0;
  virtual std::unique_ptr<KVCache> allocate_kv(const KVShape& shape) = 0;
  // Repacks [sum of rows, columns] once. `columns` is even and a multiple of every segment's block_elements.
  virtual std::unique_ptr<Weight> prepare(std::span<const RowSegment> segments, std::size_t columns) = 0;

  // A row index, position, slot or block that reaches outside its memory ends the process: it is an error of
  // the caller, and reading on would be another request's text (operand_checks.h).
  virtual void embed(Tensor out, const Weight& table, std::span<const std::int32_t> ids) = 0;  // out [T,E]
  virtual void linear(Tensor out, const Weight& weight,
                      Tensor x) = 0;                                 // out [T,n] = x [T,k] * weight [n,k]^T
  virtual void add_bias(Tensor x, std::span<const float> bias) = 0;  // x [T,n] += bias [n]
  // residual += x, then out = residual / rms(residual) * gain. With x.data == nullptr: the norm only.
  virtual void add_rms_norm(Tensor out, Tensor residual, Tensor x, std::span<const float> gain,
                            float eps) = 0;
  // In place: q [T, H*D], k [T, K*D].
  virtual void qk_norm_rope(Tensor q, Tensor k, std::size_t head_dim, const QKNorm& norm, const Rope& rope,
                            std::span<const std::int32_t> positions) = 0;
  virtual void store_kv(KVCache& cache, std::size_t layer, Tensor k, Tensor v,
                        std::span<const std::int64_t> slots) = 0;
  // Causal attention, scale 1/sqrt(D): out, q [T, H*D].
  virtual void paged_attention(Tensor out, Tensor q, const KVCache& cache, std::size_t layer,
                               const AttentionBatch& batch) = 0;
  virtual void silu_and_mul(Tensor out,
                            Tensor gate_up) = 0;  // out [T,F] = silu(gate_up[:, :F]) * gate_up[:, F:]
  virtual void gather_rows(Tensor out, Tensor x, std::span<const std::int32_t> rows) = 0;
  // Runs body(i) for i in [0, count) on the device's threads; used for sampling rows on the host.
  virtual void parallel_for(std::size_t count, const std::function<void(std::size_t)>& body) = 0;
};

// What make_backend() accepts on this host: "auto", its CPU tables ("avx512", "avx2", "scalar") best first,
// "reference".
std::vector<std::string> backend_names();

// "auto" is the best CPU table. CPU back ends share one process-wide compute pool of `threads` threads, which
// the first of them sizes: 0 = all cores, or the pool that exists. "reference" uses the calling thread only.
// Throws std::invalid_argument on a name that is not in backend_names(), and on a number of threads that
// differs from the pool's.
std::unique_ptr<Backend> make_backend(std::string_view name, std::size_t threads);

}  // namespace sluice::backend
