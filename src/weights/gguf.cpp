#include "weights/gguf.h"

#include <algorithm>
#include <set>

#include "weights/byte_reader.h"

namespace sluice::weights {
namespace {

constexpr std::uint64_t kTensorsMax = 1 << 16;
constexpr std::uint64_t kKeysMax = 1 << 16;
constexpr std::uint64_t kDefaultAlignment = 32;

enum GgufType : std::uint32_t {
  kU8,
  kI8,
  kU16,
  kI16,
  kU32,
  kI32,
  kF32,
  kBool,
  kString,
  kArray,
  kU64,
  kI64,
  kF64
};

template <typename T>
Result<GgufValue> read_integer(ByteReader& reader) {
  SLUICE_TRY(const T value, reader.read<T>("a metadata value"));
  return static_cast<std::int64_t>(value);
}

Result<GgufValue> read_scalar(ByteReader& reader, std::uint32_t type) {
  switch (type) {
    case kU8:
      return read_integer<std::uint8_t>(reader);
    case kI8:
      return read_integer<std::int8_t>(reader);
    case kU16:
      return read_integer<std::uint16_t>(reader);
    case kI16:
      return read_integer<std::int16_t>(reader);
    case kU32:
      return read_integer<std::uint32_t>(reader);
    case kI32:
      return read_integer<std::int32_t>(reader);
    case kU64:
      return read_integer<std::uint64_t>(reader);
    case kI64:
      return read_integer<std::int64_t>(reader);
    case kF32: {
      SLUICE_TRY(const float value, reader.read<float>("a metadata value"));
      return static_cast<double>(value);
    }
    case kF64: {
      SLUICE_TRY(const double value, reader.read<double>("a metadata value"));
      return value;
    }
    case kBool: {
      SLUICE_TRY(const std::uint8_t value, reader.read<std::uint8_t>("a metadata value"));
      return value != 0;
    }
    case kString: {
      SLUICE_TRY(const std::string_view value, reader.read_string("a metadata string"));
      return std::string(value);
    }
    default:
      return fail(ErrorCode::kInvalidArgument, "metadata type {} is unknown", type);
  }
}

// Smallest number of bytes an element of the type takes in the file.
std::uint64_t element_bytes(std::uint32_t type) {
  constexpr std::uint64_t kBytes[] = {1, 1, 2, 2, 4, 4, 4, 1, 8, 12, 8, 8, 8};
  return type < std::size(kBytes) ? kBytes[type] : 1;
}

template <typename Element>
Result<GgufValue> read_elements(ByteReader& reader, std::uint32_t type, std::uint64_t count) {
  std::vector<Element> values;
  values.reserve(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    SLUICE_TRY(GgufValue value, read_scalar(reader, type));
    if (auto* flag = std::get_if<bool>(&value)) value = static_cast<std::int64_t>(*flag);
    values.push_back(std::move(std::get<Element>(value)));
  }
  return GgufValue(std::move(values));
}

Result<GgufValue> read_array(ByteReader& reader) {
  SLUICE_TRY(const std::uint32_t type, reader.read<std::uint32_t>("an array type"));
  SLUICE_TRY(const std::uint64_t count, reader.read<std::uint64_t>("an array length"));
  if (type >= kArray && type < kU64)
    return fail(ErrorCode::kInvalidArgument, "arrays of arrays are not supported");
  if (type > kF64) return fail(ErrorCode::kInvalidArgument, "array type {} is unknown", type);
  if (count > reader.remaining() / element_bytes(type)) {
    return fail(ErrorCode::kInvalidArgument, "array claims {} elements, the file has {} bytes left", count,
                reader.remaining());
  }
  if (type == kString) return read_elements<std::string>(reader, type, count);
  if (type == kF32 || type == kF64) return read_elements<double>(reader, type, count);
  return read_elements<std::int64_t>(reader, type, count);
}

Result<backend::DType> to_dtype(std::uint32_t type, std::string_view tensor) {
  using backend::DType;
  switch (type) {
    case 0:
      return DType::kF32;
    case 1:
      return DType::kF16;
    case 2:
      return DType::kQ4_0;
    case 3:
      return DType::kQ4_1;
    case 8:
      return DType::kQ8_0;
    case 12:
      return DType::kQ4_K;
    case 14:
      return DType::kQ6_K;
    case 30:
      return DType::kBF16;
    default:
      break;
  }
  static constexpr const char* kNames[] = {
      "",       "",      "",      "",       "",   "",     "Q5_0",    "Q5_1",   "",        "Q8_1",
      "Q2_K",   "Q3_K",  "",      "Q5_K",   "",   "Q8_K", "IQ2_XXS", "IQ2_XS", "IQ3_XXS", "IQ1_S",
      "IQ4_NL", "IQ3_S", "IQ2_S", "IQ4_XS", "I8", "I16",  "I32",     "I64",    "F64",     "IQ1_M"};
  const std::string name =
      type < std::size(kNames) && *kNames[type] != 0 ? kNames[type] : fmt::format("type {}", type);
  return fail(ErrorCode::kUnimplemented,
              "tensor {} is stored as {}, which is not supported; supported are F32 F16 BF16 Q8_0 Q4_0 Q4_1 "
              "Q4_K Q6_K",
              tensor, name);
}

struct TensorHeader {
  StoredTensor tensor;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

Result<TensorHeader> read_header(ByteReader& reader) {
  TensorHeader header;
  SLUICE_TRY(const std::string_view name, reader.read_string("a tensor name"));
  if (name.empty()) return fail(ErrorCode::kInvalidArgument, "a tensor has an empty name");
  header.tensor.name = name;
  SLUICE_TRY(const std::uint32_t dimensions, reader.read<std::uint32_t>("a tensor's dimensions"));
  if (dimensions < 1 || dimensions > 4) {
    return fail(ErrorCode::kInvalidArgument, "tensor {}: {} dimensions, 1 to 4 are possible", name,
                dimensions);
  }
  std::uint64_t elements = 1;
  for (std::uint32_t i = 0; i < dimensions; ++i) {
    SLUICE_TRY(const std::uint64_t size, reader.read<std::uint64_t>("a tensor's shape"));
    if (size == 0 || __builtin_mul_overflow(elements, size, &elements)) {
      return fail(ErrorCode::kInvalidArgument, "tensor {}: dimension {} is {}: zero or too large", name, i,
                  size);
    }
    header.tensor.shape.insert(header.tensor.shape.begin(), size);
  }
  SLUICE_TRY(const std::uint32_t type, reader.read<std::uint32_t>("a tensor's type"));
  SLUICE_TRY(header.tensor.type, to_dtype(type, name));
  SLUICE_TRY(header.offset, reader.read<std::uint64_t>("a tensor's offset"));
  const backend::DTypeTraits& layout = backend::traits(header.tensor.type);
  if (header.tensor.shape.back() % layout.block_elements != 0) {
    return fail(ErrorCode::kInvalidArgument, "tensor {}: rows of {} values do not fill {} blocks of {}", name,
                header.tensor.shape.back(), layout.name, layout.block_elements);
  }
  if (__builtin_mul_overflow(elements / layout.block_elements, layout.block_bytes, &header.bytes)) {
    return fail(ErrorCode::kInvalidArgument, "tensor {}: size overflows", name);
  }
  return header;
}

Error named(const std::filesystem::path& path, Error error) {
  error.message = fmt::format("{}: {}", path.string(), error.message);
  return error;
}

}  // namespace

std::string shape_text(std::span<const std::uint64_t> shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

Result<GgufFile> GgufFile::open(const std::filesystem::path& path) {
  SLUICE_TRY(MmapFile file, MmapFile::open(path));
  GgufFile gguf(std::move(file));
  if (auto parsed = gguf.parse(); !parsed) return tl::unexpected(named(path, parsed.error()));
  return gguf;
}

Status GgufFile::parse() {
  ByteReader reader(file_.bytes());
  SLUICE_TRY(const std::uint32_t magic, reader.read<std::uint32_t>("the magic"));
  if (magic != 0x46554747)
    return fail(ErrorCode::kInvalidArgument, "not a GGUF file (a Git LFS pointer or a partial download?)");
  SLUICE_TRY(const std::uint32_t version, reader.read<std::uint32_t>("the version"));
  if (version != 2 && version != 3)
    return fail(ErrorCode::kInvalidArgument, "GGUF version {}, 2 and 3 are supported", version);
  SLUICE_TRY(const std::uint64_t tensor_count, reader.read<std::uint64_t>("the tensor count"));
  SLUICE_TRY(const std::uint64_t key_count, reader.read<std::uint64_t>("the key count"));
  if (tensor_count > kTensorsMax || key_count > kKeysMax) {
    return fail(ErrorCode::kInvalidArgument, "{} tensors and {} keys, limits are {} and {}", tensor_count,
                key_count, kTensorsMax, kKeysMax);
  }
  for (std::uint64_t i = 0; i < key_count; ++i) {
    SLUICE_TRY(const std::string_view key, reader.read_string("a metadata key"));
    if (key.empty()) return fail(ErrorCode::kInvalidArgument, "metadata key {} is empty", i);
    SLUICE_TRY(const std::uint32_t type, reader.read<std::uint32_t>("a metadata type"));
    auto value = type == kArray ? read_array(reader) : read_scalar(reader, type);
    if (!value) return fail(value.error().code, "metadata {}: {}", key, value.error().message);
    if (!metadata_.emplace(key, std::move(*value)).second) {
      return fail(ErrorCode::kInvalidArgument, "metadata {} appears twice", key);
    }
  }
  std::vector<TensorHeader> headers;
  std::set<std::string> names;
  for (std::uint64_t i = 0; i < tensor_count; ++i) {
    SLUICE_TRY(TensorHeader header, read_header(reader));
    if (!names.insert(header.tensor.name).second) {
      return fail(ErrorCode::kInvalidArgument, "tensor {} appears twice", header.tensor.name);
    }
    headers.push_back(std::move(header));
  }
  const std::int64_t alignment = integer("general.alignment").value_or(kDefaultAlignment);
  if (alignment < 1 || alignment > 4096 || (alignment & (alignment - 1)) != 0) {
    return fail(ErrorCode::kInvalidArgument, "general.alignment is {}, a power of two up to 4096 is needed",
                alignment);
  }
  const auto align = static_cast<std::uint64_t>(alignment);
  const std::uint64_t start = (reader.position() + align - 1) / align * align;
  for (TensorHeader& header : headers) {
    const std::uint64_t available = file_.size() > start ? file_.size() - start : 0;
    if (header.offset % align != 0 || header.offset > available || header.bytes > available - header.offset) {
      return fail(
          ErrorCode::kInvalidArgument,
          "tensor {} needs {} bytes at offset {}, the file holds {} of data: it is cut short or damaged",
          header.tensor.name, header.bytes, header.offset, available);
    }
    header.tensor.bytes = file_.bytes().subspan(start + header.offset, header.bytes);
    tensors_.push_back(std::move(header.tensor));
  }
  return {};
}

std::optional<std::int64_t> GgufFile::integer(const std::string& key) const {
  const auto found = metadata_.find(key);
  if (found == metadata_.end()) return std::nullopt;
  if (const auto* value = std::get_if<std::int64_t>(&found->second)) return *value;
  if (const auto* flag = std::get_if<bool>(&found->second)) return *flag ? 1 : 0;
  return std::nullopt;
}

std::optional<double> GgufFile::number(const std::string& key) const {
  const auto found = metadata_.find(key);
  if (found == metadata_.end()) return std::nullopt;
  if (const auto* value = std::get_if<double>(&found->second)) return *value;
  if (const auto* value = std::get_if<std::int64_t>(&found->second)) return static_cast<double>(*value);
  return std::nullopt;
}

std::optional<std::string> GgufFile::text(const std::string& key) const {
  const auto found = metadata_.find(key);
  if (found == metadata_.end()) return std::nullopt;
  if (const auto* value = std::get_if<std::string>(&found->second)) return *value;
  return std::nullopt;
}

}  // namespace sluice::weights
