// `sluice serve`: a server until SIGINT or SIGTERM.
#include <csignal>
#include <cstdio>
#include <stdexcept>

#include "apps/commands.h"
#include "apps/options.h"
#include "apps/server_host.h"
#include "base/log.h"

namespace sluice::apps {
namespace {

struct ServeOptions {
  std::string model;
  std::vector<std::string> names;
  std::string host;
  std::uint16_t port = 0;
  std::string kv_type = "bf16";
  server::ManagerOptions manager;
  std::size_t drain_seconds = 30;
};

void throw_if_failed(const Status& status) {
  if (!status) throw std::runtime_error(status.error().message);
}

// Names that a model of the command line answers to.
std::vector<std::string> names_of(const ServeOptions& options) {
  if (!options.names.empty()) return options.names;
  const std::filesystem::path path = as_path(options.model);
  if (path.empty()) return {options.model};
  return {options.model, path.has_stem() ? path.stem().string() : path.string()};
}

void run_serve(ServeOptions options) {
  // Blocked before any thread starts, so that only sigwait() below sees them.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::signal(SIGPIPE, SIG_IGN);

  finish_load_options(options.manager.load, options.kv_type);
  auto store = std::make_shared<store::ModelStore>(models_folder());
  http::ServerOptions http;
  const Address address = default_address();
  http.host = options.host.empty() ? address.host : options.host;
  http.port = options.port == 0 ? address.port : options.port;
  ServerHost host(options.manager, store, http);
  if (!options.model.empty()) {
    std::filesystem::path path = as_path(options.model);
    if (path.empty()) {
      const auto name = store::parse_name(options.model);
      if (!name) throw std::runtime_error(name.error().message);
      const auto stored = store->open(*name);
      if (!stored) throw std::runtime_error(stored.error().message + ": `sluice list` shows what there is");
      path = stored->weights;
    }
    throw_if_failed(host.models().serve(path, names_of(options), [](std::uint64_t done, std::uint64_t total) {
      show_progress("loading", done, total);
    }));
  }
  throw_if_failed(host.start());
  log::info("serving on http://{}:{}", http.host, host.port());
  int signal = 0;
  sigwait(&signals, &signal);
  log::info("draining: running answers may finish within {} s", options.drain_seconds);
  host.stop(std::chrono::seconds(options.drain_seconds));
}

}  // namespace

void add_serve(CLI::App& app) {
  auto options = std::make_shared<ServeOptions>();
  CLI::App* serve = app.add_subcommand("serve", "serve the OpenAI and the Ollama API over HTTP");
  serve->add_option("model", options->model,
                    "GGUF file, Hugging Face folder, or a name of the store; none: models load on demand");
  serve->add_option("--host", options->host, "address to listen on; default: of SLUICE_HOST, or 127.0.0.1");
  serve->add_option("--port", options->port, "port to listen on; default: of SLUICE_HOST, or 11434")
      ->check(CLI::Range(1, 65535));
  serve->add_option("--served-model-name", options->names, "names the model answers to");
  serve->add_option("--drain-seconds", options->drain_seconds, "time for running answers after SIGTERM")
      ->capture_default_str();
  add_load_options(*serve, options->manager.load, options->kv_type);
  serve->footer(
      "Examples:\n  sluice serve qwen3-0.6b-q8_0.gguf --port 8000\n  sluice serve smollm2:135m "
      "--max-num-seqs 16\n  sluice serve");
  serve->callback([options] { run_serve(*options); });
}

}  // namespace sluice::apps
