// Models on disk in Ollama's layout (ollama.md 9.1, 9.2): manifests/HOST/NAMESPACE/MODEL/TAG and
// blobs/sha256-HEX.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/model_name.h"

namespace sluice::store {

struct StoredModel {
  ModelName name;
  std::string digest;                                   // of the manifest, 64 hex digits
  std::filesystem::path weights;                        // the GGUF blob
  std::string template_text, system_text, params_json;  // empty when the model has none
  std::uint64_t bytes = 0;                              // of all layers
  std::int64_t modified = 0;                            // Unix seconds
};

struct ImportOptions {
  std::string sha256;       // the file must have this digest; empty: any
  std::string params_json;  // Ollama options that requests start from; empty: none
  std::function<void(std::uint64_t done, std::uint64_t total)> progress;  // bytes
};

class ModelStore {
 public:
  explicit ModelStore(std::filesystem::path root) : root_(std::move(root)) {}

  // Damaged manifests are skipped with a warning in the log.
  std::vector<StoredModel> list() const;
  // Names are compared without regard to case. Errors: kNotFound, kInvalidArgument (damaged manifest).
  Result<StoredModel> open(const ModelName& name) const;

  // Copies `file` into the store under `name`; the manifest comes last, so a broken import leaves no model.
  Status import_gguf(const std::filesystem::path& file, const ModelName& name,
                     const ImportOptions& options = {}) const;

 private:
  std::filesystem::path manifest_path(const ModelName& name) const;
  Result<StoredModel> read(const ModelName& name, const std::filesystem::path& manifest) const;
  Result<std::string> copy_blob(const std::filesystem::path& file, const ImportOptions& options) const;
  Result<std::string> add_blob(const std::string& content) const;  // both return the digest

  std::filesystem::path root_;
};

}  // namespace sluice::store
