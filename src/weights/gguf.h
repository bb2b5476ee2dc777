// GGUF v2 and v3 files: metadata and tensors. Untrusted: every count, length and offset is checked against
// the file before it is used (field reports F028, F030). Source: the GGUF specification.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/mmap_file.h"
#include "base/result.h"
#include "weights/stored_tensor.h"

namespace sluice::weights {

// Numbers are widened; arrays of numbers become one of two element types.
using GgufValue = std::variant<std::int64_t, double, bool, std::string, std::vector<std::int64_t>,
                               std::vector<double>, std::vector<std::string>>;

class GgufFile {
 public:
  // Errors: kInvalidArgument with the file's name, the field and the limit.
  static Result<GgufFile> open(const std::filesystem::path& path);

  const std::map<std::string, GgufValue>& metadata() const { return metadata_; }
  // Typed look-ups; empty when absent or of another type.
  std::optional<std::int64_t> integer(const std::string& key) const;
  std::optional<double> number(const std::string& key) const;
  std::optional<std::string> text(const std::string& key) const;
  template <typename T>
  const T* array(const std::string& key) const {
    const auto found = metadata_.find(key);
    return found == metadata_.end() ? nullptr : std::get_if<T>(&found->second);
  }

  const std::vector<StoredTensor>& tensors() const { return tensors_; }
  const MmapFile& file() const { return file_; }

 private:
  explicit GgufFile(MmapFile file) : file_(std::move(file)) {}
  Status parse();

  MmapFile file_;
  std::map<std::string, GgufValue> metadata_;
  std::vector<StoredTensor> tensors_;
};

}  // namespace sluice::weights
