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

Dialect dialect_of(const std::shared_ptr<const ollama::GenerateCall>& call) {
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

Status refuse_thoughtless(const ModelHandle& handle) {
  if (handle.model->facts.can_think) return {};
  return fail(ErrorCode::kInvalidArgument, "\"{}\" does not support thinking", handle.name);
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
    exchange.keep_alive = is_forever ? std::chrono::seconds(-1) : call->keep_alive->value;
  }
  if (call->request.thinking.value_or(false)) exchange.admit = refuse_thoughtless;
  exchange.dialect = dialect_of(call);
  return exchange;
}

http::Handler generation_handler(ServiceContext& context,
                                 Result<ollama::GenerateCall> (*parse_call)(const json::value&)) {
  return [&context, parse_call](http::RequestPtr request, http::WriterPtr writer) -> asio::awaitable<void> {
    auto parse = [&context, parse_call](const json::value& body) {
      return prepare(context.models, parse_call(body));
    };
    return run_exchange(context, std::move(request), std::move(writer), std::move(parse), error_response);
  };
}

using CatalogueCall = Result<std::string> (*)(Catalogue&, const std::string& body);

asio::awaitable<Result<std::string>> call_on_worker(Catalogue& catalogue, CatalogueCall call,
                                                    http::RequestPtr request) {
  co_return call(catalogue, request->body);
}

http::Handler catalogue_handler(ServiceContext& context, CatalogueCall call) {
  return [&context, call](http::RequestPtr request, http::WriterPtr writer) -> asio::awaitable<void> {
    auto calling = call_on_worker(context.catalogue, call, request);
    Result<std::string> body =
        co_await asio::co_spawn(context.workers, std::move(calling), asio::use_awaitable);
    http::Response response = body ? json_response(200, std::move(*body)) : error_response(body.error());
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
  router.add("GET", "/api/tags", catalogue_handler(context, [](Catalogue& catalogue, const std::string&) {
               return Result<std::string>(catalogue.tags());
             }));
  router.add("GET", "/api/ps", catalogue_handler(context, [](Catalogue& catalogue, const std::string&) {
               return Result<std::string>(catalogue.ps());
             }));
  router.add("POST", "/api/show",
             catalogue_handler(context, [](Catalogue& catalogue, const std::string& body) {
               return catalogue.show(body);
             }));
  router.add("GET", "/api/version", catalogue_handler(context, [](Catalogue&, const std::string&) {
               return Result<std::string>(ollama::version_reply(kVersion));
             }));
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
