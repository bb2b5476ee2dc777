#include "backend/cpu/attention.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <vector>

#include "backend/cpu/kernels/kernel_table.h"
#include "base/check.h"
#include "base/compute_pool.h"

namespace sluice::backend::cpu {
namespace {

static_assert(kChunkTokens == kAttentionChunkTokens);

// Enough pieces that a thread whose core was taken away holds up little.
constexpr std::size_t kPiecesPerThread = 8;
// Results of pieces that wait to be folded; a task that would need more is not cut.
constexpr std::size_t kScratchFloatsMax = std::size_t{16} << 20;

struct Scratch {
  std::vector<float> partials;       // [rows of all chunks, head_dim]
  std::vector<SoftmaxState> states;  // [rows of all chunks]
};

// Query rows [first, first + tokens) of a sequence, all query heads of one KV head.
struct Task {
  std::size_t sequence;
  std::size_t kv_head;
  std::size_t first;
  std::size_t tokens;
  std::size_t chunks = 0;   // of the context that its last row sees
  std::size_t pieces = 1;   // more than one: results go through the scratch
  std::size_t scratch = 0;  // first row of its results [chunks, rows]
};

// Chunks [first, end) of a task.
struct Piece {
  std::size_t task;
  std::size_t first;
  std::size_t end;
};

// The query rows of a task, scaled, and what each sees.
struct Rows {
  alignas(64) float scaled[kAttentionRowsMax][kHeadDimMax];
  const float* queries[kAttentionRowsMax];
  float* outputs[kAttentionRowsMax];
  std::size_t visible[kAttentionRowsMax];
  AttentionJob job;  // without chunk and results
};

// One call: its operands, tasks and pieces.
class Attention {
 public:
  Attention(const KernelTable& kernels, Tensor out, Tensor q, const KVPages& pages, std::size_t layer,
            const AttentionBatch& batch)
      : kernels_(kernels),
        out_(out),
        q_(q),
        pages_(pages),
        layer_(layer),
        batch_(batch),
        dim_(pages.shape().head_dim),
        group_(q.columns / dim_ / pages.shape().kv_heads) {
    SLUICE_CHECK(group_ <= kAttentionRowsMax && dim_ <= kHeadDimMax && dim_ % 16 == 0, "attention shape");
  }

  void run(ComputePool& pool) {
    find_tasks();
    cut_tasks(pool.threads());
    thread_local Scratch memory;  // of the caller, kept between calls
    Scratch& scratch = memory;
    scratch.partials.resize(scratch_rows_ * dim_);
    scratch.states.resize(scratch_rows_);
    std::vector<std::atomic<std::size_t>> done(tasks_.size());
    pool.run(pieces_.size(), [&](std::size_t index, std::size_t) {
      const Piece& piece = pieces_[index];
      const Task& task = tasks_[piece.task];
      Rows rows;
      fill(rows, task);
      if (task.pieces == 1) return attend(rows, task);
      attend_piece(rows, piece, task, scratch);
      // The last piece to finish folds all, in the order of the context.
      if (done[piece.task].fetch_add(1, std::memory_order_acq_rel) + 1 == task.pieces)
        fold_pieces(rows, task, scratch);
    });
  }

 private:
  void find_tasks() {
    const std::size_t tokens_max = kAttentionRowsMax / group_;
    for (std::size_t s = 0; s < batch_.sequences(); ++s) {
      const auto rows = static_cast<std::size_t>(batch_.query_starts[s + 1] - batch_.query_starts[s]);
      const auto context = static_cast<std::size_t>(batch_.context_lengths[s]);
      for (std::size_t first = 0; first < rows; first += tokens_max) {
        const std::size_t tokens = std::min(tokens_max, rows - first);
        const std::size_t visible = context - (rows - first - tokens);
        for (std::size_t head = 0; head < pages_.shape().kv_heads; ++head)
          tasks_.push_back({s, head, first, tokens, (visible + kChunkTokens - 1) / kChunkTokens});
      }
    }
  }

  // Cuts what is longer than a thread's fair share of the call, which is rare unless few sequences are long.
  void cut_tasks(std::size_t threads) {
    std::size_t total = 0;
    for (const Task& task : tasks_) total += task.chunks;
    const std::size_t wanted = threads == 1 ? 1 : threads * kPiecesPerThread;
    const std::size_t share = std::max<std::size_t>(1, (total + wanted - 1) / wanted);
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      Task& task = tasks_[i];
      const std::size_t needed = task.chunks * task.tokens * group_;
      std::size_t step = task.chunks;
      if (task.chunks > share && (scratch_rows_ + needed) * dim_ <= kScratchFloatsMax) {
        step = share;
        task.pieces = (task.chunks + share - 1) / share;
        task.scratch = scratch_rows_;
        scratch_rows_ += needed;
      }
      for (std::size_t chunk = 0; chunk < task.chunks; chunk += step)
        pieces_.push_back({i, chunk, std::min(chunk + step, task.chunks)});
    }
  }

  void fill(Rows& rows, const Task& task) const {
    const float scale = 1.0F / std::sqrt(static_cast<float>(dim_));
    const auto start = static_cast<std::size_t>(batch_.query_starts[task.sequence]);
    const auto end = static_cast<std::size_t>(batch_.query_starts[task.sequence + 1]);
    const auto context = static_cast<std::size_t>(batch_.context_lengths[task.sequence]);
    std::size_t row = 0;
    for (std::size_t t = start + task.first; t < start + task.first + task.tokens; ++t) {
      for (std::size_t g = 0; g < group_; ++g, ++row) {
        const std::size_t column = (task.kv_head * group_ + g) * dim_;
        for (std::size_t d = 0; d < dim_; ++d) rows.scaled[row][d] = q_.row(t)[column + d] * scale;
        rows.queries[row] = rows.scaled[row];
        rows.outputs[row] = out_.row(t) + column;
        rows.visible[row] = context - (end - 1 - t);
      }
    }
    const KVShape& shape = pages_.shape();
    rows.job.queries = rows.queries;
    rows.job.visible = rows.visible;
    rows.job.rows = row;
    rows.job.head_dim = dim_;
    rows.job.block_table = batch_.block_tables.data() + task.sequence * batch_.blocks_per_sequence_max;
    rows.job.block_stride = pages_.block_stride();
    rows.job.keys = pages_.at(KVPages::key_offset(shape, layer_, 0, task.kv_head));
    rows.job.values = pages_.at(KVPages::value_offset(shape, layer_, 0, task.kv_head));
  }

  // Fills partials [rows, head_dim] and states [rows] with a chunk's results.
  void attend_chunk(Rows& rows, std::size_t chunk, float* partials, SoftmaxState* states) const {
    rows.job.begin = chunk * kChunkTokens;
    rows.job.partials = partials;
    rows.job.states = states;
    const bool is_f32 = pages_.shape().format == KVFormat::kF32;
    (is_f32 ? kernels_.attend_chunk_f32 : kernels_.attend_chunk_bf16)(rows.job);
  }

  void fold_chunk(const Rows& rows, std::size_t chunk, const float* partials, const SoftmaxState* states,
                  SoftmaxState* running) const {
    for (std::size_t m = 0; m < rows.job.rows; ++m) {
      if (rows.visible[m] <= chunk * kChunkTokens) continue;
      kernels_.fold_chunk(rows.outputs[m], running[m], partials + m * dim_, states[m], dim_);
    }
  }

  void finish(const Rows& rows, const SoftmaxState* running) const {
    for (std::size_t m = 0; m < rows.job.rows; ++m)
      kernels_.finish_attention(rows.outputs[m], running[m], dim_);
  }

  void attend(Rows& rows, const Task& task) const {
    alignas(64) float partials[kAttentionRowsMax * kHeadDimMax];
    SoftmaxState states[kAttentionRowsMax];
    SoftmaxState running[kAttentionRowsMax];
    for (std::size_t chunk = 0; chunk < task.chunks; ++chunk) {
      attend_chunk(rows, chunk, partials, states);
      fold_chunk(rows, chunk, partials, states, running);
    }
    finish(rows, running);
  }

  void attend_piece(Rows& rows, const Piece& piece, const Task& task, Scratch& scratch) const {
    for (std::size_t chunk = piece.first; chunk < piece.end; ++chunk) {
      const std::size_t row = task.scratch + chunk * rows.job.rows;
      attend_chunk(rows, chunk, &scratch.partials[row * dim_], &scratch.states[row]);
    }
  }

  void fold_pieces(const Rows& rows, const Task& task, const Scratch& scratch) const {
    SoftmaxState running[kAttentionRowsMax];
    for (std::size_t chunk = 0; chunk < task.chunks; ++chunk) {
      const std::size_t row = task.scratch + chunk * rows.job.rows;
      fold_chunk(rows, chunk, &scratch.partials[row * dim_], &scratch.states[row], running);
    }
    finish(rows, running);
  }

  const KernelTable& kernels_;
  Tensor out_;
  Tensor q_;
  const KVPages& pages_;
  std::size_t layer_;
  const AttentionBatch& batch_;
  std::size_t dim_;
  std::size_t group_;
  std::vector<Task> tasks_;
  std::vector<Piece> pieces_;
  std::size_t scratch_rows_ = 0;
};

}  // namespace

void attention(const KernelTable& kernels, ComputePool& pool, Tensor out, Tensor q, const KVPages& pages,
               std::size_t layer, const AttentionBatch& batch) {
  Attention(kernels, out, q, pages, layer, batch).run(pool);
}

}  // namespace sluice::backend::cpu
