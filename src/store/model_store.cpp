#include "store/model_store.h"

#include <unistd.h>

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <chrono>
#include <fstream>
#include <sstream>

#include "base/json.h"
#include "base/log.h"
#include "store/sha256.h"

namespace sluice::store {
namespace {

namespace fs = std::filesystem;
constexpr std::uintmax_t kTextBytesMax = 16 << 20;
constexpr const char* kManifestType = "application/vnd.docker.distribution.manifest.v2+json";

std::string read_text(const fs::path& path) {
  std::error_code error;
  if (const auto size = fs::file_size(path, error); error || size > kTextBytesMax) return {};
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  return std::move(text).str();
}

// Written beside and renamed, so a reader sees the old file or the whole new one.
Status write_atomically(const fs::path& root, const fs::path& path, const std::string& content) {
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  // Beside the store's folders, so that a crash leaves nothing that looks like a model or a blob.
  const fs::path partial = root / fmt::format("partial-{}", ::getpid());
  std::ofstream stream(partial, std::ios::binary);
  stream << content;
  stream.close();
  if (stream) fs::rename(partial, path, error);
  if (!stream || error) {
    fs::remove(partial, error);
    return fail(ErrorCode::kInternal, "cannot write {}: disk full or no permission?", path.string());
  }
  return {};
}

bool same_letters(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) == std::tolower(static_cast<unsigned char>(y));
  });
}

// The existing spelling of a folder entry; `name` itself when there is none.
fs::path spelled(const fs::path& folder, const std::string& name) {
  std::error_code error;
  if (fs::exists(folder / name, error)) return folder / name;
  for (const auto& entry : fs::directory_iterator(folder, error))
    if (same_letters(entry.path().filename().string(), name)) return entry.path();
  return folder / name;
}

struct Layer {
  std::string type, digest;  // 64 hex digits
  std::uint64_t bytes = 0;
};

Result<std::vector<Layer>> read_layers(const json::value& manifest) {
  std::vector<Layer> layers;
  const json::value* list = manifest.is_object() ? manifest.get_object().if_contains("layers") : nullptr;
  if (list == nullptr || !list->is_array()) return fail(ErrorCode::kInvalidArgument, "no layers");
  for (const json::value& item : list->get_array()) {
    Layer layer;
    if (!item.is_object()) return fail(ErrorCode::kInvalidArgument, "a layer is no object");
    const json::value* type = item.get_object().if_contains("mediaType");
    const json::value* digest = item.get_object().if_contains("digest");
    const json::value* size = item.get_object().if_contains("size");
    if (type && type->is_string()) layer.type = std::string(type->get_string());
    if (digest && digest->is_string()) layer.digest = std::string(digest->get_string());
    if (size && size->is_int64() && size->get_int64() >= 0)
      layer.bytes = static_cast<std::uint64_t>(size->get_int64());
    const bool is_hex = layer.digest.size() == 71 && layer.digest.starts_with("sha256:") &&
                        std::all_of(layer.digest.begin() + 7, layer.digest.end(),
                                    [](char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; });
    if (!is_hex)
      return fail(ErrorCode::kInvalidArgument, "layer digest \"{}\" is not sha256",
                  layer.digest.substr(0, 80));
    layer.digest.erase(0, 7);
    layers.push_back(std::move(layer));
  }
  return layers;
}

}  // namespace

fs::path ModelStore::manifest_path(const ModelName& name) const {
  fs::path path = spelled(root_ / "manifests", name.host);
  path = spelled(path, name.space);
  path = spelled(path, name.model);
  return spelled(path, name.tag);
}

Result<StoredModel> ModelStore::open(const ModelName& name) const {
  const fs::path path = manifest_path(name);
  std::error_code error;
  if (!fs::is_regular_file(path, error)) {
    return fail(ErrorCode::kNotFound, "model '{}' not found", name.display());
  }
  ModelName spelled_name = name;
  spelled_name.tag = path.filename().string();
  spelled_name.model = path.parent_path().filename().string();
  return read(spelled_name, path);
}

Result<StoredModel> ModelStore::read(const ModelName& name, const fs::path& path) const {
  const std::string text = read_text(path);
  const auto damaged = [&](const std::string& why) {
    return fail(ErrorCode::kInvalidArgument, "the manifest of '{}' ({}) is damaged: {}", name.display(),
                path.string(), why);
  };
  const auto manifest = json::parse(text);
  if (!manifest) return damaged(manifest.error().message);
  const auto layers = read_layers(*manifest);
  if (!layers) return damaged(layers.error().message);
  StoredModel model;
  model.name = name;
  model.digest = sha256_hex(text);
  for (const Layer& layer : *layers) {
    const fs::path blob = root_ / "blobs" / ("sha256-" + layer.digest);
    model.bytes += layer.bytes;
    const std::string kind = layer.type.substr(std::min(layer.type.rfind('.'), layer.type.size() - 1) + 1);
    if (kind == "model") model.weights = blob;
    if (kind == "template" || kind == "prompt") model.template_text = read_text(blob);
    if (kind == "system") model.system_text = read_text(blob);
    if (kind == "params") model.params_json = read_text(blob);
  }
  if (model.weights.empty()) return damaged("it names no GGUF model");
  std::error_code error;
  const auto changed = fs::last_write_time(path, error);
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(
      std::chrono::file_clock::to_sys(changed).time_since_epoch());
  model.modified = error ? 0 : seconds.count();
  return model;
}

std::vector<StoredModel> ModelStore::list() const {
  std::vector<StoredModel> models;
  const fs::path manifests = root_ / "manifests";
  std::error_code error;
  for (fs::recursive_directory_iterator at(manifests, error), end; !error && at != end; at.increment(error)) {
    if (at.depth() != 3 || !at->is_regular_file(error)) continue;
    const fs::path& path = at->path();
    ModelName name;
    name.tag = path.filename().string();
    name.model = path.parent_path().filename().string();
    name.space = path.parent_path().parent_path().filename().string();
    name.host = path.parent_path().parent_path().parent_path().filename().string();
    auto model = read(name, path);
    if (model)
      models.push_back(std::move(*model));
    else
      log::warning("{}", model.error().message);
  }
  std::ranges::sort(models, std::greater{}, &StoredModel::modified);
  return models;
}

Result<std::string> ModelStore::add_blob(const std::string& content) const {
  const std::string digest = sha256_hex(content);
  SLUICE_TRY_STATUS(write_atomically(root_, root_ / "blobs" / ("sha256-" + digest), content));
  return digest;
}

Result<std::string> ModelStore::copy_blob(const fs::path& file, const ImportOptions& options) const {
  std::error_code error;
  const std::uint64_t total = fs::file_size(file, error);
  std::ifstream from(file, std::ios::binary);
  if (error || !from) return fail(ErrorCode::kNotFound, "{}: no such file", file.string());
  fs::create_directories(root_ / "blobs", error);
  const fs::path partial = root_ / "blobs" / fmt::format("import-{}", ::getpid());
  std::ofstream to(partial, std::ios::binary);
  Sha256 hash;
  std::vector<char> buffer(4 << 20);
  std::uint64_t done = 0;
  while (done < total && to) {
    from.read(buffer.data(), static_cast<std::streamsize>(buffer.size()));
    const auto count = static_cast<std::size_t>(from.gcount());
    if (count == 0) break;
    hash.update({buffer.data(), count});
    to.write(buffer.data(), static_cast<std::streamsize>(count));
    done += count;
    if (options.progress) options.progress(done, total);
  }
  to.close();
  const std::string digest = hash.hex();
  const bool is_expected = options.sha256.empty() || same_letters(options.sha256, digest);
  if (to && done == total && is_expected) fs::rename(partial, root_ / "blobs" / ("sha256-" + digest), error);
  if (to && done == total && is_expected && !error) return digest;
  std::error_code ignored;
  fs::remove(partial, ignored);
  if (to && done != total)
    return fail(ErrorCode::kInternal, "{}: only {} of {} bytes could be read", file.string(), done, total);
  if (to && !is_expected) {
    return fail(ErrorCode::kInvalidArgument, "{}: SHA-256 is {}, expected {}", file.string(), digest,
                options.sha256);
  }
  return fail(ErrorCode::kInternal, "cannot write into {}: disk full or no permission?", root_.string());
}

Status ModelStore::import_gguf(const fs::path& file, const ModelName& name,
                               const ImportOptions& options) const {
  const auto layer = [](const char* type, const std::string& digest, std::uint64_t bytes) {
    return json::object{{"mediaType", type}, {"digest", "sha256:" + digest}, {"size", bytes}};
  };
  SLUICE_TRY(const std::string weights, copy_blob(file, options));
  std::error_code error;
  json::array layers{layer("application/vnd.ollama.image.model", weights, fs::file_size(file, error))};
  if (!options.params_json.empty()) {
    SLUICE_TRY(const std::string params, add_blob(options.params_json));
    layers.push_back(layer("application/vnd.ollama.image.params", params, options.params_json.size()));
  }
  const std::string config = R"({"model_format":"gguf","architecture":"amd64","os":"linux"})";
  SLUICE_TRY(const std::string config_digest, add_blob(config));
  const json::object manifest = {
      {"schemaVersion", 2},
      {"mediaType", kManifestType},
      {"config", layer("application/vnd.docker.container.image.v1+json", config_digest, config.size())},
      {"layers", std::move(layers)}};
  return write_atomically(root_, manifest_path(name), boost::json::serialize(manifest));
}

}  // namespace sluice::store
