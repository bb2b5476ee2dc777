// Kernel table of one instruction set: the shared algorithms over its 16-lane vocabulary. Exports one symbol.
#include "backend/cpu/kernels/kernel_table.h"

namespace sluice::backend::cpu {
namespace {
namespace scalar {

#include "backend/cpu/kernels/simd_scalar.inc.h"
// The algorithms follow the vocabulary that they are written in.
#include "backend/cpu/kernels/linear.inc.h"
#include "backend/cpu/kernels/vector.inc.h"
// Attention uses exponentials and sums of vector.inc.h.
#include "backend/cpu/kernels/attention.inc.h"

}  // namespace scalar
}  // namespace

const KernelTable kScalar = {
    "scalar",
    scalar::linear_strips<scalar::FormatF32, true>,
    scalar::linear_strips<scalar::FormatF16, true>,
    scalar::linear_strips<scalar::FormatBF16, true>,
    scalar::linear_strips<scalar::FormatQ8_0, false>,
    scalar::linear_strips<scalar::FormatQ4_0, false>,
    scalar::linear_strips<scalar::FormatQ4_1, false>,
    scalar::linear_strips<scalar::FormatQ4_K, false>,
    scalar::linear_strips<scalar::FormatQ6_K, false>,
    scalar::quantize_row,
    scalar::rms_norm,
    scalar::add,
    scalar::rotate_halves,
    scalar::silu_and_mul,
    scalar::attend_chunk<scalar::ElementF32>,
    scalar::attend_chunk<scalar::ElementBF16>,
    scalar::fold_chunk,
    scalar::finish_attention,
};

}  // namespace sluice::backend::cpu
