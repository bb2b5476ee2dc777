// Cuts a ragged attention batch into tasks of one KV head and a few query rows of one sequence.
#pragma once

#include "backend/backend.h"
#include "backend/cpu/kv_pages.h"

namespace sluice {
class ComputePool;
}

namespace sluice::backend::cpu {

struct KernelTable;

void attention(const KernelTable& kernels, ComputePool& pool, Tensor out, Tensor q, const KVPages& pages,
               std::size_t layer, const AttentionBatch& batch);

}  // namespace sluice::backend::cpu
