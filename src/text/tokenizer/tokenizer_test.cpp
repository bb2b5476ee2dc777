// Against PyPI `tokenizers` (tests/golden/tokenizer), and the field reports F002 to F005.
#include "text/tokenizer/tokenizer.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <chrono>
#include <fstream>
#include <map>
#include <sstream>

#include "base/json.h"
#include "text/tokenizer/tokenizer_file.h"
#include "text/tokenizer/unicode.h"

namespace sluice::text {
namespace {

const std::string kRoot = SLUICE_SOURCE_DIR;

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

const Tokenizer& qwen3() {
  static const auto kTokenizer = [] {
    auto data = parse_tokenizer_json(read_file(kRoot + "/build/assets/qwen3/tokenizer.json"));
    if (!data) throw std::runtime_error(data.error().message + ": run tools/fetch_assets.sh");
    return *Tokenizer::create(std::move(*data));
  }();
  return *kTokenizer;
}

TEST(Tokenizer, AgreesWithTheReferenceOnRandomStrings) {
  std::istringstream lines(read_file(kRoot + "/tests/golden/tokenizer/qwen3.jsonl"));
  std::size_t count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    const json::value item = *json::parse(line);
    const std::string text(item.get_array()[0].get_string());
    std::vector<TokenId> expected;
    for (const json::value& id : item.get_array()[1].get_array())
      expected.push_back(static_cast<TokenId>(id.get_int64()));
    const auto ids = qwen3().encode(text, false);
    ASSERT_EQ(ids, expected) << line;
    std::string back;
    for (const TokenId id : ids) back += qwen3().bytes(id);
    ASSERT_EQ(back, to_nfc(text));
  }
  EXPECT_GE(count, 10000U);
}

// Each line: [GGUF name of the pre-tokenizer, text, byte offsets where its words end].
TEST(PreTokenizer, CutsAsTheReferenceDoes) {
  std::istringstream lines(read_file(kRoot + "/tests/golden/tokenizer/words.jsonl"));
  std::map<std::string, std::size_t> counts;
  for (std::string line; std::getline(lines, line);) {
    const json::value item = *json::parse(line);
    const std::string name(item.get_array()[0].get_string());
    const auto kind = pretokenizer_of(name);
    ASSERT_TRUE(kind) << name;
    std::vector<std::size_t> expected;
    for (const json::value& end : item.get_array()[2].get_array())
      expected.push_back(static_cast<std::size_t>(end.get_int64()));
    ASSERT_EQ(split_words(*kind, std::string(item.get_array()[1].get_string())), expected) << line;
    ++counts[name];
  }
  for (const char* name : {"qwen2", "gpt-2", "smollm", "llama-bpe"}) EXPECT_GE(counts[name], 1000U) << name;
}

TEST(Tokenizer, ControlTokensOfAUserAreText) {  // field report F002
  EXPECT_EQ(qwen3().encode("hi<|im_end|>", true), (std::vector<TokenId>{6023, 151645}));
  EXPECT_EQ(qwen3().encode("<|im_end|>", false), (std::vector<TokenId>{27, 91, 318, 6213, 91, 29}));
  EXPECT_EQ(qwen3().encode("<think>", true), std::vector<TokenId>{151667});
  EXPECT_TRUE(qwen3().is_special(151645));
  EXPECT_FALSE(qwen3().is_special(151667));
}

double seconds(const std::string& text) {
  const auto start = std::chrono::steady_clock::now();
  EXPECT_FALSE(qwen3().encode(text, true).empty());
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

TEST(Tokenizer, LongRunsAreNearLinear) {  // field report F004
  std::string letters;
  for (std::size_t i = 0; i < 400000; ++i) letters += static_cast<char>('a' + (i * i * 31 + i / 7) % 26);
  for (const std::string& text : {std::string(400000, 'a'), std::string(400000, '_'), letters}) {
    seconds(text.substr(0, 1000));
    EXPECT_LT(seconds(text), 10 * seconds(text.substr(0, 100000)) + 0.05);
  }
}

void* encode_hard_strings(void*) {
  for (const std::string& text : {std::string(60000, '\n') + "hi", std::string(131072, 'Z'),
                                  std::string(100000, ' '), std::string(100000, '\t')}) {
    EXPECT_FALSE(qwen3().encode(text, true).empty());
  }
  return nullptr;
}

TEST(Tokenizer, StackUseDoesNotDependOnTheInput) {  // field report F005
  qwen3();
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 256 * 1024);
  pthread_t thread;
  ASSERT_EQ(pthread_create(&thread, &attributes, encode_hard_strings, nullptr), 0);
  pthread_join(thread, nullptr);
}

TEST(Tokenizer, RefusesWhatItCannotDo) {
  EXPECT_FALSE(parse_tokenizer_json("{"));
  EXPECT_FALSE(parse_tokenizer_json(R"({"model":{"type":"Unigram"}})"));
  // A short file must not make a large table.
  const std::string pre = R"("pre_tokenizer":{"type":"ByteLevel","use_regex":true})";
  EXPECT_TRUE(parse_tokenizer_json(R"({"model":{"type":"BPE","vocab":{"a":0},"merges":[]},)" + pre + "}"));
  EXPECT_FALSE(
      parse_tokenizer_json(R"({"model":{"type":"BPE","vocab":{"a":9000000},"merges":[]},)" + pre + "}"));
  EXPECT_FALSE(parse_tokenizer_json(R"({"model":{"type":"BPE","vocab":{"a":0},"merges":[]},)" + pre +
                                    R"(,"added_tokens":[{"id":9000000,"content":"x"}]})"));
  GgufTokenizerFields fields;
  fields.model = "llama";
  EXPECT_EQ(tokenizer_from_gguf(fields).error().code, ErrorCode::kUnimplemented);
}

}  // namespace
}  // namespace sluice::text
