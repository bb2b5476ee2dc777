// Bounds-checked reading of little-endian fields from an untrusted byte range.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/result.h"

namespace sluice::weights {

class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  std::size_t position() const { return position_; }
  std::size_t remaining() const { return bytes_.size() - position_; }

  template <typename T>
  Result<T> read(const char* what) {
    static_assert(std::is_trivially_copyable_v<T>);
    if (remaining() < sizeof(T)) return fail(ErrorCode::kInvalidArgument, "file ends inside {}", what);
    T value;
    std::memcpy(&value, bytes_.data() + position_, sizeof value);
    position_ += sizeof value;
    return value;
  }

  // A length of 8 bytes, then that many bytes.
  Result<std::string_view> read_string(const char* what) {
    SLUICE_TRY(const std::uint64_t size, read<std::uint64_t>(what));
    if (size > remaining()) {
      return fail(ErrorCode::kInvalidArgument, "{} claims {} bytes, the file has {} left", what, size,
                  remaining());
    }
    const std::string_view text(reinterpret_cast<const char*>(bytes_.data()) + position_, size);
    position_ += size;
    return text;
  }

  Status skip(std::uint64_t size, const char* what) {
    if (size > remaining()) return fail(ErrorCode::kInvalidArgument, "file ends inside {}", what);
    position_ += size;
    return {};
  }

 private:
  std::span<const std::byte> bytes_;
  std::size_t position_ = 0;
};

}  // namespace sluice::weights
