// A tensor as a file stores it: type, shape and bytes, all checked against the file's size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "backend/dtype.h"

namespace sluice::weights {

struct StoredTensor {
  std::string name;
  backend::DType type = backend::DType::kF32;
  std::vector<std::uint64_t> shape;  // outermost first: a matrix is [rows, columns]
  std::span<const std::byte> bytes;
};

// "[3072, 1024]"
std::string shape_text(std::span<const std::uint64_t> shape);

}  // namespace sluice::weights
