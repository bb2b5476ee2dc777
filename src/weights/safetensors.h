// Safetensors files, single or sharded. Untrusted: the header is bounded and every extent is checked against
// the file (field reports F029, F030). Source: the safetensors format description.
#pragma once

#include <filesystem>
#include <vector>

#include "base/mmap_file.h"
#include "base/result.h"
#include "weights/stored_tensor.h"

namespace sluice::weights {

class SafetensorsFile {
 public:
  static Result<SafetensorsFile> open(const std::filesystem::path& path);
  const std::vector<StoredTensor>& tensors() const { return tensors_; }
  const MmapFile& file() const { return file_; }

 private:
  explicit SafetensorsFile(MmapFile file) : file_(std::move(file)) {}
  Status parse();

  MmapFile file_;
  std::vector<StoredTensor> tensors_;
};

// The files of a Hugging Face folder: model.safetensors, or every shard that model.safetensors.index.json
// names.
Result<std::vector<std::filesystem::path>> safetensors_files(const std::filesystem::path& folder);

}  // namespace sluice::weights
