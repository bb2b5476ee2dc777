#include "backend/operand_checks.h"

#include "base/check.h"

namespace sluice::backend {
namespace {

// True when all values are in [0, limit); a negative one is huge as unsigned. No early exit, so that the loop
// is a handful of instructions.
template <typename Int>
bool all_below(std::span<const Int> values, std::size_t limit) {
  bool inside = true;
  for (const Int value : values) inside &= static_cast<std::uint64_t>(value) < limit;
  return inside;
}

}  // namespace

void check_indices(std::span<const std::int32_t> indices, std::size_t limit) {
  SLUICE_CHECK(all_below(indices, limit), "row index outside the matrix");
}

void check_rope(Tensor q, Tensor k, std::size_t head_dim, const QKNorm& norm, const Rope& rope,
                std::span<const std::int32_t> positions) {
  SLUICE_CHECK(positions.size() == q.rows && k.rows == q.rows, "one position per row");
  SLUICE_CHECK(head_dim == 2 * rope.inverse_frequency.size() && head_dim > 0, "rope covers a whole head");
  SLUICE_CHECK(q.columns % head_dim == 0 && k.columns % head_dim == 0, "rows are whole heads");
  SLUICE_CHECK(norm.q_gain.empty() || norm.q_gain.size() == head_dim, "gain of q");
  SLUICE_CHECK(norm.k_gain.empty() || norm.k_gain.size() == head_dim, "gain of k");
  SLUICE_CHECK(all_below(positions, std::size_t{1} << 31), "negative position");
}

void check_store(const KVShape& shape, std::size_t layer, Tensor k, Tensor v,
                 std::span<const std::int64_t> slots) {
  SLUICE_CHECK(layer < shape.layers, "layer outside the pool");
  const std::size_t width = shape.kv_heads * shape.head_dim;
  SLUICE_CHECK(k.columns == width && v.columns == width, "width of keys and values");
  SLUICE_CHECK(slots.size() <= k.rows && slots.size() <= v.rows, "a row for every slot");
  SLUICE_CHECK(all_below(slots, shape.blocks * kBlockTokens), "slot outside the pool");
}

void check_attention(const KVShape& shape, std::size_t layer, Tensor out, Tensor q,
                     const AttentionBatch& batch) {
  SLUICE_CHECK(layer < shape.layers, "layer outside the pool");
  SLUICE_CHECK(q.columns % (shape.kv_heads * shape.head_dim) == 0 && out.columns == q.columns, "query heads");
  const std::size_t sequences = batch.sequences();
  SLUICE_CHECK(batch.query_starts.size() == sequences + 1 && batch.query_starts[0] == 0, "query starts");
  const auto rows = static_cast<std::size_t>(batch.query_starts[sequences]);
  SLUICE_CHECK(rows <= q.rows && rows <= out.rows, "query rows");
  SLUICE_CHECK(batch.block_tables.size() >= sequences * batch.blocks_per_sequence_max, "block tables");
  for (std::size_t s = 0; s < sequences; ++s) {
    const std::int32_t own = batch.query_starts[s + 1] - batch.query_starts[s];
    SLUICE_CHECK(own >= 0 && own <= batch.context_lengths[s], "queries are the last tokens of their context");
    const auto context = static_cast<std::size_t>(batch.context_lengths[s]);
    const std::size_t blocks = (context + kBlockTokens - 1) / kBlockTokens;
    SLUICE_CHECK(blocks <= batch.blocks_per_sequence_max, "context longer than its block table");
    const auto table = batch.block_tables.subspan(s * batch.blocks_per_sequence_max, blocks);
    SLUICE_CHECK(all_below(table, shape.blocks), "block outside the pool");
  }
}

}  // namespace sluice::backend
