// HTTP/1.1 server: listens, runs one coroutine per connection on its own I/O threads, bounds everything a
// client sends.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "http/router.h"

namespace sluice::http {

struct ServerOptions {
  std::string host = "127.0.0.1";
  std::uint16_t port = 0;  // 0: any free one
  std::size_t threads = 1;
  std::size_t body_bytes_max = std::size_t{64} << 20;
  std::size_t header_bytes_max = 64 << 10;
  std::size_t connections_max = 4096;
  std::chrono::milliseconds idle_timeout{75'000};  // between requests, and for reading one
  std::chrono::milliseconds write_timeout{
      30'000};  // a client that takes no bytes for so long is dropped (F048)
};

class Server {
 public:
  Server(ServerOptions options, Router router);
  // stop(). What handlers wait for elsewhere (worker pools) must have ended: join it between stop() and this.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Binds and starts the I/O threads. Errors: kUnavailable when the port is in use or may not be bound.
  Status start();
  std::uint16_t port() const;
  // No new connections; running answers may finish within `drain`; then everything is closed.
  void stop(std::chrono::milliseconds drain = {});

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace sluice::http
