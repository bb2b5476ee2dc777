// Encodes each file named on the command line with a tokenizer.json and prints "TOKENS SECONDS" a line: the
// best of five runs on one thread. Built and driven by tokenizer_bench.py.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

#include "text/tokenizer/tokenizer_file.h"

namespace {

std::string read_file(const char* path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    fmt::print(stderr, "usage: tokenizer_bench tokenizer.json FILE...\n");
    return 2;
  }
  auto data = sluice::text::parse_tokenizer_json(read_file(argv[1]));
  if (!data) {
    fmt::print(stderr, "{}: {}\n", argv[1], data.error().message);
    return 1;
  }
  const auto tokenizer = sluice::text::Tokenizer::create(std::move(*data));
  if (!tokenizer) {
    fmt::print(stderr, "{}: {}\n", argv[1], tokenizer.error().message);
    return 1;
  }
  for (int i = 2; i < argc; ++i) {
    const std::string text = read_file(argv[i]);
    std::size_t tokens = 0;
    double best = 1e9;
    for (int run = 0; run < 5; ++run) {
      const auto start = std::chrono::steady_clock::now();
      tokens = (*tokenizer)->encode(text, false).size();
      best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
    fmt::print("{} {}\n", tokens, best);
  }
  return 0;
}
