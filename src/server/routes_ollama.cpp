// The Ollama API. Handlers translate; api/ollama knows the JSON, run_exchange() the generation.
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "api/ollama/calls.h"
#include "api/ollama/catalogue.h"
#include "api/ollama/errors.h"
#include "api/ollama/writer.h"
#include "server/exchange.h"

namespace sluice::server {
namespace {

namespace asio = boost::asio;
namespace ollama = api::ollama;

http::Response error_response(const Error& error) {
  ollama::HttpError shaped = ollama::error_reply(error);
  return json_response(shaped.status, std::move(shaped.body));
}

Dialect dialect_of(std::shared_ptr<const ollama::GenerateCall> call) {
  ollama::ReplyHeader header;
  header.model = call->request.model;
  auto writer = std::make_shared<ollama::StreamWriter>(header, *call);
  Dialect dialect;
  dialect.stream_type = "application/x-ndjson";
  dialect.write = [writer](const api::TextEvent& event) { return writer->write(event); };
  dialect.reply = [header, call](const std::vector<api::TextEvent>& events) {
    return call->load_only || call->unload ? ollama::load_reply(header, *call)
                                           : ollama::reply(header, *call, events);
  };
  dialect.error = error_response;
  return dialect;
}

Result<Exchange> prepare(ModelManager& models, Result<ollama::GenerateCall> parsed) {
  if (!parsed) return tl::unexpected(parsed.error());
  auto call = std::make_shared<const ollama::GenerateCall>(std::move(*parsed));
  Exchange exchange;
  exchange.model = call->request.model;
  exchange.streams = call->stream;
  if (!call->load_only && !call->unload) exchange.requests = {call->request};
  exchange.loads_model = !call->unload;
  if (call->unload) {
    SLUICE_TRY_STATUS(models.keep_alive(exchange.model, std::chrono::seconds(0)));
  } else if (call->keep_alive) {
    const bool is_forever = call->keep_alive->forever;
    const auto duration = is_forever ? std::chrono::seconds(-1) : call->keep_alive->value;
    SLUICE_TRY_STATUS(models.keep_alive(exchange.model, duration));
  }
  exchange.dialect = dialect_of(std::move(call));
  return exchange;
}

std::string count_text(std::uint64_t parameters) {
  const auto count = static_cast<double>(parameters);
  if (count >= 1e9) return fmt::format("{:.1f}B", count / 1e9);
  return count >= 1e6 ? fmt::format("{:.2f}M", count / 1e6) : fmt::format("{}", parameters);
}

ollama::ModelInfo info_of(const std::string& name, const LocalModel& model) {
  ollama::ModelInfo info;
  info.name = name;
  info.family = info.architecture = model.facts.architecture;
  info.parameter_size = count_text(model.facts.parameters);
  info.quantization_level = model.facts.quantization;
  info.template_text = model.facts.template_source;
  info.capabilities = {"completion"};
  if (model.tokenizer->added_id("<think>") >= 0) info.capabilities.emplace_back("thinking");
  info.parameter_count = static_cast<std::int64_t>(model.facts.parameters);
  info.context_length = static_cast<std::int64_t>(model.context_tokens_max);
  info.embedding_length = static_cast<std::int64_t>(model.config.hidden);
  info.size_bytes = static_cast<std::int64_t>(model.facts.weight_bytes);
  return info;
}

std::string tags_body(const ModelManager& models) {
  std::vector<ollama::ModelInfo> list;
  for (const RunningModel& running : models.running()) {
    if (running.expires) continue;  // of the store, listed below
    list.push_back(info_of(running.name, *running.model));
  }
  if (models.store() == nullptr) return ollama::tags_reply(list);
  for (const store::StoredModel& stored : models.store()->list()) {
    const std::string name = stored.name.display();
    if (std::ranges::any_of(list, [&](const ollama::ModelInfo& info) { return info.name == name; })) continue;
    ollama::ModelInfo info;
    info.name = name;
    info.digest = stored.digest;
    info.size_bytes = static_cast<std::int64_t>(stored.bytes);
    info.modified_unix = stored.modified;
    list.push_back(std::move(info));
  }
  return ollama::tags_reply(list);
}

std::string ps_body(const ModelManager& models) {
  std::vector<ollama::ModelInfo> list;
  for (const RunningModel& running : models.running()) {
    ollama::ModelInfo info = info_of(running.name, *running.model);
    info.size_bytes += static_cast<std::int64_t>(running.model->facts.kv_bytes);
    info.expires_unix =
        running.expires
            ? std::chrono::duration_cast<std::chrono::seconds>(running.expires->time_since_epoch()).count()
            : -1;
    list.push_back(std::move(info));
  }
  return ollama::ps_reply(list);
}

// Loads the model when it is not: its facts are in its file.
Result<std::string> show_body(ModelManager& models, const std::string& text) {
  SLUICE_TRY(const json::value body, json::parse(text));
  std::string name;
  for (const char* key : {"name", "model"}) {
    const json::value* value = body.is_object() ? body.get_object().if_contains(key) : nullptr;
    if (value != nullptr && value->is_string()) name = std::string(value->get_string());
  }
  if (name.empty()) return fail(ErrorCode::kInvalidArgument, "model is required");
  SLUICE_TRY(const ModelHandle handle, models.acquire(name));
  return ollama::show_reply(info_of(handle.name, *handle.model));
}

asio::awaitable<Result<std::string>> show_on_worker(ModelManager& models, http::RequestPtr request) {
  co_return show_body(models, request->body);
}

http::Handler generation_handler(ServiceContext& context,
                                 Result<ollama::GenerateCall> (*parse_call)(const json::value&)) {
  return [&context, parse_call](http::RequestPtr request, http::WriterPtr writer) -> asio::awaitable<void> {
    auto parse = [&context, parse_call](const json::value& body) {
      return prepare(context.models, parse_call(body));
    };
    return run_exchange(context, request, writer, std::move(parse), error_response);
  };
}

http::Handler text_handler(ServiceContext& context, std::string (*make)(const ModelManager&)) {
  return [&context, make](http::RequestPtr, http::WriterPtr writer) -> asio::awaitable<void> {
    http::Response response = json_response(200, make(context.models));
    response.content_type = "application/json; charset=utf-8";
    co_await writer->send(std::move(response));
  };
}

asio::awaitable<void> greet(http::RequestPtr, http::WriterPtr writer) {
  http::Response response;
  response.content_type = "text/plain; charset=utf-8";
  response.body = "Ollama is running";  // what clients look for
  co_await writer->send(std::move(response));
}

}  // namespace

void add_ollama_routes(http::Router& router, ServiceContext& context) {
  router.add("POST", "/api/generate", generation_handler(context, ollama::parse_generate));
  router.add("POST", "/api/chat", generation_handler(context, ollama::parse_chat));
  router.add("GET", "/api/tags", text_handler(context, tags_body));
  router.add("GET", "/api/ps", text_handler(context, ps_body));
  router.add("GET", "/api/version",
             text_handler(context, [](const ModelManager&) { return ollama::version_reply(kVersion); }));
  router.add("POST", "/api/show",
             [&context](http::RequestPtr request, http::WriterPtr writer) -> asio::awaitable<void> {
               auto showing = show_on_worker(context.models, request);
               Result<std::string> body =
                   co_await asio::co_spawn(context.workers, std::move(showing), asio::use_awaitable);
               http::Response response =
                   body ? json_response(200, std::move(*body)) : error_response(body.error());
               co_await writer->send(std::move(response));
             });
  router.add("GET", "/", greet);
  router.refuse_with("/api/", [](const http::Request& request, int status) {
    const Error error{
        ErrorCode::kNotFound, fmt::format("{} {} is not known here", request.method, request.path), {}};
    http::Response response = error_response(error);
    response.status = status;
    return response;
  });
}

}  // namespace sluice::server
