#include "backend/cpu/attention.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "backend/cpu/kernels/kernel_table.h"
#include "base/check.h"
#include "base/compute_pool.h"

namespace sluice::backend::cpu {
namespace {

// Query rows [first, first + tokens) of a sequence, all query heads of one KV head.
struct Task {
  std::size_t sequence;
  std::size_t kv_head;
  std::size_t first;
  std::size_t tokens;
};

std::vector<Task> split(const AttentionBatch& batch, std::size_t kv_heads, std::size_t tokens_max) {
  std::vector<Task> tasks;
  for (std::size_t s = 0; s < batch.sequences(); ++s) {
    const auto rows = static_cast<std::size_t>(batch.query_starts[s + 1] - batch.query_starts[s]);
    for (std::size_t first = 0; first < rows; first += tokens_max) {
      for (std::size_t head = 0; head < kv_heads; ++head) {
        tasks.push_back({s, head, first, std::min(tokens_max, rows - first)});
      }
    }
  }
  return tasks;
}

}  // namespace

void attention(const KernelTable& kernels, ComputePool& pool, Tensor out, Tensor q, const KVPages& pages,
               std::size_t layer, const AttentionBatch& batch) {
  const KVShape& shape = pages.shape();
  const std::size_t dim = shape.head_dim;
  const std::size_t group = q.columns / dim / shape.kv_heads;  // query heads of one KV head
  SLUICE_CHECK(group <= kAttentionRowsMax && dim <= kHeadDimMax && dim % 16 == 0, "attention shape");
  const std::vector<Task> tasks = split(batch, shape.kv_heads, kAttentionRowsMax / group);
  const float scale = 1.0F / std::sqrt(static_cast<float>(dim));
  pool.run(tasks.size(), [&](std::size_t index, std::size_t) {
    const Task& task = tasks[index];
    alignas(64) float scaled[kAttentionRowsMax][kHeadDimMax];
    const float* queries[kAttentionRowsMax];
    float* outputs[kAttentionRowsMax];
    std::size_t visible[kAttentionRowsMax];
    const auto start = static_cast<std::size_t>(batch.query_starts[task.sequence]);
    const auto end = static_cast<std::size_t>(batch.query_starts[task.sequence + 1]);
    const auto context = static_cast<std::size_t>(batch.context_lengths[task.sequence]);
    std::size_t rows = 0;
    for (std::size_t t = start + task.first; t < start + task.first + task.tokens; ++t) {
      for (std::size_t g = 0; g < group; ++g, ++rows) {
        const std::size_t column = (task.kv_head * group + g) * dim;
        for (std::size_t d = 0; d < dim; ++d) scaled[rows][d] = q.row(t)[column + d] * scale;
        queries[rows] = scaled[rows];
        outputs[rows] = out.row(t) + column;
        visible[rows] = context - (end - 1 - t);
      }
    }
    AttentionJob job;
    job.queries = queries;
    job.outputs = outputs;
    job.visible = visible;
    job.rows = rows;
    job.head_dim = dim;
    job.block_table = batch.block_tables.data() + task.sequence * batch.blocks_per_sequence_max;
    job.block_stride = pages.block_stride();
    job.keys = pages.at(KVPages::key_offset(shape, layer, 0, task.kv_head));
    job.values = pages.at(KVPages::value_offset(shape, layer, 0, task.kv_head));
    (shape.format == KVFormat::kF32 ? kernels.attention_f32 : kernels.attention_bf16)(job);
  });
}

}  // namespace sluice::backend::cpu
