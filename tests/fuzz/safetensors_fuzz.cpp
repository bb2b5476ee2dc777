// A safetensors file of any bytes: opened, every tensor's bytes touched.
#include "weights/safetensors.h"

#include "fuzz/input_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sluice;
  const InputFile file(data, size);
  if (!file.is_complete()) return 0;
  const auto opened = weights::SafetensorsFile::open(file.path());
  if (!opened) return 0;
  unsigned sum = 0;
  for (const weights::StoredTensor& tensor : opened->tensors()) {
    if (tensor.bytes.empty()) continue;
    sum += static_cast<unsigned>(tensor.bytes.front()) + static_cast<unsigned>(tensor.bytes.back());
  }
  volatile unsigned kept = sum;
  return static_cast<int>(kept & 0U);
}
