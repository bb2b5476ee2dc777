// What every route needs; outlives the HTTP server.
#pragma once

#include <boost/asio/thread_pool.hpp>

#include "http/router.h"
#include "server/catalogue.h"
#include "server/metrics.h"
#include "server/model_manager.h"

namespace sluice::server {

inline constexpr const char* kVersion = "0.1.0";

struct ServiceContext {
  ModelManager& models;
  Metrics& metrics;
  Catalogue& catalogue;
  // Parsing, templates, tokenizing and files: never on an I/O thread, where streams are served.
  boost::asio::thread_pool& workers;
};

void add_openai_routes(http::Router& router, ServiceContext& context);
void add_ollama_routes(http::Router& router, ServiceContext& context);
void add_admin_routes(http::Router& router, ServiceContext& context);

}  // namespace sluice::server
