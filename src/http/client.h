// Blocking HTTP/1.1 client for the command line and tests.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"
#include "http/message.h"

namespace sluice::http {

struct ClientRequest {
  std::string host = "127.0.0.1";
  std::uint16_t port = 0;
  std::string method = "GET";
  std::string target = "/";
  std::string body;                   // sent as application/json when not empty
  std::chrono::seconds timeout{600};  // longest silence: to connect, to send, between two reads
};

// The answer; `on_bytes` gets the body of a 200 as it arrives and may return false to hang up. Any other
// status is collected in the response's body. Errors: kUnavailable when nobody answers,
// kDeadlineExceeded after `timeout`.
Result<Response> fetch(const ClientRequest& request,
                       const std::function<bool(std::string_view)>& on_bytes = nullptr);

}  // namespace sluice::http
