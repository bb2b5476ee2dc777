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

// Hands out the body as it arrives.
boost::system::error_code read_body(beast::tcp_stream& stream, beast::flat_buffer& buffer,
                                    bhttp::response_parser<bhttp::buffer_body>& parser,
                                    const std::function<bool(std::string_view)>& on_bytes) {
  char bytes[16384];
  boost::system::error_code error;
  while (!parser.is_done()) {
    parser.get().body().data = bytes;
    parser.get().body().size = sizeof bytes;
    bhttp::read_some(stream, buffer, parser, error);
    if (error == bhttp::error::need_buffer) error = {};
    const std::size_t read = sizeof bytes - parser.get().body().size;
    if (read > 0 && !on_bytes({bytes, read})) return {};
    if (error) return error;
  }
  return {};
}

}  // namespace

Result<Response> fetch(const ClientRequest& request, const std::function<bool(std::string_view)>& on_bytes) {
  asio::io_context context;
  beast::tcp_stream stream(context);
  boost::system::error_code error;
  const auto address =
      asio::ip::make_address(request.host == "localhost" ? "127.0.0.1" : request.host, error);
  if (error) return fail(ErrorCode::kInvalidArgument, "host \"{}\" is not an IP address", request.host);
  stream.expires_after(request.timeout);
  stream.connect({address, request.port}, error);
  if (error) return unreachable(request, error);
  bhttp::write(stream, to_message(request), error);
  if (error) return unreachable(request, error);
  beast::flat_buffer buffer;
  bhttp::response_parser<bhttp::buffer_body> parser;
  parser.body_limit(boost::none);
  parser.skip(request.method == "HEAD");
  bhttp::read_header(stream, buffer, parser, error);
  if (error) return unreachable(request, error);
  Response response;
  response.status = parser.get().result_int();
  for (const auto& field : parser.get())
    response.headers.emplace_back(std::string(field.name_string()), std::string(field.value()));
  response.content_type = std::string(find_header(response.headers, "Content-Type"));
  const bool streams = on_bytes && response.status == 200;
  error = read_body(
      stream, buffer, parser, streams ? on_bytes : [&](std::string_view bytes) {
        response.body += bytes;
        return true;
      });
  if (error) return fail(ErrorCode::kUnavailable, "the server broke off its answer: {}", error.message());
  return response;
}

}  // namespace sluice::http
