// Token bytes to valid UTF-8, piece by piece: an incomplete character is held back, bad bytes become U+FFFD
// once (field reports F001, F044). One per answer.
#pragma once

#include <string>
#include <string_view>

namespace sluice::text {

class Detokenizer {
 public:
  // Bytes of the next token; returns the characters that are complete now.
  std::string push(std::string_view bytes);
  // End of the answer: a held-back rest is dropped, since no client can show half a character.
  void flush() { held_.clear(); }

 private:
  std::string held_;      // at most 3 bytes
  bool was_bad_ = false;  // the last byte let out was bad
};

}  // namespace sluice::text
