// Health, version and metrics.
#include "server/exchange.h"

namespace sluice::server {

namespace asio = boost::asio;

namespace {

bool is_healthy(const ModelManager& models) {
  for (const RunningModel& running : models.running())
    if (!running.model->engine->healthy()) return false;
  return true;
}

}  // namespace

void add_admin_routes(http::Router& router, ServiceContext& context) {
  const auto health = [&context](http::RequestPtr, http::WriterPtr writer) -> asio::awaitable<void> {
    http::Response response;
    response.status = is_healthy(context.models) ? 200 : 503;
    co_await writer->send(std::move(response));
  };
  for (const char* path : {"/health", "/ping"}) router.add("GET", path, health);
  router.add("GET", "/version", [](http::RequestPtr, http::WriterPtr writer) -> asio::awaitable<void> {
    http::Response response = json_response(200, fmt::format("{{\"version\":\"{}\"}}", kVersion));
    co_await writer->send(std::move(response));
  });
  router.add("GET", "/metrics",
             [&context](http::RequestPtr, http::WriterPtr writer) -> asio::awaitable<void> {
               http::Response response = json_response(200, context.metrics.render(context.models));
               response.content_type = "text/plain; version=0.0.4; charset=utf-8";
               co_await writer->send(std::move(response));
             });
}

}  // namespace sluice::server
