// A model's tensors by their Hugging Face names, whichever form the files have. Every tensor is taken once,
// checked by name and shape; what nobody took is an error.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "weights/gguf.h"
#include "weights/safetensors.h"

namespace sluice::weights {

class Checkpoint {
 public:
  // A .gguf file or a Hugging Face folder. Errors name the file.
  static Result<Checkpoint> open(const std::filesystem::path& path);

  // The GGUF file, or null for a folder.
  const GgufFile* gguf() const { return gguf_.get(); }
  // config.json of a folder; an empty object for GGUF.
  const json::object& config() const { return config_; }
  // Text of a file beside the weights (tokenizer.json …), empty when there is none.
  std::string side_file(const char* name) const;

  bool has(const std::string& name) const { return tensors_.count(name) != 0; }
  Result<StoredTensor> take(const std::string& name, const std::vector<std::uint64_t>& shape);
  // Error naming tensors that were not taken, except those that carry no weights of their own.
  Status check_all_taken() const;
  // The tensor's pages are not needed any more.
  void discard(const StoredTensor& tensor) const;

  // Visits every tensor of the files.
  template <typename Visit>
  void for_each(Visit visit) const {
    for (const auto& [name, entry] : tensors_) visit(entry.tensor);
  }
  std::uint64_t weight_bytes() const;
  std::uint64_t parameters() const;

 private:
  Checkpoint() = default;
  void add(const StoredTensor& tensor, const std::string& name, const MmapFile& file);

  struct Entry {
    StoredTensor tensor;
    const MmapFile* file;
  };
  std::filesystem::path folder_;
  std::unique_ptr<GgufFile> gguf_;
  std::vector<std::unique_ptr<SafetensorsFile>> shards_;
  json::object config_;
  std::map<std::string, Entry> tensors_;
  std::set<std::string> taken_;
};

}  // namespace sluice::weights
