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
using RequestParser = bhttp::request_parser<bhttp::string_body>;

constexpr std::size_t kEarlyBytesMax = 64 << 10;  // of requests sent before the answer to the last
constexpr std::size_t kReadBytes = 16 << 10;
constexpr std::chrono::seconds kLingerTime{5};  // for a refused client to finish sending

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
    const std::lock_guard lock(shared_.mutex);
    shared_.sockets.insert(&stream_.socket());
  }
  ~Session() override {
    --shared_.connections;
    const std::lock_guard lock(shared_.mutex);
    shared_.sockets.erase(&stream_.socket());
  }

  asio::awaitable<void> run() {
    bool keeps_alive = true;
    while (keeps_alive && !shared_.draining.load()) {
      auto parser = std::make_unique<RequestParser>();
      parser->body_limit(shared_.options.body_bytes_max);
      parser->header_limit(static_cast<std::uint32_t>(shared_.options.header_bytes_max));
      const boost::system::error_code error = co_await read_request(*parser);
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
    is_chunked_ = version_ >= 11;
    keep_alive_ = keep_alive_ && is_chunked_;  // for HTTP/1.0 the end of the connection ends the body
    auto message = make_head(head);
    if (is_chunked_) message.chunked(true);
    has_begun_ = true;
    has_open_body_ = !is_head();
    bhttp::response_serializer<bhttp::string_body> serializer(message);
    stream_.expires_after(shared_.options.write_timeout);
    boost::system::error_code error;
    co_await bhttp::async_write_header(stream_, serializer, asio::redirect_error(asio::use_awaitable, error));
    co_return note(error);
  }

  asio::awaitable<bool> write(std::string bytes) override {
    if (bytes.empty() || is_head()) co_return !is_gone_;
    if (!is_chunked_) co_return co_await write_raw(std::move(bytes));
    co_return co_await write_raw(fmt::format("{:x}\r\n", bytes.size()) + bytes + "\r\n");
  }

  asio::awaitable<bool> end() override {
    if (!std::exchange(has_open_body_, false) || !is_chunked_) co_return !is_gone_;
    co_return co_await write_raw("0\r\n\r\n");
  }

  void on_disconnect(std::function<void()> callback) override {
    if (is_gone_) return callback();
    disconnect_ = std::move(callback);
  }

 private:
  bool is_head() const { return request_ && request_->method == "HEAD"; }

  asio::awaitable<boost::system::error_code> read_request(RequestParser& parser) {
    stream_.expires_after(shared_.options.idle_timeout);
    boost::system::error_code error;
    co_await bhttp::async_read_header(stream_, buffer_, parser,
                                      asio::redirect_error(asio::use_awaitable, error));
    if (error) co_return error;
    const bool waits = beast::iequals(parser.get()[bhttp::field::expect], "100-continue");
    if (waits && parser.get().version() >= 11 && !parser.is_done()) {
      static constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
      co_await asio::async_write(stream_, asio::buffer(kContinue),
                                 asio::redirect_error(asio::use_awaitable, error));
      if (error) co_return error;
    }
    co_await bhttp::async_read(stream_, buffer_, parser, asio::redirect_error(asio::use_awaitable, error));
    co_return error;
  }

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
    const bool is_there = co_await send(std::move(response));
    if (is_there) co_await linger();
  }

  // Takes what a refused client still sends: closing over unread bytes resets the connection, and the client
  // would never see why.
  asio::awaitable<void> linger() {
    boost::system::error_code error;
    stream_.socket().shutdown(asio::ip::tcp::socket::shutdown_send, error);
    stream_.expires_after(kLingerTime);
    while (!error) {
      buffer_.clear();
      co_await stream_.async_read_some(buffer_.prepare(kReadBytes),
                                       asio::redirect_error(asio::use_awaitable, error));
    }
  }

  asio::awaitable<void> answer() {
    has_begun_ = has_open_body_ = false;
    ++shared_.active;
    watch(++watch_);
    try {
      co_await dispatch();
    } catch (const std::exception& error) {
      log::error("{} {}: {}", request_->method, request_->path, error.what());
    }
    is_gone_ = is_gone_ || has_open_body_;  // a body without an end: closing tells the client so
    if (!has_begun_ && !is_gone_) {
      Response failed;
      failed.status = 500;
      failed.body = "{\"error\":\"internal error\"}";
      co_await send(std::move(failed));
    }
    disconnect_ = nullptr;
    boost::system::error_code ignored;
    ++watch_;
    stream_.socket().cancel(ignored);  // ends the watcher's wait
    if (--shared_.active == 0) {
      const std::lock_guard lock(shared_.mutex);
      shared_.idle.notify_all();
    }
  }

  asio::awaitable<void> dispatch() {
    if (!admits(*request_, shared_.is_loopback)) {
      Response refused;
      refused.status = 403;
      refused.content_type.clear();
      co_await send(std::move(refused));
      co_return;
    }
    const Router::Match match = shared_.router.find(request_->method, request_->path);
    if (request_->method == "OPTIONS") {
      co_await send(preflight(*request_));
    } else if (match.handler != nullptr) {
      co_await (*match.handler)(request_, shared_from_this());
    } else {
      const bool is_known = !match.allowed.empty();
      Response response = shared_.router.refuse(*request_, is_known ? 405 : 404);
      if (is_known) response.headers.emplace_back("Allow", fmt::format("{}", fmt::join(match.allowed, ", ")));
      co_await send(std::move(response));
    }
  }

  // While a handler runs, looks for the end of the client's side. What a client sends early is kept for the
  // next request; beyond the bound its end is noticed by writing only.
  void watch(std::uint64_t ticket) {
    stream_.socket().async_wait(asio::ip::tcp::socket::wait_read,
                                [self = shared_from_this(), ticket](const boost::system::error_code& error) {
                                  if (!error && self->watch_ == ticket) self->look(ticket);
                                });
  }

  void look(std::uint64_t ticket) {
    boost::system::error_code error;
    stream_.socket().non_blocking(true, error);
    const std::size_t count = stream_.socket().receive(buffer_.prepare(kReadBytes), 0, error);
    buffer_.commit(count);
    if (count == 0 && error != asio::error::would_block) return leave();
    if (buffer_.size() < kEarlyBytesMax) watch(ticket);
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
  bool is_chunked_ = true;
  bool has_open_body_ = false;  // a streamed body that has not ended
  std::uint64_t watch_ = 0;     // which watch() is the living one
};

}  // namespace

void start_session(asio::ip::tcp::socket socket, SessionShared& shared) {
  const auto executor = socket.get_executor();
  auto session = std::make_shared<Session>(std::move(socket), shared);
  asio::co_spawn(
      executor, [session]() -> asio::awaitable<void> { co_await session->run(); }, asio::detached);
}

}  // namespace sluice::http
