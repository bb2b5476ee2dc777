#include "base/mmap_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <system_error>

namespace sluice {
namespace {

std::string reason(int number) { return std::generic_category().message(number); }

}  // namespace

Result<MmapFile> MmapFile::open(const std::filesystem::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    const int number = errno;
    return fail(number == ENOENT ? ErrorCode::kNotFound : ErrorCode::kInvalidArgument, "{}: {}",
                path.string(), reason(number));
  }
  struct stat info {};
  if (::fstat(descriptor, &info) != 0 || !S_ISREG(info.st_mode) || info.st_size == 0) {
    ::close(descriptor);
    return fail(ErrorCode::kInvalidArgument, "{}: empty or not a regular file", path.string());
  }
  const auto size = static_cast<std::size_t>(info.st_size);
  void* data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  const int number = errno;
  ::close(descriptor);
  if (data == MAP_FAILED)
    return fail(ErrorCode::kInternal, "{}: cannot map: {}", path.string(), reason(number));
  return MmapFile(static_cast<const std::byte*>(data), size);
}

MmapFile::MmapFile(MmapFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MmapFile& MmapFile::operator=(MmapFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

MmapFile::~MmapFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

void MmapFile::discard(std::span<const std::byte> range) const {
  constexpr std::uintptr_t kPage = 4096;
  const auto begin = (reinterpret_cast<std::uintptr_t>(range.data()) + kPage - 1) / kPage * kPage;
  const auto end = reinterpret_cast<std::uintptr_t>(range.data() + range.size()) / kPage * kPage;
  if (begin < end) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

}  // namespace sluice
