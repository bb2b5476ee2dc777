// Damaged and hostile GGUF files (field reports F028, F030): each is refused with a message, at once.
#include "weights/gguf.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>

namespace sluice::weights {
namespace {

// Writes GGUF fields; the defaults make a valid file of one F32 tensor [2, 4].
struct Builder {
  std::string bytes = "GGUF";
  template <typename T>
  Builder& put(T value) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  Builder& text(const std::string& value) {
    put<std::uint64_t>(value.size());
    bytes += value;
    return *this;
  }
  Builder& header(std::uint64_t tensors, std::uint64_t keys) {
    return put<std::uint32_t>(3).put(tensors).put(keys);
  }
  Builder& tensor(const std::string& name, std::vector<std::uint64_t> dims, std::uint32_t type,
                  std::uint64_t offset) {
    text(name).put<std::uint32_t>(static_cast<std::uint32_t>(dims.size()));
    for (const std::uint64_t dim : dims) put(dim);
    return put(type).put(offset);
  }
  Builder& data(std::size_t size) {
    bytes.resize((bytes.size() + 31) / 32 * 32);
    bytes.append(size, '\1');
    return *this;
  }
};

Result<GgufFile> open(const std::string& bytes) {
  const auto path = std::filesystem::temp_directory_path() / ("sluice_gguf_test_" + std::to_string(getpid()));
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  auto file = GgufFile::open(path);
  std::filesystem::remove(path);
  return file;
}

TEST(Gguf, ReadsAValidFile) {
  Builder b;
  b.header(1, 2).text("general.name").put<std::uint32_t>(8).text("tiny");
  b.text("list")
      .put<std::uint32_t>(9)
      .put<std::uint32_t>(5)
      .put<std::uint64_t>(2)
      .put<std::int32_t>(-3)
      .put<std::int32_t>(7);
  b.tensor("a.weight", {4, 2}, 0, 0).data(32);
  const auto file = open(b.bytes);
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->text("general.name"), "tiny");
  EXPECT_EQ(*file->array<std::vector<std::int64_t>>("list"), (std::vector<std::int64_t>{-3, 7}));
  EXPECT_EQ(file->tensors()[0].shape, (std::vector<std::uint64_t>{2, 4}));
}

TEST(Gguf, RefusesHostileHeaders) {
  constexpr std::uint64_t kHuge = std::uint64_t{1} << 63;
  std::vector<std::string> files;
  const auto one = [&](std::vector<std::uint64_t> dims, std::uint64_t offset = 0, std::uint32_t type = 0) {
    files.push_back(Builder().header(1, 0).tensor("a", std::move(dims), type, offset).data(32).bytes);
  };
  one({1, 0});
  one({(std::uint64_t{1} << 42) + 1, std::uint64_t{1} << 22});
  one({1, 1, 1, 1, 1});
  one({4, 2}, 1);
  one({4, 2}, kHuge);
  one({4, 2}, 32);
  one({4, 2}, 0, 99);
  one({33}, 0, 8);
  files.push_back(Builder().header(kHuge, 0).bytes);
  files.push_back(Builder().header(0, kHuge).bytes);
  files.push_back(Builder().header(0, 1).text("").put<std::uint32_t>(4).put<std::uint32_t>(1).bytes);
  files.push_back(Builder().header(0, 1).put(~std::uint64_t{0}).bytes);
  files.push_back(Builder().header(0, 1).text("k").put<std::uint32_t>(8).put(~std::uint64_t{0}).bytes);
  files.push_back(Builder()
                      .header(0, 1)
                      .text("k")
                      .put<std::uint32_t>(9)
                      .put<std::uint32_t>(4)
                      .put(std::uint64_t{1} << 61)
                      .bytes);
  for (const std::uint32_t alignment : {0U, 3U}) {
    Builder b;
    b.header(1, 1).text("general.alignment").put<std::uint32_t>(4).put(alignment);
    files.push_back(b.tensor("a", {4, 2}, 0, 0).data(64).bytes);
  }
  files.push_back(Builder().header(2, 0).tensor("a", {4}, 0, 0).tensor("a", {4}, 0, 0).data(32).bytes);
  files.push_back("GGUF");
  files.push_back("version https://git-lfs.github.com/spec/v1\n");
  files.push_back("");
  for (std::size_t i = 0; i < files.size(); ++i) {
    const auto file = open(files[i]);
    ASSERT_FALSE(file) << "seed " << i;
    EXPECT_FALSE(file.error().message.empty());
  }
}

TEST(Gguf, RefusesEveryTruncation) {
  const std::string whole = Builder().header(1, 0).tensor("a.weight", {4, 2}, 0, 0).data(32).bytes;
  for (std::size_t size = 0; size < whole.size(); ++size) EXPECT_FALSE(open(whole.substr(0, size))) << size;
}

}  // namespace
}  // namespace sluice::weights
