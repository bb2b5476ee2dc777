#include "text/tokenizer/pretokenizer.h"

#include "text/tokenizer/unicode.h"

namespace sluice::text {
namespace {

struct Point {
  char32_t value;
  std::size_t begin;  // byte offset
};

bool is_break(char32_t c) { return c == '\r' || c == '\n'; }

// Works on code points with an end mark, so every look-ahead is in range.
class Scanner {
 public:
  Scanner(PreTokenizer kind, std::string_view text) : kind_(kind), size_(text.size()) {
    points_.reserve(text.size() + 1);
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t begin = at;
      points_.push_back({next_code_point(text, at), begin});
    }
    points_.push_back({0, size_});
    count_ = points_.size() - 1;
  }

  std::vector<std::size_t> run() {
    std::vector<std::size_t> ends;
    for (std::size_t i = 0; i < count_;) {
      i = is_llama_like() ? next_llama_like(i) : next_gpt2(i);
      ends.push_back(points_[i].begin);
    }
    return ends;
  }

 private:
  bool is_llama_like() const { return kind_ == PreTokenizer::kQwen2 || kind_ == PreTokenizer::kLlamaBpe; }
  char32_t at(std::size_t i) const { return i < count_ ? points_[i].value : 0; }
  bool letter(std::size_t i) const { return i < count_ && is_letter(points_[i].value); }
  // SmolLM cuts every number out first, so a number ends whatever stands before it.
  bool number(std::size_t i) const { return i < count_ && is_number(points_[i].value); }
  bool space(std::size_t i) const { return i < count_ && is_space(points_[i].value); }
  bool other(std::size_t i) const { return i < count_ && !letter(i) && !number(i) && !space(i); }
  template <typename Test>
  std::size_t while_(std::size_t i, Test test) const {
    while (i < count_ && test(i)) ++i;
    return i;
  }

  // 's 't 're 've 'm 'll 'd; 0 when there is none.
  std::size_t contraction(std::size_t i, bool folds_case) const {
    if (at(i) != '\'') return 0;
    const auto fold = [&](char32_t c) -> char32_t {
      if (!folds_case) return c;
      if (c == 0x17F) return 's';  // long s folds to s
      return c >= 'A' && c <= 'Z' ? c + 32 : c;
    };
    const char32_t a = fold(at(i + 1));
    const char32_t b = fold(at(i + 2));
    if (a == 's' || a == 't' || a == 'm' || a == 'd') return i + 2;
    if ((a == 'r' && b == 'e') || (a == 'v' && b == 'e') || (a == 'l' && b == 'l')) return i + 3;
    return 0;
  }

  // \s+(?!\S)|\s+ : a run of spaces leaves its last one to the word that follows.
  std::size_t spaces(std::size_t i) const {
    const std::size_t end = while_(i, [&](std::size_t j) { return space(j); });
    return end < count_ && end - i > 1 ? end - 1 : end;
  }

  std::size_t next_llama_like(std::size_t i) const {
    if (const std::size_t end = contraction(i, true)) return end;
    const auto is_letter_at = [&](std::size_t j) { return letter(j); };
    if (letter(i)) return while_(i, is_letter_at);
    if (!is_break(at(i)) && !number(i) && letter(i + 1)) return while_(i + 1, is_letter_at);
    if (number(i)) {
      const std::size_t longest = kind_ == PreTokenizer::kQwen2 ? 1 : 3;
      std::size_t end = i;
      while (end < i + longest && number(end)) ++end;
      return end;
    }
    const std::size_t start = at(i) == ' ' ? i + 1 : i;
    if (other(start)) {
      const std::size_t end = while_(start, [&](std::size_t j) { return other(j); });
      return while_(end, [&](std::size_t j) { return is_break(points_[j].value); });
    }
    return spaces_with_breaks(i);
  }

  // \s*[\r\n]+ before the other forms: up to the last line break of the run.
  std::size_t spaces_with_breaks(std::size_t i) const {
    const std::size_t end = while_(i, [&](std::size_t j) { return space(j); });
    for (std::size_t j = end; j > i; --j)
      if (is_break(points_[j - 1].value)) return j;
    return spaces(i);
  }

  std::size_t next_gpt2(std::size_t i) const {
    const bool single_digits = kind_ == PreTokenizer::kSmolLM;
    if (single_digits && number(i)) return i + 1;
    if (const std::size_t end = contraction(i, false)) return end;
    const std::size_t start = at(i) == ' ' && i < count_ ? i + 1 : i;
    if (letter(start)) return while_(start, [&](std::size_t j) { return letter(j); });
    if (number(start) && !single_digits) return while_(start, [&](std::size_t j) { return number(j); });
    if (other(start)) return while_(start, [&](std::size_t j) { return other(j); });
    if (!single_digits) return spaces(i);
    const std::size_t end = while_(i, [&](std::size_t j) { return space(j); });
    // The number that follows was cut out before, so this piece ends here and keeps all its spaces.
    return number(end) ? end : spaces(i);
  }

  PreTokenizer kind_;
  std::size_t size_;
  std::size_t count_ = 0;
  std::vector<Point> points_;
};

}  // namespace

std::optional<PreTokenizer> pretokenizer_of(std::string_view name) {
  if (name == "qwen2" || name == "deepseek-r1-qwen") return PreTokenizer::kQwen2;
  if (name == "gpt-2" || name == "gpt2") return PreTokenizer::kGpt2;
  if (name == "smollm") return PreTokenizer::kSmolLM;
  if (name == "llama-bpe" || name == "llama3" || name == "llama-v3") return PreTokenizer::kLlamaBpe;
  return std::nullopt;
}

std::vector<std::size_t> split_words(PreTokenizer kind, std::string_view text) {
  return Scanner(kind, text).run();
}

}  // namespace sluice::text
