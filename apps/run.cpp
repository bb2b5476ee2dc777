// `sluice run`: asks a model over the API and streams the answer; without a question, a simple dialogue.
#include <unistd.h>

#include <boost/json/serialize.hpp>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <stdexcept>

#include "apps/commands.h"
#include "apps/options.h"
#include "apps/server_host.h"
#include "base/json.h"
#include "base/log.h"
#include "http/client.h"

namespace sluice::apps {
namespace {

using Clock = std::chrono::steady_clock;

struct RunOptions {
  std::string model;
  std::string question;
  std::string think;
  bool verbose = false;
  std::string kv_type = "bf16";
  server::ManagerOptions manager;
};

// One line of the stream: prints what it says, keeps the answer's text and the closing figures.
struct Answer {
  std::string text;
  std::string buffer;
  std::string error;
  json::object last;
  Clock::time_point first;
  bool is_thinking = false;

  void take(std::string_view bytes) {
    buffer += bytes;
    for (std::size_t end = 0; (end = buffer.find('\n')) != std::string::npos; buffer.erase(0, end + 1))
      take_line(buffer.substr(0, end));
  }
  void take_line(const std::string& line) {
    const auto parsed = json::parse(line);
    if (!parsed || !parsed->is_object()) return;
    const json::object& object = parsed->get_object();
    if (const json::value* problem = object.if_contains("error"))
      error = problem->is_string() ? std::string(problem->get_string()) : line;
    if (const json::value* done = object.if_contains("done"); done && done->is_bool() && done->get_bool())
      last = object;
    const json::value* message = object.if_contains("message");
    if (message == nullptr || !message->is_object()) return;
    const auto part = [&](const char* key) {
      const json::value* value = message->get_object().if_contains(key);
      return value != nullptr && value->is_string() ? std::string(value->get_string()) : std::string();
    };
    show(part("thinking"), part("content"));
  }
  void show(const std::string& thinking, const std::string& content) {
    if (thinking.empty() && content.empty()) return;
    if (first == Clock::time_point()) first = Clock::now();
    const bool is_terminal = ::isatty(STDOUT_FILENO) != 0;
    if (!thinking.empty()) std::printf(is_terminal ? "\033[2m%s\033[0m" : "%s", thinking.c_str());
    if (!content.empty() && is_thinking) std::printf("\n\n");
    is_thinking = !thinking.empty();
    std::printf("%s", content.c_str());
    std::fflush(stdout);
    text += content;
  }
};

double number_at(const json::object& object, const char* key) {
  const json::value* value = object.if_contains(key);
  return value != nullptr && value->is_number() ? value->to_number<double>() : 0;
}

void ask(const RunOptions& options, const Address& address, json::array& messages) {
  json::object body = {{"model", options.model}, {"messages", messages}, {"stream", true}};
  if (!options.think.empty()) body["think"] = options.think == "true";
  http::ClientRequest request;
  request.host = address.host;
  request.port = address.port;
  request.method = "POST";
  request.target = "/api/chat";
  request.body = boost::json::serialize(body);
  Answer answer;
  const auto start = Clock::now();
  const auto response = http::fetch(request, [&](std::string_view bytes) {
    answer.take(bytes);
    return true;
  });
  std::printf("\n");
  if (!response) throw std::runtime_error(response.error().message);
  if (response->status != 200) answer.take_line(response->body);
  if (!answer.error.empty() || response->status != 200)
    throw std::runtime_error(answer.error.empty() ? response->body : answer.error);
  messages.push_back({{"role", "assistant"}, {"content", answer.text}});
  if (!options.verbose) return;
  const double tokens = number_at(answer.last, "eval_count");
  const double decode = number_at(answer.last, "eval_duration") / 1e9;
  std::fprintf(stderr, "%.0f tokens, %.1f tok/s, time to first token %.0f ms\n", tokens,
               decode > 0 ? tokens / decode : 0,
               std::chrono::duration<double, std::milli>(answer.first - start).count());
}

void converse(const RunOptions& options, const Address& address) {
  json::array messages;
  std::string line = options.question;
  if (line.empty() && ::isatty(STDIN_FILENO) == 0) {
    line.assign(std::istreambuf_iterator<char>(std::cin), {});
    if (line.empty()) throw std::runtime_error("no question: give one as an argument or on standard input");
  }
  if (!line.empty()) {
    messages.push_back({{"role", "user"}, {"content", line}});
    return ask(options, address, messages);
  }
  std::printf("Ask %s. /bye or Ctrl-D ends.\n", options.model.c_str());
  while (std::printf(">>> "), std::fflush(stdout), std::getline(std::cin, line)) {
    if (line == "/bye") return;
    if (line.empty()) continue;
    messages.push_back({{"role", "user"}, {"content", line}});
    ask(options, address, messages);
  }
}

bool is_serving(const Address& address) {
  http::ClientRequest request;
  request.host = address.host;
  request.port = address.port;
  request.method = "GET";
  request.target = "/api/version";
  return http::fetch(request).has_value();
}

// A server of this command's own, which ends with it: for a file, or when no server runs.
void converse_alone(const RunOptions& options, const std::filesystem::path& path) {
  log::set_level(log::Level::kWarning);
  const auto store = std::make_shared<store::ModelStore>(models_folder());
  ServerHost host(options.manager, store, {});
  if (!path.empty()) {
    const auto served = host.models().serve(path, {options.model}, loading_progress);
    if (!served) throw std::runtime_error(served.error().message);
  }
  if (const auto started = host.start(); !started) throw std::runtime_error(started.error().message);
  Address address;
  address.port = host.port();
  converse(options, address);
}

void run_command(RunOptions options) {
  finish_load_options(options.manager.load, options.kv_type);
  const std::filesystem::path path = as_path(options.model);
  const Address address = default_address();
  if (path.empty() && is_serving(address)) return converse(options, address);
  converse_alone(options, path);
}

}  // namespace

void add_run(CLI::App& app) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* run = app.add_subcommand(
      "run", "ask a model: a file or folder, or a name, through the running server when there is one");
  run->add_option("model", options->model, "GGUF file, Hugging Face folder, or a model's name")->required();
  run->add_option("question", options->question,
                  "the question; none: standard input, or a dialogue on a terminal");
  run->add_option("--think", options->think, "true or false: with or without thinking; default: the model's")
      ->check(CLI::IsMember({"true", "false"}));
  run->add_flag("--verbose", options->verbose, "print tokens per second and time to first token");
  add_load_options(*run, options->manager.load, options->kv_type);
  run->footer(
      "Examples:\n  sluice run smollm2:135m \"Name three colours.\"\n  sluice run ./Qwen3-0.6B-Q8_0.gguf "
      "--verbose \"Why is the sky blue?\"\n  cat letter.txt | sluice run smollm2:135m");
  run->callback([options] { run_command(*options); });
}

}  // namespace sluice::apps
