#include "http/session.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>

#include "base/log.h"
#include "http/cors.h"

namespace sluice::http {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace bhttp = boost::beast::http;
using Stream = beast::tcp_stream;

Request to_request(bhttp::request<bhttp::string_body>&& message) {
  Request request;
  request.method = std::string(message.method_string());
  const std::string_view target(message.target().data(), message.target().size());
  const std::size_t mark = target.find('?');
  request.path = std::string(target.substr(0, mark));
  if (mark != std::string_view::npos) request.query = std::string(target.substr(mark + 1));
  for (const auto& field : message) {
    request.headers.emplace_back(std::string(field.name_string()), std::string(field.value()));
  }
  request.body = std::move(message.body());
  return request;
}

// Shared by the connection's coroutine, the handler and the watcher; all on the connection's strand.
class Session : public ResponseWriter, public std::enable_shared_from_this<Session> {
 public:
  Session(asio::ip::tcp::socket socket, SessionShared& shared) : stream_(std::move(socket)), shared_(shared) {
    ++shared_.connections;
    boost::system::error_code ignored;
    stream_.socket().set_option(asio::ip::tcp::no_delay(true), ignored);
  }
  ~Session() override { --shared_.connections; }

  asio::awaitable<void> run() {
    bool keeps_alive = true;
    while (keeps_alive && !shared_.draining.load()) {
      auto parser = std::make_unique<bhttp::request_parser<bhttp::string_body>>();
      parser->body_limit(shared_.options.body_bytes_max);
      parser->header_limit(static_cast<std::uint32_t>(shared_.options.header_bytes_max));
      stream_.expires_after(shared_.options.idle_timeout);
      boost::system::error_code error;
      co_await bhttp::async_read(stream_, buffer_, *parser, asio::redirect_error(asio::use_awaitable, error));
      if (error) {
        co_await refuse(error);
        break;
      }
      keep_alive_ = parser->get().keep_alive();
      version_ = parser->get().version();
      request_ = std::make_shared<const Request>(to_request(parser->release()));
      co_await answer();
      keeps_alive = keep_alive_ && !is_gone_;
    }
    boost::system::error_code ignored;
    stream_.socket().shutdown(asio::ip::tcp::socket::shutdown_both, ignored);
    stream_.close();
  }

  asio::awaitable<bool> send(Response response) override {
    auto message = make_head(response);
    message.body() = std::move(response.body);
    message.prepare_payload();
    if (response.status == 204) message.erase(bhttp::field::content_length);
    if (is_head()) message.body().clear();  // Content-Length stays what GET would say
    has_begun_ = true;
    co_return co_await write_message(message);
  }

  asio::awaitable<bool> begin(Response head) override {
    auto message = make_head(head);
    message.chunked(true);
    has_begun_ = true;
    bhttp::response_serializer<bhttp::string_body> serializer(message);
    stream_.expires_after(shared_.options.write_timeout);
    boost::system::error_code error;
    co_await bhttp::async_write_header(stream_, serializer, asio::redirect_error(asio::use_awaitable, error));
    co_return note(error);
  }

  asio::awaitable<bool> write(std::string bytes) override {
    if (bytes.empty() || is_head()) co_return !is_gone_;
    co_return co_await write_raw(fmt::format("{:x}\r\n", bytes.size()) + bytes + "\r\n");
  }

  asio::awaitable<bool> end() override { co_return co_await write_raw("0\r\n\r\n"); }

  void on_disconnect(std::function<void()> callback) override {
    if (is_gone_) return callback();
    disconnect_ = std::move(callback);
  }

 private:
  bool is_head() const { return request_ && request_->method == "HEAD"; }

  bhttp::response<bhttp::string_body> make_head(const Response& response) const {
    bhttp::response<bhttp::string_body> message(static_cast<bhttp::status>(response.status), version_);
    Headers headers = response.headers;
    if (request_) add_cors_headers(*request_, headers);
    if (!response.content_type.empty()) message.set(bhttp::field::content_type, response.content_type);
    for (const auto& [name, value] : headers) message.set(name, value);
    message.keep_alive(keep_alive_ && !shared_.draining.load());
    return message;
  }

  asio::awaitable<bool> write_message(bhttp::response<bhttp::string_body>& message) {
    stream_.expires_after(shared_.options.write_timeout);
    boost::system::error_code error;
    if (is_head()) {
      bhttp::response_serializer<bhttp::string_body> serializer(message);
      co_await bhttp::async_write_header(stream_, serializer,
                                         asio::redirect_error(asio::use_awaitable, error));
    } else {
      co_await bhttp::async_write(stream_, message, asio::redirect_error(asio::use_awaitable, error));
    }
    co_return note(error);
  }

  asio::awaitable<bool> write_raw(std::string bytes) {
    if (is_gone_) co_return false;
    stream_.expires_after(shared_.options.write_timeout);
    boost::system::error_code error;
    co_await asio::async_write(stream_, asio::buffer(bytes),
                               asio::redirect_error(asio::use_awaitable, error));
    co_return note(error);
  }

  bool note(const boost::system::error_code& error) {
    if (error) leave();
    return !is_gone_;
  }

  void leave() {
    is_gone_ = true;
    if (auto callback = std::exchange(disconnect_, nullptr)) callback();
  }

  // A request that cannot be read: says why when there is somebody to say it to.
  asio::awaitable<void> refuse(const boost::system::error_code& error) {
    Response response;
    if (error == bhttp::error::body_limit) {
      response.status = 413;
      response.body =
          fmt::format("{{\"error\":\"the body is larger than {} bytes\"}}", shared_.options.body_bytes_max);
    } else if (error == bhttp::error::header_limit) {
      response.status = 431;
      response.body = fmt::format("{{\"error\":\"the headers are larger than {} bytes\"}}",
                                  shared_.options.header_bytes_max);
    } else if (error.category() == bhttp::make_error_code(bhttp::error::bad_method).category() &&
               error != bhttp::error::end_of_stream && error != bhttp::error::partial_message) {
      response.status = 400;
      response.body = fmt::format("{{\"error\":\"not an HTTP request: {}\"}}", error.message());
    } else {
      co_return;  // closed or silent: nobody listens
    }
    keep_alive_ = false;
    request_.reset();
    co_await send(std::move(response));
  }

  asio::awaitable<void> answer() {
    has_begun_ = false;
    ++shared_.active;
    watch();
    try {
      co_await dispatch();
    } catch (const std::exception& error) {
      log::error("{} {}: {}", request_->method, request_->path, error.what());
      is_gone_ = is_gone_ || has_begun_;
    }
    if (!has_begun_ && !is_gone_) {
      Response failed;
      failed.status = 500;
      failed.body = "{\"error\":\"internal error\"}";
      co_await send(std::move(failed));
    }
    disconnect_ = nullptr;
    boost::system::error_code ignored;
    watching_ = false;
    stream_.socket().cancel(ignored);  // ends the watcher's wait
    if (--shared_.active == 0) {
      const std::lock_guard lock(shared_.mutex);
      shared_.idle.notify_all();
    }
  }

  asio::awaitable<void> dispatch() {
    const Router::Match match = shared_.router.find(request_->method, request_->path);
    if (request_->method == "OPTIONS") {
      co_await send(preflight(*request_));
    } else if (match.handler != nullptr) {
      co_await (*match.handler)(request_, shared_from_this());
    } else {
      const bool is_known = !match.allowed.empty();
      Response response;
      response.status = is_known ? 405 : 404;
      response.body =
          fmt::format("{{\"error\":{{\"message\":\"{}\",\"type\":\"{}\",\"param\":null,\"code\":{}}}}}",
                      is_known ? "this path does not take that method" : "there is no such path",
                      is_known ? "Method Not Allowed" : "Not Found", response.status);
      if (is_known) response.headers.emplace_back("Allow", fmt::format("{}", fmt::join(match.allowed, ", ")));
      co_await send(std::move(response));
    }
  }

  // While a handler runs, looks for the end of the client's side. A client that sends its next request early
  // is fine.
  void watch() {
    watching_ = true;
    stream_.socket().async_wait(asio::ip::tcp::socket::wait_read,
                                [self = shared_from_this()](const boost::system::error_code& error) {
                                  if (error || !self->watching_) return;
                                  char byte = 0;
                                  boost::system::error_code peeked;
                                  self->stream_.socket().non_blocking(true, peeked);
                                  const std::size_t read = self->stream_.socket().receive(
                                      asio::buffer(&byte, 1), asio::socket_base::message_peek, peeked);
                                  const bool is_open = read > 0 || peeked == asio::error::would_block;
                                  if (!is_open) self->leave();
                                });
  }

  Stream stream_;
  SessionShared& shared_;
  beast::flat_buffer buffer_;
  RequestPtr request_;
  std::function<void()> disconnect_;
  bool keep_alive_ = false;
  unsigned version_ = 11;
  bool has_begun_ = false;
  bool is_gone_ = false;
  bool watching_ = false;
};

}  // namespace

void start_session(asio::ip::tcp::socket socket, SessionShared& shared) {
  const auto executor = socket.get_executor();
  auto session = std::make_shared<Session>(std::move(socket), shared);
  asio::co_spawn(
      executor, [session]() -> asio::awaitable<void> { co_await session->run(); }, asio::detached);
}

}  // namespace sluice::http
