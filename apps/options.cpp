#include "apps/options.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <stdexcept>

namespace sluice::apps {
namespace {

std::string from_environment(std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): before any thread starts
    if (value != nullptr && *value != 0) return value;
  }
  return {};
}

}  // namespace

Address default_address() {
  Address address;
  std::string text = from_environment({"SLUICE_HOST", "OLLAMA_HOST"});
  if (const std::size_t scheme = text.find("://"); scheme != std::string::npos) text.erase(0, scheme + 3);
  while (text.ends_with('/')) text.pop_back();
  if (text.empty()) return address;
  // "[::1]:8080", "[::1]", "host:8080", ":8080" or "host".
  const std::size_t bracket = text.starts_with('[') ? text.find(']') : std::string::npos;
  const std::size_t colon = text.find(':', bracket == std::string::npos ? 0 : bracket);
  const std::string host = text.substr(0, colon);
  if (bracket != std::string::npos)
    address.host = host.substr(1, bracket - 1);
  else if (!host.empty())
    address.host = host;
  if (colon == std::string::npos) return address;
  char* end = nullptr;
  const long port = std::strtol(text.c_str() + colon + 1, &end, 10);
  if (*end != 0 || port < 1 || port > 65535)
    throw std::invalid_argument("the port in SLUICE_HOST or OLLAMA_HOST is not a number from 1 to 65535: " +
                                text);
  address.port = static_cast<std::uint16_t>(port);
  return address;
}

std::filesystem::path models_folder() {
  const std::string given = from_environment({"SLUICE_MODELS", "OLLAMA_MODELS"});
  if (!given.empty()) return given;
  const std::string home = from_environment({"HOME"});
  return std::filesystem::path(home.empty() ? "." : home) / ".sluice" / "models";
}

void add_load_options(CLI::App& command, server::LoadOptions& options, std::string& kv_type) {
  command.add_option("--backend", options.backend, "kernels to compute with")
      ->capture_default_str()
      ->check(CLI::IsMember(backend::backend_names()));
  command.add_option("--threads", options.threads, "compute threads, 0: all cores")
      ->check(CLI::Range(0, 256));
  command
      .add_option("--max-model-len", options.context_tokens_max,
                  "longest context in tokens, 0: the model's own")
      ->check(CLI::Range(0, 1 << 24));
  command.add_option("--max-num-seqs", options.sequences_max, "sequences running at once")
      ->capture_default_str()
      ->check(CLI::Range(1, 4096));
  command.add_option("--max-num-batched-tokens", options.step_tokens_max, "tokens computed in one step")
      ->capture_default_str()
      ->check(CLI::Range(1, 65536));
  command.add_option("--max-queue", options.queue_max, "requests that may wait; more are refused with 503")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000000));
  command
      .add_option("--kv-cache-bytes", options.kv_cache_bytes,
                  "memory for keys and values, 0: a quarter of what is free, at most 4 GiB")
      ->transform(CLI::AsSizeValue(false));
  command.add_option("--num-kv-blocks", options.kv_blocks, "the same in blocks of 16 tokens, 0: by bytes")
      ->check(CLI::Range(0, 1 << 28));
  command.add_option("--kv-cache-dtype", kv_type, "bf16 or f32")
      ->capture_default_str()
      ->check(CLI::IsMember({"bf16", "f32"}));
}

void finish_load_options(server::LoadOptions& options, const std::string& kv_type) {
  options.kv_format = kv_type == "f32" ? backend::KVFormat::kF32 : backend::KVFormat::kBF16;
}

std::filesystem::path as_path(const std::string& model) {
  std::error_code error;
  const bool looks_like_path = model.ends_with(".gguf") || model.starts_with("/") || model.starts_with(".");
  return looks_like_path || std::filesystem::exists(model, error) ? std::filesystem::path(model)
                                                                  : std::filesystem::path();
}

void show_progress(const char* what, std::uint64_t done, std::uint64_t total) {
  if (::isatty(STDERR_FILENO) == 0 || total == 0) return;
  const int filled = static_cast<int>(done * 40 / total);
  std::fprintf(stderr, "\r%s [%.*s%*s] %3d %%%s", what, filled, "########################################",
               40 - filled, "", static_cast<int>(done * 100 / total), done == total ? "\n" : "");
}

bool loading_progress(std::uint64_t done, std::uint64_t total) {
  show_progress("loading", done, total);
  return true;
}

}  // namespace sluice::apps
