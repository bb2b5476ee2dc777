#include "store/model_store.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "store/sha256.h"

namespace sluice::store {
namespace {

namespace fs = std::filesystem;

TEST(ModelName, ParsesAndShows) {
  EXPECT_EQ(parse_name("qwen3")->display(), "qwen3:latest");
  EXPECT_EQ(parse_name("qwen3:0.6b")->display(), "qwen3:0.6b");
  EXPECT_EQ(parse_name("me/qwen3:x")->display(), "me/qwen3:x");
  EXPECT_EQ(parse_name("https://hub.example:5000/me/qwen3")->display(), "hub.example:5000/me/qwen3:latest");
  for (const char* bad : {"", ":x", "../x", "a/../b", "a:b:c", "a b", "/etc/passwd", "x@sha256:1"})
    EXPECT_FALSE(parse_name(bad)) << bad;
  EXPECT_FALSE(parse_name(std::string(100, 'a')));
}

struct Folder {
  fs::path path = fs::temp_directory_path() / ("sluice_store_test_" + std::to_string(::getpid()));
  Folder() { fs::create_directories(path); }
  ~Folder() { fs::remove_all(path); }
};

TEST(ModelStore, ImportsListsAndOpens) {
  const Folder folder;
  const fs::path file = folder.path / "x.gguf";
  std::ofstream(file) << "weights";
  const ModelStore store(folder.path / "store");
  EXPECT_TRUE(store.list().empty());
  const auto name = *parse_name("Tiny:1b");
  EXPECT_FALSE(store.import_gguf(file, name, {std::string(64, '0'), {}, {}})) << "wrong digest";
  EXPECT_TRUE(store.list().empty()) << "a refused import leaves nothing";
  ASSERT_TRUE(store.import_gguf(file, name, {sha256_hex("weights"), R"({"top_k":3})", {}}));
  ASSERT_EQ(store.list().size(), 1U);
  const auto opened = store.open(*parse_name("tiny:1B"));
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_EQ(opened->name.display(), "Tiny:1b");
  EXPECT_EQ(opened->bytes, 7U + 11U) << "weights and params";
  EXPECT_EQ(opened->params_json, R"({"top_k":3})");
  EXPECT_EQ(fs::file_size(opened->weights), 7U);
  EXPECT_EQ(store.open(*parse_name("other")).error().code, ErrorCode::kNotFound);
}

TEST(ModelStore, DamagedManifestsAreClearErrors) {
  const Folder folder;
  const ModelStore store(folder.path);
  const fs::path manifest = folder.path / "manifests/registry.ollama.ai/library/bad/latest";
  fs::create_directories(manifest.parent_path());
  for (const char* text : {"", "{", "[]", "{\"layers\":[1]}",
                           "{\"layers\":[{\"digest\":\"sha256:../../x\"}]}", "{\"layers\":[]}"}) {
    std::ofstream(manifest, std::ios::trunc) << text;
    const auto opened = store.open(*parse_name("bad"));
    ASSERT_FALSE(opened) << text;
    EXPECT_NE(opened.error().message.find("damaged"), std::string::npos);
    EXPECT_TRUE(store.list().empty());
  }
}

}  // namespace
}  // namespace sluice::store
