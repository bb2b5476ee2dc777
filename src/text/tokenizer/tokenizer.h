// Byte-level BPE: text to token ids and back. Immutable after creation, so all threads may use one.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "base/strong_id.h"
#include "text/tokenizer/pretokenizer.h"

namespace sluice::text {

struct AddedToken {
  std::string content;
  TokenId id = 0;
  bool is_special = false;  // dropped from output text; <think> of Qwen3 is added but not special
};

// A tokenizer as files describe it.
struct TokenizerData {
  std::vector<std::string> tokens;  // by id, in GPT-2's byte alphabet
  std::vector<std::pair<std::string, std::string>> merges;
  std::vector<AddedToken> added;
  PreTokenizer pre = PreTokenizer::kQwen2;
  bool nfc = false;
  bool ignore_merges = false;  // a word that is itself a token is taken whole
  TokenId bos = -1;
  bool add_bos = false;
};

class Tokenizer {
 public:
  // Errors: a merge or added token that does not fit the vocabulary.
  static Result<std::shared_ptr<const Tokenizer>> create(TokenizerData data);

  // With `parse_special`, added tokens in the text become their ids: for scaffolding, never for text of a
  // user (F002).
  std::vector<TokenId> encode(std::string_view text, bool parse_special) const;
  // The same, where bytes whose mark is 1 came from a user: no added token may contain one, yet words may
  // span the border, as they do in the reference. `marks` has the size of `text`.
  std::vector<TokenId> encode_marked(std::string_view text, std::string_view marks) const;
  // True bytes of a token (not always whole UTF-8); empty for ids that no token has.
  std::string_view bytes(TokenId id) const;
  bool is_special(TokenId id) const;
  // -1 when no added token has this content.
  TokenId added_id(std::string_view content) const;
  // Ids that a prompt may hold.
  std::size_t vocabulary() const { return bytes_.size(); }
  TokenId bos() const { return data_.add_bos ? data_.bos : -1; }
  std::size_t longest_token_bytes() const { return longest_; }

  // For create() alone: an object without its index is of no use.
  explicit Tokenizer(TokenizerData data) : data_(std::move(data)) {}

 private:
  Status index();
  void encode_plain(std::string_view text, std::vector<TokenId>& out) const;
  void encode_word(std::string_view word, std::vector<TokenId>& out) const;
  std::size_t find_added(std::string_view text, std::string_view marks, std::size_t from,
                         const AddedToken** found) const;

  struct Merge {
    std::uint32_t rank;
    TokenId result;
  };
  TokenizerData data_;
  std::vector<std::string> bytes_;  // by id
  std::vector<bool> special_;
  std::unordered_map<std::string_view, TokenId> by_bytes_;
  std::unordered_map<std::uint64_t, Merge> merges_;  // left id << 32 | right id
  TokenId byte_ids_[256];
  bool added_first_[256] = {};  // an added token begins with this byte
  std::size_t longest_ = 1;
};

}  // namespace sluice::text
