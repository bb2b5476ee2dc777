// Refuses operands that reach outside their memory, in every build: a wrong slot or block would be another
// request's text. All back ends call these before they touch anything.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "backend/backend.h"

namespace sluice::backend {

// Every index is in [0, limit): rows of a matrix, token ids.
void check_indices(std::span<const std::int32_t> indices, std::size_t limit);
// Positions are not negative and heads have an even dimension that the rotary table fits.
void check_rope(Tensor q, Tensor k, std::size_t head_dim, const QKNorm& norm, const Rope& rope,
                std::span<const std::int32_t> positions);
void check_store(const KVShape& shape, std::size_t layer, Tensor k, Tensor v,
                 std::span<const std::int64_t> slots);
// The query rows of every sequence are within q and its context, and every block that it reads is in the
// pool.
void check_attention(const KVShape& shape, std::size_t layer, Tensor out, Tensor q,
                     const AttentionBatch& batch);

}  // namespace sluice::backend
