// Damaged and hostile safetensors files (field reports F029, F030): each is refused with a message.
#include "weights/safetensors.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

namespace sluice::weights {
namespace {

namespace fs = std::filesystem;

struct Folder {
  fs::path path = fs::temp_directory_path() / ("sluice_safetensors_test_" + std::to_string(::getpid()));
  Folder() { fs::create_directories(path); }
  ~Folder() { fs::remove_all(path); }
  Result<SafetensorsFile> open(const std::string& bytes) const {
    std::ofstream(path / "model.safetensors", std::ios::binary)
        .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return SafetensorsFile::open(path / "model.safetensors");
  }
};

std::string with_length(std::uint64_t length, const std::string& rest) {
  return std::string(reinterpret_cast<const char*>(&length), 8) + rest;
}
std::string with_header(const std::string& header, std::size_t data) {
  return with_length(header.size(), header + std::string(data, 'x'));
}

const char* kGood =
    R"({"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]}})";

TEST(Safetensors, ReadsAValidFileAndRefusesEveryTruncation) {
  const Folder folder;
  const std::string whole = with_header(kGood, 16);
  const auto file = folder.open(whole);
  ASSERT_TRUE(file) << file.error().message;
  ASSERT_EQ(file->tensors().size(), 1U);
  EXPECT_EQ(file->tensors()[0].shape, (std::vector<std::uint64_t>{2, 2}));
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(folder.open(whole.substr(0, size))) << size;
}

TEST(Safetensors, RefusesHostileHeaders) {
  const Folder folder;
  const std::string files[] = {
      with_length(~std::uint64_t{0}, "{}"),
      with_length(3, "{}"),
      with_length(200'000'000, "{}"),
      with_header("[]", 0),
      with_header(R"({"a":1})", 0),
      with_header(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0]}})", 4),
      with_header(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})", 4),
      with_header(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[-4,0]}})", 4),
      with_header(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":["0","4"]}})", 4),
      with_header(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", 4),
      with_header(R"({"a":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,4]}})", 4),
      with_header(R"({"a":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}})", 4),
      with_header(R"({"a":{"dtype":"Q9","shape":[1],"data_offsets":[0,4]}})", 4),
      "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12345\n",
  };
  for (const std::string& bytes : files) {
    const auto file = folder.open(bytes);
    ASSERT_FALSE(file) << bytes.substr(8, 80);
    EXPECT_NE(file.error().message.find("model.safetensors"), std::string::npos);
  }
  EXPECT_NE(folder.open(files[13]).error().message.find("Git LFS"), std::string::npos);
  EXPECT_NE(folder.open(files[12]).error().message.find("Q9"), std::string::npos);
}

TEST(Safetensors, ShardsOfAnIndexMustExist) {
  const Folder folder;
  const auto index = [&](const std::string& text) {
    std::ofstream(folder.path / "model.safetensors.index.json", std::ios::trunc) << text;
    return safetensors_files(folder.path);
  };
  EXPECT_NE(index(R"({"weight_map":{"a":"one.safetensors"}})").error().message.find("one.safetensors"),
            std::string::npos);
  std::ofstream(folder.path / "one.safetensors") << "x";
  EXPECT_EQ(index(R"({"weight_map":{"a":"one.safetensors","b":"one.safetensors"}})")->size(), 1U);
  EXPECT_FALSE(index(R"({"weight_map":{"a":"../../etc/passwd"}})"));
  EXPECT_FALSE(index(R"({"weight_map":{"a":7}})"));
  EXPECT_FALSE(index("{}"));
  EXPECT_FALSE(index(R"({"weight_map":{"a":")" + std::string(3000, 'n') + R"("}})"));
}

}  // namespace
}  // namespace sluice::weights
