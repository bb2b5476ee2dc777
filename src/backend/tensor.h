// Non-owning view of a row-major activation [rows, columns] in back-end memory. Activations between operators
// are F32.
#pragma once

#include <cstddef>

#include "backend/dtype.h"

namespace sluice::backend {

struct Tensor {
  float* data = nullptr;
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::size_t stride = 0;  // elements from one row to the next, >= columns

  float* row(std::size_t index) const { return data + index * stride; }
  // Columns [begin, begin + count) of every row, e.g. the key part of a fused QKV product.
  Tensor columns_at(std::size_t begin, std::size_t count) const {
    return {data + begin, rows, count, stride};
  }
  Tensor rows_at(std::size_t begin, std::size_t count) const {
    return {data + begin * stride, count, columns, stride};
  }
};

}  // namespace sluice::backend
