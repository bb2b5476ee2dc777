// The matrix product of the CPU back end: weights packed once, and out = x * w^T for any number of rows.
// Layout and rates: docs/design/backends.md. Every kernel of one ISA gives the same bits for a row whatever M
// is.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "backend/backend.h"

namespace sluice {
class ComputePool;
}

namespace sluice::backend::cpu {

struct KernelTable;  // kernels/kernel_table.h

// Packs rows in parallel. Formats of segments may differ.
std::unique_ptr<Weight> pack_weight(const KernelTable& kernels, ComputePool& pool,
                                    std::span<const RowSegment> segments, std::size_t columns);

// out [T,n] = x [T,k] * weight [n,k]^T; quantises or converts x once per call.
void linear(const KernelTable& kernels, ComputePool& pool, Tensor out, const Weight& weight, Tensor x);

// out [E] = row `id` of the packed table, dequantised.
void unpack_row(const Weight& table, std::size_t id, std::span<float> out);

}  // namespace sluice::backend::cpu
