// `sluice serve`: a server until SIGINT or SIGTERM.
#include <atomic>
#include <chrono>
#include <csignal>
#include <future>
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

// The model of the command line, if there is one.
Status load(const ServeOptions& options, const store::ModelStore& store, server::ModelManager& models,
            const std::atomic<bool>& is_stopped) {
  if (options.model.empty()) return {};
  std::filesystem::path path = as_path(options.model);
  std::optional<store::StoredModel> stored;
  if (path.empty()) {
    SLUICE_TRY(const auto name, store::parse_name(options.model));
    const auto found = store.open(name);
    if (!found)
      return fail(found.error().code, "{}: give a GGUF file, a folder, or a name that was imported",
                  found.error().message);
    stored = *found;
    path = stored->weights;
  }
  const auto progress = [&](std::uint64_t done, std::uint64_t total) {
    show_progress("loading", done, total);
    return !is_stopped.load();
  };
  return models.serve(path, names_of(options), progress, stored);
}

// SIGINT or SIGTERM has come.
bool is_signalled(const sigset_t& signals, std::chrono::milliseconds wait) {
  const timespec time{0, std::chrono::nanoseconds(wait).count()};
  return sigtimedwait(&signals, nullptr, &time) > 0;
}

void run_serve(ServeOptions options) {
  // Blocked before any thread starts, so that only the waits below see them.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::signal(SIGPIPE, SIG_IGN);

  finish_load_options(options.manager.load, options.kv_type);
  const auto store = std::make_shared<store::ModelStore>(models_folder());
  http::ServerOptions http;
  const Address address = default_address();
  http.host = options.host.empty() ? address.host : options.host;
  http.port = options.port == 0 ? address.port : options.port;
  ServerHost host(options.manager, store, http);
  std::atomic<bool> is_stopped = false;
  std::future<Status> loading =
      std::async(std::launch::async, [&] { return load(options, *store, host.models(), is_stopped); });
  while (loading.wait_for(std::chrono::milliseconds(5)) != std::future_status::ready)
    if (is_signalled(signals, std::chrono::milliseconds(5))) is_stopped = true;
  throw_if_failed(loading.get());
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
