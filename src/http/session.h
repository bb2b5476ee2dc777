// One connection: reads requests, calls handlers, keeps alive. Internal to http/.
#pragma once

#include <atomic>
#include <boost/asio/ip/tcp.hpp>
#include <condition_variable>
#include <mutex>
#include <set>

#include "http/server.h"

namespace sluice::http {

// What all connections of a server share; outlives them.
struct SessionShared {
  ServerOptions options;
  Router router;
  std::atomic<std::size_t> connections{0};
  std::atomic<std::size_t> active{0};  // handlers that run
  std::atomic<bool> draining{false};
  bool is_loopback = true;  // only this machine reaches the server; set before the first connection
  std::mutex mutex;
  std::condition_variable idle;                     // active fell to zero
  std::set<boost::asio::ip::tcp::socket*> sockets;  // of all sessions; under `mutex`
};

void start_session(boost::asio::ip::tcp::socket socket, SessionShared& shared);

}  // namespace sluice::http
