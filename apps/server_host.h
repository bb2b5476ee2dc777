// Everything a running server consists of, in the order it must end.
#pragma once

#include <boost/asio/thread_pool.hpp>
#include <memory>

#include "http/server.h"
#include "server/metrics.h"
#include "server/model_manager.h"
#include "server/service_context.h"

namespace sluice::apps {

class ServerHost {
 public:
  ServerHost(server::ManagerOptions manager_options, std::shared_ptr<store::ModelStore> store,
             http::ServerOptions http_options);
  ~ServerHost();
  server::ModelManager& models() { return models_; }
  Status start() { return http_->start(); }
  std::uint16_t port() const { return http_->port(); }
  // Streams that run may finish within `drain`.
  void stop(std::chrono::milliseconds drain);

 private:
  server::TextWorkers text_workers_{2};
  boost::asio::thread_pool workers_{4};
  server::ModelManager models_;
  server::Metrics metrics_;
  server::Catalogue catalogue_;
  server::ServiceContext context_;
  std::unique_ptr<http::Server> http_;
};

}  // namespace sluice::apps
