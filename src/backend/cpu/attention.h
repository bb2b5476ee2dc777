// Cuts a ragged attention batch into tasks of one KV head and a few query rows of one sequence, and a task
// with much of the call's context into pieces of whole chunks, so that one long sequence keeps all threads
// busy.
#pragma once

#include "backend/backend.h"
#include "backend/cpu/kv_pages.h"

namespace sluice {
class ComputePool;
}

namespace sluice::backend::cpu {

struct KernelTable;

// Operands as in Backend::paged_attention, already checked.
void attention(const KernelTable& kernels, ComputePool& pool, Tensor out, Tensor q, const KVPages& pages,
               std::size_t layer, const AttentionBatch& batch);

}  // namespace sluice::backend::cpu
