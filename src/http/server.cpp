#include "http/server.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <thread>
#include <vector>

#include "base/log.h"
#include "http/session.h"

namespace sluice::http {

namespace asio = boost::asio;
using asio::ip::tcp;

struct Server::State {
  State(ServerOptions given, Router routes)
      : options(std::move(given)),
        context(std::make_unique<asio::io_context>(static_cast<int>(options.threads))),
        acceptor(std::make_unique<tcp::acceptor>(*context)) {
    shared.options = options;
    shared.router = std::move(routes);
  }

  asio::awaitable<void> accept_loop() {
    while (acceptor->is_open()) {
      boost::system::error_code error;
      tcp::socket socket = co_await acceptor->async_accept(asio::make_strand(*context),
                                                           asio::redirect_error(asio::use_awaitable, error));
      if (error == asio::error::operation_aborted) co_return;
      if (error) {  // out of descriptors: wait a moment instead of spinning
        log::warning("accept failed: {}", error.message());
        asio::steady_timer pause(*context, std::chrono::milliseconds(100));
        co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, error));
        continue;
      }
      if (shared.connections.load() >= options.connections_max) continue;  // closes the socket
      start_session(std::move(socket), shared);
    }
  }

  ServerOptions options;
  SessionShared shared;
  std::unique_ptr<asio::io_context> context;
  std::unique_ptr<tcp::acceptor> acceptor;
  std::vector<std::thread> threads;
  std::uint16_t port = 0;
};

Server::Server(ServerOptions options, Router router)
    : state_(std::make_shared<State>(std::move(options), std::move(router))) {}

Server::~Server() {
  stop();
  // What never ran in the context may hold the state, which holds the context.
  state_->acceptor.reset();
  state_->context.reset();
}

std::uint16_t Server::port() const { return state_->port; }

Status Server::start() {
  boost::system::error_code error;
  const std::string& host = state_->options.host;
  const auto address = asio::ip::make_address(host == "localhost" ? "127.0.0.1" : host, error);
  if (error) return fail(ErrorCode::kInvalidArgument, "host \"{}\" is not an IP address", host);
  const tcp::endpoint endpoint(address, state_->options.port);
  tcp::acceptor& acceptor = *state_->acceptor;
  acceptor.open(endpoint.protocol(), error);
  if (!error) acceptor.set_option(asio::socket_base::reuse_address(true), error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (error == asio::error::address_in_use) {
    return fail(ErrorCode::kUnavailable,
                "port {} of {} is in use: stop the other server or choose another --port",
                state_->options.port, host);
  }
  if (error)
    return fail(ErrorCode::kUnavailable, "cannot listen on {}:{}: {}", host, state_->options.port,
                error.message());
  state_->port = acceptor.local_endpoint().port();
  state_->shared.is_loopback = address.is_loopback();
  asio::co_spawn(*state_->context, state_->accept_loop(), asio::detached);
  for (std::size_t i = 0; i < state_->options.threads; ++i) {
    state_->threads.emplace_back([state = state_] { state->context->run(); });
  }
  return {};
}

void Server::stop(std::chrono::milliseconds drain) {
  if (state_->threads.empty()) return;
  asio::post(*state_->context, [state = state_] {
    boost::system::error_code ignored;
    state->acceptor->close(ignored);
  });
  state_->shared.draining.store(true);
  const auto deadline = std::chrono::steady_clock::now() + drain;
  {
    std::unique_lock lock(state_->shared.mutex);
    state_->shared.idle.wait_until(lock, deadline, [&] { return state_->shared.active.load() == 0; });
  }
  state_->context->stop();
  for (std::thread& thread : state_->threads) thread.join();
  state_->threads.clear();
  // No I/O thread is left. Clients see the end now; the coroutines go with the context, in the destructor,
  // because work that a handler waits for elsewhere still posts its completion to it.
  boost::system::error_code ignored;
  state_->acceptor->close(ignored);
  const std::lock_guard lock(state_->shared.mutex);
  for (tcp::socket* socket : state_->shared.sockets) {
    socket->shutdown(tcp::socket::shutdown_both, ignored);
    socket->close(ignored);
  }
}

}  // namespace sluice::http
