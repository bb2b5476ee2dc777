// The matrix product of the CPU back end: out = x * w^T for any number of rows, over packed strips.
// Every kernel of one ISA gives the same bits for a row whatever the number of rows or threads.
#pragma once

#include "backend/backend.h"
#include "backend/cpu/weight_packing.h"

namespace sluice::backend::cpu {

struct KernelTable;

// out [T,n] = x [T,k] * weight [n,k]^T. Quantises x once per call where a segment has an integer format.
void linear(const KernelTable& kernels, ComputePool& pool, Tensor out, const PackedWeight& weight, Tensor x);

}  // namespace sluice::backend::cpu
