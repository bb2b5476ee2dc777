// Runs a libFuzzer target without libFuzzer (gcc has none): seeds from files, then seeded mutations of them.
//   TARGET [--iterations N] [--seed S] FILE_OR_FOLDER...
// A crash prints the seed and leaves the input in crash-input.bin; running TARGET --iterations 0
// crash-input.bin repeats it.
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" __attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)());

namespace {

using Bytes = std::vector<std::uint8_t>;
constexpr std::size_t kInputBytesMax = 1 << 20;
Bytes current;  // what runs now, for the crash handler

void save_input() {
  if (std::FILE* file = std::fopen("crash-input.bin", "wb")) {
    std::fwrite(current.data(), 1, current.size(), file);
    std::fclose(file);
    std::fprintf(stderr, "input of %zu bytes saved in crash-input.bin\n", current.size());
  }
}

void on_signal(int signal) {
  save_input();
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

void run(Bytes input) {
  current = std::move(input);
  LLVMFuzzerTestOneInput(current.data(), current.size());
}

Bytes read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<Bytes> read_seeds(const std::vector<std::string>& paths) {
  std::vector<Bytes> seeds;
  for (const std::string& path : paths) {
    if (!std::filesystem::is_directory(path)) {
      seeds.push_back(read(path));
      continue;
    }
    for (const auto& entry : std::filesystem::directory_iterator(path)) seeds.push_back(read(entry.path()));
  }
  return seeds;
}

// One small change: what parsers of lengths, counts and text trip over.
void mutate(Bytes& input, const Bytes& other, std::mt19937_64& random) {
  const std::size_t size = input.size();
  const std::size_t at = size == 0 ? 0 : random() % size;
  const std::uint64_t odd[] = {0,
                               1,
                               0x7F,
                               0x80,
                               0xFF,
                               0x7FFF,
                               0x8000,
                               0xFFFF,
                               0x7FFFFFFF,
                               0x80000000,
                               0xFFFFFFFF,
                               0x7FFFFFFFFFFFFFFF,
                               0x8000000000000000,
                               UINT64_MAX};
  switch (random() % 7) {
    case 0:  // a bit
      if (size > 0) input[at] ^= static_cast<std::uint8_t>(1U << (random() % 8));
      break;
    case 1:  // a byte
      if (size > 0) input[at] = static_cast<std::uint8_t>(random());
      break;
    case 2: {  // an integer that lies
      const std::uint64_t value = odd[random() % std::size(odd)];
      const std::size_t width = std::size_t{1} << (random() % 4);
      if (at + width <= size) std::memcpy(input.data() + at, &value, width);
      break;
    }
    case 3:  // the end is missing
      input.resize(at);
      break;
    case 4: {  // a part twice
      const std::size_t count = std::min<std::size_t>(size - at, 1 + random() % 64);
      const Bytes part(input.begin() + static_cast<std::ptrdiff_t>(at),
                       input.begin() + static_cast<std::ptrdiff_t>(at + count));
      input.insert(input.begin() + static_cast<std::ptrdiff_t>(at), part.begin(), part.end());
      break;
    }
    case 5: {  // a part missing
      const std::size_t count = std::min<std::size_t>(size - at, 1 + random() % 64);
      input.erase(input.begin() + static_cast<std::ptrdiff_t>(at),
                  input.begin() + static_cast<std::ptrdiff_t>(at + count));
      break;
    }
    default:  // the end of another
      if (!other.empty()) {
        const std::size_t cut = random() % other.size();
        input.resize(at);
        input.insert(input.end(), other.begin() + static_cast<std::ptrdiff_t>(cut), other.end());
      }
  }
  if (input.size() > kInputBytesMax) input.resize(kInputBytesMax);
}

}  // namespace

int main(int argc, char** argv) {
  std::uint64_t iterations = 1000;
  std::uint64_t seed = 1;
  std::vector<std::string> paths;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--iterations" && i + 1 < argc)
      iterations = std::strtoull(argv[++i], nullptr, 10);
    else if (argument == "--seed" && i + 1 < argc)
      seed = std::strtoull(argv[++i], nullptr, 10);
    else
      paths.push_back(argument);
  }
  const std::vector<Bytes> seeds = read_seeds(paths);
  if (seeds.empty()) {
    std::fprintf(stderr, "usage: %s [--iterations N] [--seed S] FILE_OR_FOLDER...\n", argv[0]);
    return 2;
  }
  for (const int signal : {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL}) std::signal(signal, on_signal);
  if (__sanitizer_set_death_callback != nullptr) __sanitizer_set_death_callback(save_input);
  std::fprintf(stderr, "%zu seeds, %llu mutations, seed %llu\n", seeds.size(),
               static_cast<unsigned long long>(iterations), static_cast<unsigned long long>(seed));
  for (const Bytes& input : seeds) run(input);
  std::mt19937_64 random(seed);
  for (std::uint64_t i = 0; i < iterations; ++i) {
    Bytes input = seeds[random() % seeds.size()];
    for (std::uint64_t n = 1 + random() % 6; n > 0; --n)
      mutate(input, seeds[random() % seeds.size()], random);
    run(std::move(input));
  }
  return 0;
}
