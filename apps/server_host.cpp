#include "apps/server_host.h"

namespace sluice::apps {

ServerHost::ServerHost(server::ManagerOptions manager_options, std::shared_ptr<store::ModelStore> store,
                       http::ServerOptions http_options)
    : models_(std::move(manager_options), std::move(store), text_workers_),
      catalogue_(models_),
      context_{models_, metrics_, catalogue_, workers_} {
  http::Router router;
  server::add_openai_routes(router, context_);
  server::add_ollama_routes(router, context_);
  server::add_admin_routes(router, context_);
  http_ = std::make_unique<http::Server>(std::move(http_options), std::move(router));
}

ServerHost::~ServerHost() { stop({}); }

void ServerHost::stop(std::chrono::milliseconds drain) {
  models_.stop();
  http_->stop(drain);
  workers_.join();
}

}  // namespace sluice::apps
