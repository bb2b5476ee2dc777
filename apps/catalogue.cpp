// `sluice list`, `ps`, `show`, `stop`: questions to a running server.
#include <boost/json/serialize.hpp>
#include <cstdio>
#include <stdexcept>

#include "apps/commands.h"
#include "apps/options.h"
#include "base/json.h"
#include "http/client.h"

namespace sluice::apps {
namespace {

json::object call(const char* method, const char* target, const json::object& body) {
  const Address address = default_address();
  http::ClientRequest request;
  request.host = address.host;
  request.port = address.port;
  request.method = method;
  request.target = target;
  if (!body.empty()) request.body = boost::json::serialize(body);
  const auto response = http::fetch(request);
  if (!response) throw std::runtime_error(response.error().message);
  const auto parsed = json::parse(response->body);
  const bool is_object = parsed && parsed->is_object();
  if (response->status != 200) {
    const json::value* error = is_object ? parsed->get_object().if_contains("error") : nullptr;
    throw std::runtime_error(error && error->is_string() ? std::string(error->get_string()) : response->body);
  }
  return is_object ? parsed->get_object() : json::object();
}

std::string text_at(const json::object& object, const char* key) {
  const json::value* value = object.if_contains(key);
  if (value == nullptr) return {};
  return value->is_string() ? std::string(value->get_string()) : boost::json::serialize(*value);
}

std::string size_text(const json::object& object) {
  const json::value* value = object.if_contains("size");
  const double bytes = value != nullptr && value->is_number() ? value->to_number<double>() : 0;
  char text[32];
  std::snprintf(text, sizeof text, bytes >= 1e9 ? "%.1f GB" : "%.0f MB", bytes / (bytes >= 1e9 ? 1e9 : 1e6));
  return text;
}

void print_models(const char* target, const char* last_title, const char* last_key) {
  const json::object reply = call("GET", target, {});
  std::printf("%-32s %-14s %-10s %s\n", "NAME", "ID", "SIZE", last_title);
  const json::value* models = reply.if_contains("models");
  if (models == nullptr || !models->is_array()) return;
  for (const json::value& item : models->get_array()) {
    const json::object& model = item.get_object();
    std::printf("%-32s %-14s %-10s %s\n", text_at(model, "name").c_str(),
                text_at(model, "digest").substr(0, 12).c_str(), size_text(model).c_str(),
                text_at(model, last_key).c_str());
  }
}

}  // namespace

void add_catalogue(CLI::App& app) {
  app.add_subcommand("list", "models in the store of the running server")->callback([] {
    print_models("/api/tags", "MODIFIED", "modified_at");
  });
  app.add_subcommand("ps", "models that are loaded")->callback([] {
    print_models("/api/ps", "UNTIL", "expires_at");
  });
  auto name = std::make_shared<std::string>();
  CLI::App* show = app.add_subcommand("show", "facts about a model");
  show->add_option("model", *name, "a model's name")->required();
  show->callback([name] {
    const json::object reply = call("POST", "/api/show", {{"model", *name}});
    const json::value* details = reply.if_contains("details");
    if (details == nullptr || !details->is_object()) return;
    for (const auto& [key, value] : details->get_object())
      std::printf("%-20s %s\n", std::string(key).c_str(),
                  text_at(details->get_object(), std::string(key).c_str()).c_str());
  });
  CLI::App* stop = app.add_subcommand("stop", "unload a model");
  stop->add_option("model", *name, "a model's name")->required();
  stop->callback([name] { call("POST", "/api/generate", {{"model", *name}, {"keep_alive", 0}}); });
}

}  // namespace sluice::apps
