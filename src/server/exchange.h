// One generation over HTTP, whatever the dialect: start it off the I/O thread, then stream its events or fold
// them.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/generation.h"
#include "http/message.h"
#include "server/service_context.h"

namespace sluice::server {

// The dialect's side of an answer.
struct Dialect {
  std::string stream_type;                                               // Content-Type of a stream
  std::function<std::string(const api::TextEvent&)> write;               // bytes of one event in a stream
  std::function<std::string(const std::vector<api::TextEvent>&)> reply;  // body of a whole answer
  std::function<http::Response(const Error&)> error;                     // before the first byte
};

// What was asked for, ready to run.
struct Exchange {
  std::vector<api::TextRequest> requests;  // several prompts of one completion
  bool streams = false;
  bool loads_model = true;                         // false: there is nothing to run, not even a load
  std::optional<std::chrono::seconds> keep_alive;  // of the model after this; negative: for ever
  std::string model;                               // as the client named it
  // What the dialect refuses of a model that was found; may be empty.
  std::function<Status(const ModelHandle&)> admit;
  Dialect dialect;
};

// Parses `request` as JSON, finds its model, prepares, generates, answers. `error` shapes errors before
// preparation.
boost::asio::awaitable<void> run_exchange(ServiceContext& context, http::RequestPtr request,
                                          http::WriterPtr writer,
                                          std::function<Result<Exchange>(const json::value&)> parse,
                                          std::function<http::Response(const Error&)> error);

// A JSON response.
http::Response json_response(int status, std::string body);

}  // namespace sluice::server
