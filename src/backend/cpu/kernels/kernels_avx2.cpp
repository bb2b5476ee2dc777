// Kernel table of one instruction set: the shared algorithms over its 16-lane vocabulary. Exports one symbol.
#include <immintrin.h>

#include "backend/cpu/kernels/kernel_table.h"

namespace sluice::backend::cpu {
namespace {
namespace avx2 {

#include "backend/cpu/kernels/simd_avx2.inc.h"
// The algorithms follow the vocabulary that they are written in.
#include "backend/cpu/kernels/linear.inc.h"
#include "backend/cpu/kernels/vector.inc.h"
// Attention uses exponentials and sums of vector.inc.h.
#include "backend/cpu/kernels/attention.inc.h"

}  // namespace avx2
}  // namespace

const KernelTable kAvx2 = {
    "avx2",
    avx2::linear_strips<avx2::FormatF32, true>,
    avx2::linear_strips<avx2::FormatF16, true>,
    avx2::linear_strips<avx2::FormatBF16, true>,
    avx2::linear_strips<avx2::FormatQ8_0, false>,
    avx2::linear_strips<avx2::FormatQ4_0, false>,
    avx2::linear_strips<avx2::FormatQ4_1, false>,
    avx2::linear_strips<avx2::FormatQ4_K, false>,
    avx2::linear_strips<avx2::FormatQ6_K, false>,
    avx2::quantize_row,
    avx2::rms_norm,
    avx2::add,
    avx2::rotate_halves,
    avx2::silu_and_mul,
    avx2::attend_chunk<avx2::ElementF32>,
    avx2::attend_chunk<avx2::ElementBF16>,
    avx2::fold_chunk,
    avx2::finish_attention,
};

}  // namespace sluice::backend::cpu
