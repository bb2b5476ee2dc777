// Kernel table of one instruction set: the shared algorithms over its 16-lane vocabulary. Exports one symbol.
#include <immintrin.h>

#include "backend/cpu/kernels/kernel_table.h"

namespace sluice::backend::cpu {
namespace {
namespace avx512 {

#include "backend/cpu/kernels/simd_avx512.inc.h"
// The algorithms follow the vocabulary that they are written in.
#include "backend/cpu/kernels/linear.inc.h"
#include "backend/cpu/kernels/vector.inc.h"
// Attention uses exponentials and sums of vector.inc.h.
#include "backend/cpu/kernels/attention.inc.h"

}  // namespace avx512
}  // namespace

const KernelTable kAvx512 = {
    "avx512",
    avx512::linear_strips<avx512::FormatF32, true>,
    avx512::linear_strips<avx512::FormatF16, true>,
    avx512::linear_strips<avx512::FormatBF16, true>,
    avx512::linear_strips<avx512::FormatQ8_0, false>,
    avx512::linear_strips<avx512::FormatQ4_0, false>,
    avx512::linear_strips<avx512::FormatQ4_1, false>,
    avx512::linear_strips<avx512::FormatQ4_K, false>,
    avx512::linear_strips<avx512::FormatQ6_K, false>,
    avx512::quantize_row,
    avx512::rms_norm,
    avx512::add,
    avx512::rotate_halves,
    avx512::silu_and_mul,
    avx512::attend_chunk<avx512::ElementF32>,
    avx512::attend_chunk<avx512::ElementBF16>,
    avx512::fold_chunk,
    avx512::finish_attention,
};

}  // namespace sluice::backend::cpu
