// A tokenizer.json of any bytes: loaded or refused; what is loaded encodes and gives the bytes back.
#include "base/check.h"
#include "text/tokenizer/tokenizer.h"
#include "text/tokenizer/tokenizer_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sluice;
  auto parsed = text::parse_tokenizer_json({reinterpret_cast<const char*>(data), size});
  if (!parsed) return 0;
  const auto tokenizer = text::Tokenizer::create(std::move(*parsed));
  if (!tokenizer) return 0;
  for (const TokenId id : (*tokenizer)->encode("aab abc 你好 <s>!", true))
    SLUICE_CHECK(static_cast<std::size_t>(id) < (*tokenizer)->vocabulary(), "an id outside the vocabulary");
  return 0;
}
