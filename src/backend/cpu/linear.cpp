#include "backend/cpu/linear.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "backend/cpu/kernels/kernel_table.h"
#include "base/check.h"
#include "base/compute_pool.h"

namespace sluice::backend::cpu {
namespace {

constexpr std::size_t kStripsPerTask = 4;
// Off a power of two, so that rows of x do not fall into one cache set.
constexpr std::size_t kRowPadding = 64;

LinearKernel kernel_of(const KernelTable& kernels, DType format) {
  switch (format) {
    case DType::kF32:
      return kernels.linear_f32;
    case DType::kF16:
      return kernels.linear_f16;
    case DType::kBF16:
      return kernels.linear_bf16;
    case DType::kQ8_0:
      return kernels.linear_q8_0;
    case DType::kQ4_0:
      return kernels.linear_q4_0;
    case DType::kQ4_1:
      return kernels.linear_q4_1;
    case DType::kQ4_K:
      return kernels.linear_q4_k;
    case DType::kQ6_K:
      return kernels.linear_q6_k;
    case DType::kI32:
      break;
  }
  SLUICE_CHECK(false, "format has no kernel");
}

bool is_integer(DType format) { return traits(format).block_elements > 1; }

// x as the integer kernels want it. The vectors keep their memory between calls of one thread.
struct Quantized {
  std::vector<std::int8_t> values;
  std::vector<float> scales;
  std::vector<std::int32_t> sums16;
  std::size_t stride = 0;

  void fill(const KernelTable& kernels, ComputePool& pool, const Tensor& x) {
    stride = x.columns + kRowPadding;
    values.resize(x.rows * stride);
    scales.resize(x.rows * (x.columns / 32));
    sums16.resize(x.rows * (x.columns / 16));
    const auto quantize = [&](std::size_t row, std::size_t) {
      kernels.quantize_row(x.row(row), x.columns, values.data() + row * stride,
                           scales.data() + row * (x.columns / 32), sums16.data() + row * (x.columns / 16));
    };
    if (x.rows >= 8) return pool.run(x.rows, quantize);
    for (std::size_t row = 0; row < x.rows; ++row) quantize(row, 0);
  }
};

struct Task {
  const PackedSegment* segment;
  std::size_t strip;
  std::size_t strips;
};

std::vector<Task> split(const PackedWeight& weight) {
  std::vector<Task> tasks;
  for (const PackedSegment& segment : weight.segments()) {
    for (std::size_t strip = 0; strip < segment.strips; strip += kStripsPerTask) {
      tasks.push_back({&segment, strip, std::min(kStripsPerTask, segment.strips - strip)});
    }
  }
  return tasks;
}

// Runs one task; strips whose last rows are padding go through a scratch, so nothing is written beyond the
// segment.
void run_task(const KernelTable& kernels, const Task& task, StripJob job, Tensor out) {
  const PackedSegment& segment = *task.segment;
  job.weights = segment.data + task.strip * segment.strip_bytes;
  job.strip_bytes = segment.strip_bytes;
  job.strips = task.strips;
  const std::size_t first = task.strip * kStripRows;
  const std::size_t wanted = std::min(task.strips * kStripRows, segment.rows - first);
  float* target = out.data + segment.first_row + first;
  const LinearKernel kernel = kernel_of(kernels, segment.format);
  if (wanted == task.strips * kStripRows) {
    job.out = target;
    job.out_stride = out.stride;
    kernel(job);
    return;
  }
  thread_local std::vector<float> scratch;
  scratch.resize(out.rows * task.strips * kStripRows);
  job.out = scratch.data();
  job.out_stride = task.strips * kStripRows;
  kernel(job);
  for (std::size_t row = 0; row < out.rows; ++row) {
    std::memcpy(target + row * out.stride, scratch.data() + row * job.out_stride, wanted * sizeof(float));
  }
}

}  // namespace

void linear(const KernelTable& kernels, ComputePool& pool, Tensor out, const PackedWeight& weight, Tensor x) {
  SLUICE_CHECK(x.columns == weight.columns() && out.columns == weight.rows() && out.rows == x.rows,
               "linear shapes");
  StripJob job;
  job.columns = x.columns;
  job.rows = x.rows;
  job.x = x.data;
  job.x_stride = x.stride;
  thread_local Quantized quantized;
  const auto& segments = weight.segments();
  if (std::any_of(segments.begin(), segments.end(), [](const auto& s) { return is_integer(s.format); })) {
    quantized.fill(kernels, pool, x);
    job.quantized = {quantized.values.data(), quantized.scales.data(), quantized.sums16.data(),
                     quantized.stride};
  }
  const std::vector<Task> tasks = split(weight);
  pool.run(tasks.size(), [&](std::size_t i, std::size_t) { run_task(kernels, tasks[i], job, out); });
}

}  // namespace sluice::backend::cpu
