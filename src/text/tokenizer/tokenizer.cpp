#include "text/tokenizer/tokenizer.h"

#include <algorithm>
#include <array>
#include <queue>

#include "text/tokenizer/unicode.h"

namespace sluice::text {
namespace {

// GPT-2's alphabet writes every byte as a printable character. Source: GPT-2's encoder.
std::unordered_map<char32_t, char> byte_alphabet() {
  std::unordered_map<char32_t, char> bytes;
  char32_t next = 256;
  for (int b = 0; b < 256; ++b) {
    const bool is_printable = (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174;
    bytes.emplace(is_printable ? static_cast<char32_t>(b) : next++, static_cast<char>(b));
  }
  return bytes;
}

// Characters outside the alphabet stand for themselves (added tokens).
std::string to_bytes(std::string_view token) {
  static const auto kAlphabet = byte_alphabet();
  std::string bytes;
  for (std::size_t at = 0; at < token.size();) {
    const char32_t c = next_code_point(token, at);
    const auto found = kAlphabet.find(c);
    if (found != kAlphabet.end())
      bytes += found->second;
    else
      append_utf8(bytes, c);
  }
  return bytes;
}

std::uint64_t pair_key(TokenId left, TokenId right) {
  return static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32 |
         static_cast<std::uint32_t>(right);
}

// A neighbour pair that could merge; stale once either side has changed.
struct Candidate {
  std::uint32_t rank;
  std::uint32_t left;  // index of the symbol
  TokenId left_id, right_id, result;
  bool operator<(
      const Candidate& other) const {  // for a queue whose top is the lowest rank, then the leftmost
    return rank != other.rank ? rank > other.rank : left > other.left;
  }
};

struct Symbol {
  TokenId id;
  std::int32_t previous, next;
};

}  // namespace

Result<std::shared_ptr<const Tokenizer>> Tokenizer::create(TokenizerData data) {
  auto tokenizer = std::make_shared<Tokenizer>(std::move(data));
  SLUICE_TRY_STATUS(tokenizer->index());
  return std::shared_ptr<const Tokenizer>(std::move(tokenizer));
}

Status Tokenizer::index() {
  for (const std::string& token : data_.tokens) bytes_.push_back(to_bytes(token));
  for (const AddedToken& token : data_.added) {
    if (token.id < 0 || token.id > 10'000'000 || token.content.empty()) {
      return fail(ErrorCode::kInvalidArgument, "tokenizer: added token \"{}\" has id {}", token.content,
                  token.id);
    }
    if (static_cast<std::size_t>(token.id) >= bytes_.size())
      bytes_.resize(static_cast<std::size_t>(token.id) + 1);
    bytes_[static_cast<std::size_t>(token.id)] = token.content;
    added_first_[static_cast<unsigned char>(token.content[0])] = true;
  }
  special_.resize(bytes_.size());
  std::vector<bool> is_added(bytes_.size());
  for (const AddedToken& token : data_.added) {
    special_[static_cast<std::size_t>(token.id)] = token.is_special;
    is_added[static_cast<std::size_t>(token.id)] = true;
  }
  // The longest first, so that the longest match wins.
  std::ranges::stable_sort(data_.added, std::greater{}, [](const AddedToken& t) { return t.content.size(); });
  for (std::size_t id = 0; id < bytes_.size(); ++id) {
    longest_ = std::max(longest_, bytes_[id].size());
    if (!is_added[id] && !bytes_[id].empty()) by_bytes_.emplace(bytes_[id], static_cast<TokenId>(id));
  }
  for (int b = 0; b < 256; ++b) {
    const char byte = static_cast<char>(b);
    const auto found = by_bytes_.find(std::string_view(&byte, 1));
    byte_ids_[b] = found != by_bytes_.end() ? found->second : -1;
  }
  for (std::size_t rank = 0; rank < data_.merges.size(); ++rank) {
    const std::string left = to_bytes(data_.merges[rank].first);
    const std::string right = to_bytes(data_.merges[rank].second);
    const auto a = by_bytes_.find(left);
    const auto b = by_bytes_.find(right);
    const auto joined = by_bytes_.find(left + right);
    if (a == by_bytes_.end() || b == by_bytes_.end() || joined == by_bytes_.end()) {
      return fail(ErrorCode::kInvalidArgument, "tokenizer: merge {} joins tokens that the vocabulary lacks",
                  rank);
    }
    merges_.emplace(pair_key(a->second, b->second), Merge{static_cast<std::uint32_t>(rank), joined->second});
  }
  data_.merges.clear();
  data_.tokens.clear();
  return {};
}

std::size_t Tokenizer::find_added(std::string_view text, std::string_view marks, std::size_t from,
                                  const AddedToken** found) const {
  for (std::size_t at = from; at < text.size(); ++at) {
    if (!added_first_[static_cast<unsigned char>(text[at])]) continue;
    for (const AddedToken& token : data_.added) {
      const std::size_t size = token.content.size();
      if (text.compare(at, size, token.content) != 0) continue;
      if (!marks.empty() && marks.substr(at, size).find('\1') != std::string_view::npos) continue;
      *found = &token;
      return at;
    }
  }
  *found = nullptr;
  return text.size();
}

std::vector<TokenId> Tokenizer::encode(std::string_view text, bool parse_special) const {
  if (parse_special) return encode_marked(text, {});
  std::vector<TokenId> ids;
  encode_plain(text, ids);
  return ids;
}

std::vector<TokenId> Tokenizer::encode_marked(std::string_view text, std::string_view marks) const {
  std::vector<TokenId> ids;
  for (std::size_t at = 0; at < text.size();) {
    const AddedToken* token = nullptr;
    const std::size_t begin = find_added(text, marks, at, &token);
    encode_plain(text.substr(at, begin - at), ids);
    if (token == nullptr) break;
    ids.push_back(token->id);
    at = begin + token->content.size();
  }
  return ids;
}

void Tokenizer::encode_plain(std::string_view text, std::vector<TokenId>& out) const {
  if (text.empty()) return;
  std::string clean;
  if (data_.nfc) {
    clean = to_nfc(text);
    text = clean;
  }
  std::size_t begin = 0;
  for (const std::size_t end : split_words(data_.pre, text)) {
    encode_word(text.substr(begin, end - begin), out);
    begin = end;
  }
}

// Merges the lowest rank first, the leftmost on ties, with a heap over a linked list: n log n for a word of n
// bytes.
void Tokenizer::encode_word(std::string_view word, std::vector<TokenId>& out) const {
  // In a vocabulary made by these merges, a word that is a token is what its merges give; short of that,
  // look.
  if (data_.ignore_merges || word.size() == 1) {
    const auto whole = by_bytes_.find(word);
    if (whole != by_bytes_.end()) {
      out.push_back(whole->second);
      return;
    }
  }
  std::vector<Symbol> symbols;
  symbols.reserve(word.size());
  for (const char c : word) {
    const TokenId id = byte_ids_[static_cast<unsigned char>(c)];
    if (id < 0) continue;  // a vocabulary without this byte cannot say it
    const auto index = static_cast<std::int32_t>(symbols.size());
    symbols.push_back({id, index - 1, index + 1});
  }
  if (symbols.empty()) return;
  symbols.back().next = -1;
  std::priority_queue<Candidate> queue;
  const auto offer = [&](std::int32_t left) {
    if (left < 0 || symbols[static_cast<std::size_t>(left)].next < 0) return;
    const Symbol& a = symbols[static_cast<std::size_t>(left)];
    const Symbol& b = symbols[static_cast<std::size_t>(a.next)];
    const auto merge = merges_.find(pair_key(a.id, b.id));
    if (merge == merges_.end()) return;
    queue.push({merge->second.rank, static_cast<std::uint32_t>(left), a.id, b.id, merge->second.result});
  };
  for (std::size_t i = 0; i + 1 < symbols.size(); ++i) offer(static_cast<std::int32_t>(i));
  while (!queue.empty()) {
    const Candidate best = queue.top();
    queue.pop();
    Symbol& a = symbols[best.left];
    if (a.id != best.left_id || a.next < 0) continue;
    Symbol& b = symbols[static_cast<std::size_t>(a.next)];
    if (b.id != best.right_id) continue;
    a.id = best.result;
    b.id = -1;
    a.next = b.next;
    if (a.next >= 0)
      symbols[static_cast<std::size_t>(a.next)].previous = static_cast<std::int32_t>(best.left);
    offer(a.previous);
    offer(static_cast<std::int32_t>(best.left));
  }
  for (std::int32_t i = 0; i >= 0; i = symbols[static_cast<std::size_t>(i)].next) {
    out.push_back(symbols[static_cast<std::size_t>(i)].id);
  }
}

std::string_view Tokenizer::bytes(TokenId id) const {
  if (id < 0 || static_cast<std::size_t>(id) >= bytes_.size()) return {};
  return bytes_[static_cast<std::size_t>(id)];
}

bool Tokenizer::is_special(TokenId id) const {
  return id >= 0 && static_cast<std::size_t>(id) < special_.size() && special_[static_cast<std::size_t>(id)];
}

TokenId Tokenizer::added_id(std::string_view content) const {
  for (const AddedToken& token : data_.added)
    if (token.content == content) return token.id;
  return -1;
}

}  // namespace sluice::text
