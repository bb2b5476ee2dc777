#include "http/client.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>

namespace sluice::http {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace bhttp = boost::beast::http;

tl::unexpected<Error> unreachable(const ClientRequest& request, const boost::system::error_code& error) {
  if (error == beast::error::timeout)
    return fail(ErrorCode::kDeadlineExceeded, "no answer from http://{}:{} for {} s", request.host,
                request.port, request.timeout.count());
  return fail(ErrorCode::kUnavailable, "no answer from http://{}:{}: {} (is the server running?)",
              request.host, request.port, error.message());
}

bhttp::request<bhttp::string_body> to_message(const ClientRequest& request) {
  bhttp::request<bhttp::string_body> message;
  message.method_string(request.method);
  message.target(request.target);
  message.set(bhttp::field::host, fmt::format("{}:{}", request.host, request.port));
  if (!request.body.empty()) message.set(bhttp::field::content_type, "application/json");
  message.body() = request.body;
  message.prepare_payload();
  return message;
}

// Runs one asynchronous operation to its end: blocking calls know no time limit.
class Caller {
 public:
  explicit Caller(std::chrono::seconds timeout) : stream_(context_), timeout_(timeout) {}
  beast::tcp_stream& stream() { return stream_; }

  template <typename Start>
  boost::system::error_code run(Start start) {
    boost::system::error_code result;
    stream_.expires_after(timeout_);
    start([&result](const boost::system::error_code& error, auto&&...) { result = error; });
    context_.restart();
    context_.run();
    return result;
  }

 private:
  asio::io_context context_;
  beast::tcp_stream stream_;
  std::chrono::seconds timeout_;
};

// Hands out the body as it arrives.
boost::system::error_code read_body(Caller& caller, beast::flat_buffer& buffer,
                                    bhttp::response_parser<bhttp::buffer_body>& parser,
                                    const std::function<bool(std::string_view)>& on_bytes) {
  char bytes[16384];
  while (!parser.is_done()) {
    parser.get().body().data = bytes;
    parser.get().body().size = sizeof bytes;
    boost::system::error_code error = caller.run(
        [&](auto done) { bhttp::async_read_some(caller.stream(), buffer, parser, std::move(done)); });
    if (error == bhttp::error::need_buffer) error = {};
    const std::size_t read = sizeof bytes - parser.get().body().size;
    if (read > 0 && !on_bytes({bytes, read})) return {};
    if (error) return error;
  }
  return {};
}

}  // namespace

Result<Response> fetch(const ClientRequest& request, const std::function<bool(std::string_view)>& on_bytes) {
  boost::system::error_code error;
  const auto address =
      asio::ip::make_address(request.host == "localhost" ? "127.0.0.1" : request.host, error);
  if (error) return fail(ErrorCode::kInvalidArgument, "host \"{}\" is not an IP address", request.host);
  Caller caller(request.timeout);
  const asio::ip::tcp::endpoint endpoint(address, request.port);
  error = caller.run([&](auto done) { caller.stream().async_connect(endpoint, std::move(done)); });
  if (error) return unreachable(request, error);
  auto message = to_message(request);
  error = caller.run([&](auto done) { bhttp::async_write(caller.stream(), message, std::move(done)); });
  if (error) return unreachable(request, error);
  beast::flat_buffer buffer;
  bhttp::response_parser<bhttp::buffer_body> parser;
  parser.body_limit(boost::none);
  parser.skip(request.method == "HEAD");
  error = caller.run(
      [&](auto done) { bhttp::async_read_header(caller.stream(), buffer, parser, std::move(done)); });
  if (error) return unreachable(request, error);
  Response response;
  response.status = parser.get().result_int();
  for (const auto& field : parser.get())
    response.headers.emplace_back(std::string(field.name_string()), std::string(field.value()));
  response.content_type = std::string(find_header(response.headers, "Content-Type"));
  const bool streams = on_bytes && response.status == 200;
  error = read_body(
      caller, buffer, parser, streams ? on_bytes : [&](std::string_view bytes) {
        response.body += bytes;
        return true;
      });
  if (error == beast::error::timeout) return unreachable(request, error);
  if (error) return fail(ErrorCode::kUnavailable, "the server broke off its answer: {}", error.message());
  return response;
}

}  // namespace sluice::http
