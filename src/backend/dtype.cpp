#include "backend/dtype.h"

#include "base/check.h"

namespace sluice::backend {

const DTypeTraits& traits(DType dtype) {
  static constexpr DTypeTraits kTable[] = {{"F32", 1, 4},    {"F16", 1, 2},      {"BF16", 1, 2},
                                           {"I32", 1, 4},    {"Q8_0", 32, 34},   {"Q4_0", 32, 18},
                                           {"Q4_1", 32, 20}, {"Q4_K", 256, 144}, {"Q6_K", 256, 210}};
  const auto index = static_cast<std::size_t>(dtype);
  SLUICE_CHECK(index < sizeof kTable / sizeof kTable[0], "unknown dtype");
  return kTable[index];
}

}  // namespace sluice::backend
