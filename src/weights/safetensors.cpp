#include "weights/safetensors.h"

#include <cstring>
#include <fstream>
#include <set>
#include <sstream>

#include "base/json.h"

namespace sluice::weights {
namespace {

constexpr std::uint64_t kHeaderBytesMax = 100'000'000;

Result<backend::DType> to_dtype(std::string_view type, std::string_view tensor) {
  if (type == "F32") return backend::DType::kF32;
  if (type == "F16") return backend::DType::kF16;
  if (type == "BF16") return backend::DType::kBF16;
  return fail(ErrorCode::kUnimplemented,
              "tensor {} is stored as {}, which is not supported; supported are F32 F16 BF16", tensor, type);
}

Result<std::uint64_t> to_size(const json::value& value, std::string_view tensor, const char* what) {
  if (value.is_int64() && value.get_int64() >= 0) return static_cast<std::uint64_t>(value.get_int64());
  if (value.is_uint64()) return value.get_uint64();
  return fail(ErrorCode::kInvalidArgument, "tensor {}: {} must be whole numbers >= 0", tensor, what);
}

Result<std::vector<std::uint64_t>> to_sizes(const json::object& entry, const char* key,
                                            std::string_view tensor) {
  const json::value* list = entry.if_contains(key);
  if (list == nullptr || !list->is_array())
    return fail(ErrorCode::kInvalidArgument, "tensor {}: no {}", tensor, key);
  std::vector<std::uint64_t> sizes;
  for (const json::value& item : list->get_array()) {
    SLUICE_TRY(const std::uint64_t size, to_size(item, tensor, key));
    sizes.push_back(size);
  }
  return sizes;
}

Result<StoredTensor> to_tensor(std::string_view name, const json::value& value,
                               std::span<const std::byte> data) {
  if (!value.is_object()) return fail(ErrorCode::kInvalidArgument, "tensor {}: not an object", name);
  const json::object& entry = value.get_object();
  StoredTensor tensor;
  tensor.name = name;
  const json::value* type = entry.if_contains("dtype");
  if (type == nullptr || !type->is_string())
    return fail(ErrorCode::kInvalidArgument, "tensor {}: no dtype", name);
  SLUICE_TRY(tensor.type, to_dtype(type->get_string(), name));
  SLUICE_TRY(tensor.shape, to_sizes(entry, "shape", name));
  SLUICE_TRY(const auto offsets, to_sizes(entry, "data_offsets", name));
  if (offsets.size() != 2 || offsets[0] > offsets[1] || offsets[1] > data.size()) {
    return fail(ErrorCode::kInvalidArgument,
                "tensor {}: its data ends beyond the file's {} bytes: cut short or damaged", name,
                data.size());
  }
  std::uint64_t bytes = backend::traits(tensor.type).block_bytes;
  for (const std::uint64_t size : tensor.shape) {
    if (size == 0 || __builtin_mul_overflow(bytes, size, &bytes)) {
      return fail(ErrorCode::kInvalidArgument, "tensor {}: shape {} is empty or too large", name,
                  shape_text(tensor.shape));
    }
  }
  if (bytes != offsets[1] - offsets[0]) {
    return fail(ErrorCode::kInvalidArgument, "tensor {}: shape {} needs {} bytes, the header gives it {}",
                name, shape_text(tensor.shape), bytes, offsets[1] - offsets[0]);
  }
  tensor.bytes = data.subspan(offsets[0], bytes);
  return tensor;
}

}  // namespace

Result<SafetensorsFile> SafetensorsFile::open(const std::filesystem::path& path) {
  SLUICE_TRY(MmapFile file, MmapFile::open(path));
  SafetensorsFile opened(std::move(file));
  if (auto parsed = opened.parse(); !parsed) {
    return fail(parsed.error().code, "{}: {}", path.string(), parsed.error().message);
  }
  return opened;
}

Status SafetensorsFile::parse() {
  const std::span<const std::byte> bytes = file_.bytes();
  if (bytes.size() < 8)
    return fail(ErrorCode::kInvalidArgument, "not a safetensors file (a Git LFS pointer?)");
  if (std::memcmp(bytes.data(), "version ", 8) == 0) {
    return fail(ErrorCode::kInvalidArgument,
                "a Git LFS pointer, not the weights: fetch them with `git lfs pull`");
  }
  std::uint64_t header_bytes = 0;
  std::memcpy(&header_bytes, bytes.data(), 8);
  if (header_bytes > kHeaderBytesMax || header_bytes > bytes.size() - 8) {
    return fail(ErrorCode::kInvalidArgument, "header claims {} bytes, the file has {} (limit {})",
                header_bytes, bytes.size() - 8, kHeaderBytesMax);
  }
  SLUICE_TRY(const json::value header, json::parse({reinterpret_cast<const char*>(bytes.data()) + 8,
                                                    static_cast<std::size_t>(header_bytes)}));
  if (!header.is_object()) return fail(ErrorCode::kInvalidArgument, "header is not a JSON object");
  for (const auto& [name, value] : header.get_object()) {
    if (name == "__metadata__") continue;
    SLUICE_TRY(StoredTensor tensor, to_tensor(name, value, bytes.subspan(8 + header_bytes)));
    tensors_.push_back(std::move(tensor));
  }
  return {};
}

Result<std::vector<std::filesystem::path>> safetensors_files(const std::filesystem::path& folder) {
  constexpr std::uintmax_t kIndexBytesMax = 64 << 20;
  const auto index = folder / "model.safetensors.index.json";
  std::error_code error;
  const auto index_bytes = std::filesystem::file_size(index, error);
  if (error) return std::vector{folder / "model.safetensors"};
  if (index_bytes > kIndexBytesMax) {
    return fail(ErrorCode::kInvalidArgument, "{}: {} bytes, limit {}", index.string(), index_bytes,
                kIndexBytesMax);
  }
  std::ifstream stream(index, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  SLUICE_TRY(const json::value parsed, json::parse(text.str()));
  const json::value* map = parsed.is_object() ? parsed.get_object().if_contains("weight_map") : nullptr;
  if (map == nullptr || !map->is_object())
    return fail(ErrorCode::kInvalidArgument, "{}: no weight_map", index.string());
  std::set<std::string> names;
  for (const auto& [tensor, file] : map->get_object()) {
    const std::string name = file.is_string() ? std::string(file.get_string()) : "";
    if (name.empty() || name.find('/') != std::string::npos) {
      return fail(ErrorCode::kInvalidArgument, "{}: {} has no valid file name", index.string(),
                  std::string(tensor));
    }
    names.insert(name);
  }
  std::vector<std::filesystem::path> files;
  for (const std::string& name : names) {
    if (!std::filesystem::is_regular_file(folder / name, error)) {
      return fail(ErrorCode::kNotFound, "{}: shard {} is missing", folder.string(), name);
    }
    files.push_back(folder / name);
  }
  return files;
}

}  // namespace sluice::weights
