// Read-only memory map of a whole file. Sizes must be checked against size() before use: a later truncation
// by another process is the one failure that a map cannot report.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

#include "base/result.h"

namespace sluice {

class MmapFile {
 public:
  // Errors: kNotFound, kInvalidArgument (not a regular file, empty), kInternal.
  static Result<MmapFile> open(const std::filesystem::path& path);
  MmapFile(MmapFile&& other) noexcept;
  MmapFile& operator=(MmapFile&& other) noexcept;
  MmapFile(const MmapFile&) = delete;
  MmapFile& operator=(const MmapFile&) = delete;
  ~MmapFile();

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  std::size_t size() const { return size_; }
  // Drops the pages of a range that was copied, so loading holds one copy of the weights, not two.
  void discard(std::span<const std::byte> range) const;

 private:
  MmapFile(const std::byte* data, std::size_t size) : data_(data), size_(size) {}
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace sluice
