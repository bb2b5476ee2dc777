// Requests and responses as values, and the writer a handler answers through. No Beast type leaves this
// folder.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::http {

using Headers = std::vector<std::pair<std::string, std::string>>;

// Value of the first header with this name, whatever its case; empty when absent.
std::string_view find_header(const Headers& headers, std::string_view name);

struct Request {
  std::string method;
  std::string path;   // without the query
  std::string query;  // after '?'
  Headers headers;
  std::string body;
};

struct Response {
  int status = 200;
  std::string content_type = "application/json";
  Headers headers;
  std::string body;
};

// Answers one request; used by one coroutine. After `false` the client is gone and nothing more can be said.
class ResponseWriter {
 public:
  virtual ~ResponseWriter() = default;
  virtual boost::asio::awaitable<bool> send(Response response) = 0;  // the whole answer
  virtual boost::asio::awaitable<bool> begin(Response head) = 0;     // a streamed answer without its body
  virtual boost::asio::awaitable<bool> write(
      std::string bytes) = 0;  // false too when the client reads too slowly
  virtual boost::asio::awaitable<bool> end() = 0;
  // Called at most once, on an I/O thread, when the client closes while the handler runs (field report F041).
  virtual void on_disconnect(std::function<void()> callback) = 0;
};

using RequestPtr = std::shared_ptr<const Request>;
using WriterPtr = std::shared_ptr<ResponseWriter>;
using Handler = std::function<boost::asio::awaitable<void>(RequestPtr, WriterPtr)>;

}  // namespace sluice::http
