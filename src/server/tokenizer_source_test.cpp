// The default model's tokenizer, read from GGUF metadata, against PyPI tokenizers (tests/golden/tokenizer).
#include "server/tokenizer_source.h"

#include <gtest/gtest.h>

#include <fstream>

namespace sluice::server {
namespace {

const std::string kRoot = SLUICE_SOURCE_DIR;

TEST(TokenizerSource, TheDefaultModelEncodesAsTheReference) {
  const auto checkpoint = weights::Checkpoint::open(kRoot + "/build/assets/SmolLM2-135M-Instruct.Q4_1.gguf");
  ASSERT_TRUE(checkpoint) << checkpoint.error().message << ": run tools/fetch_assets.sh";
  auto data = read_tokenizer(*checkpoint);
  ASSERT_TRUE(data) << data.error().message;
  const auto tokenizer = text::Tokenizer::create(std::move(*data));
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  std::ifstream lines(kRoot + "/tests/golden/tokenizer/smollm2.jsonl");
  std::size_t count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    const json::value item = *json::parse(line);
    const std::string text(item.get_array()[0].get_string());
    std::vector<TokenId> expected;
    for (const json::value& id : item.get_array()[1].get_array())
      expected.push_back(static_cast<TokenId>(id.get_int64()));
    ASSERT_EQ((*tokenizer)->encode(text, false), expected) << line;
  }
  EXPECT_GE(count, 4000U);
}

}  // namespace
}  // namespace sluice::server
