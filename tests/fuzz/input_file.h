// A fuzz input as a file of its own, in memory.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

namespace sluice {

class InputFile {
 public:
  InputFile(const std::uint8_t* data, std::size_t size) : descriptor_(::memfd_create("input", 0)) {
    is_complete_ = ::write(descriptor_, data, size) == static_cast<ssize_t>(size);
  }
  ~InputFile() { ::close(descriptor_); }
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  bool is_complete() const { return is_complete_; }
  std::filesystem::path path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
  bool is_complete_ = false;
};

}  // namespace sluice
