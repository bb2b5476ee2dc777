// The server over real loopback sockets.
#include <gtest/gtest.h>

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <thread>

#include "http/client.h"
#include "http/server.h"

namespace sluice::http {
namespace {

namespace asio = boost::asio;

asio::awaitable<void> pause(int milliseconds) {
  asio::steady_timer timer(co_await asio::this_coro::executor, std::chrono::milliseconds(milliseconds));
  co_await timer.async_wait(asio::use_awaitable);
}

struct Fixture {
  std::atomic<int> disconnects{0};
  std::atomic<bool> writer_said_gone{false};
  std::unique_ptr<Server> server;

  explicit Fixture(const ServerOptions& options = {}) {
    Router router;
    router.add("GET", "/hello", [](RequestPtr, WriterPtr writer) -> asio::awaitable<void> {
      Response response;
      response.body = "{\"hello\":1}";
      co_await writer->send(std::move(response));
    });
    router.add("POST", "/echo", [](RequestPtr request, WriterPtr writer) -> asio::awaitable<void> {
      Response response;
      response.body = request->body;
      co_await writer->send(std::move(response));
    });
    router.add("GET", "/stream", [this](RequestPtr request, WriterPtr writer) -> asio::awaitable<void> {
      writer->on_disconnect([this] { ++disconnects; });
      Response head;
      co_await writer->begin(std::move(head));
      const int count = request->query.empty() ? 5 : 1000000;
      const std::string chunk(count == 5 ? 6 : 60000, 'x');
      for (int i = 0; i < count; ++i) {
        const bool is_there = co_await writer->write(chunk);
        if (!is_there) {
          writer_said_gone = true;
          co_return;
        }
        if (count == 5) co_await pause(2);
      }
      co_await writer->end();
    });
    router.add("GET", "/slow", [this](RequestPtr, WriterPtr writer) -> asio::awaitable<void> {
      writer->on_disconnect([this] { ++disconnects; });
      for (int i = 0; i < 300 && disconnects == 0; ++i) co_await pause(10);
      Response response;
      co_await writer->send(std::move(response));
    });
    router.add("GET", "/throws", [](RequestPtr, WriterPtr) -> asio::awaitable<void> {
      throw std::runtime_error("planted");
      co_return;
    });
    server = std::make_unique<Server>(options, std::move(router));
    EXPECT_TRUE(server->start());
  }
  Result<Response> get(const std::string& target, const std::string& method = "GET",
                       const std::string& body = "") const {
    ClientRequest request;
    request.port = server->port();
    request.method = method;
    request.target = target;
    request.body = body;
    request.timeout = std::chrono::seconds(10);
    return fetch(request);
  }
  int connect_raw() const {
    const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(server->port());
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    return socket;
  }
  std::string raw(const std::string& bytes) const {
    const int socket = connect_raw();
    EXPECT_EQ(::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
    std::string answer;
    char buffer[4096];
    timeval limit{5, 0};
    ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    for (ssize_t read = 0; (read = ::recv(socket, buffer, sizeof buffer, 0)) > 0;)
      answer.append(buffer, static_cast<std::size_t>(read));
    ::close(socket);
    return answer;
  }
};

template <typename Test>
bool eventually(Test test) {
  for (int i = 0; i < 500; ++i, std::this_thread::sleep_for(std::chrono::milliseconds(10)))
    if (test()) return true;
  return false;
}

TEST(Server, AnswersAndRefuses) {
  const Fixture fixture;
  EXPECT_EQ(fixture.get("/hello")->body, "{\"hello\":1}");
  EXPECT_EQ(fixture.get("/echo", "POST", "{\"a\":2}")->body, "{\"a\":2}");
  EXPECT_EQ(fixture.get("/nothing")->status, 404);
  EXPECT_EQ(fixture.get("/echo")->status, 405);
  EXPECT_EQ(fixture.get("/throws")->status, 500);
  const auto head = fixture.get("/hello", "HEAD");
  EXPECT_EQ(head->status, 200);
  EXPECT_EQ(find_header(head->headers, "content-length"), "11");
  EXPECT_EQ(head->body, "");
}

TEST(Server, StreamsChunks) {
  const Fixture fixture;
  ClientRequest request;
  request.port = fixture.server->port();
  request.target = "/stream";
  std::string body;
  const auto response = fetch(request, [&](std::string_view bytes) {
    body += bytes;
    return true;
  });
  ASSERT_TRUE(response);
  EXPECT_EQ(body, std::string(30, 'x'));
}

TEST(Server, KeepsAliveAndTakesPipelinedRequests) {
  const Fixture fixture;
  const std::string one = "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n";
  const std::string last = "GET /hello HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
  const std::string answer = fixture.raw(one + one + last);
  std::size_t count = 0;
  for (std::size_t at = 0; (at = answer.find("200 OK", at)) != std::string::npos; ++at) ++count;
  EXPECT_EQ(count, 3U);
}

TEST(Server, RefusesMalformedAndOversized) {
  ServerOptions options;
  options.body_bytes_max = 1000;
  options.header_bytes_max = 2000;
  options.idle_timeout = std::chrono::milliseconds(300);
  const Fixture fixture(options);
  EXPECT_NE(fixture.raw("nonsense\r\n\r\n").find("400"), std::string::npos);
  EXPECT_NE(fixture.raw("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5000\r\n\r\n").find("413"),
            std::string::npos);
  EXPECT_NE(fixture.raw("GET /hello HTTP/1.1\r\nX: " + std::string(5000, 'a') + "\r\n\r\n").find("431"),
            std::string::npos);
  EXPECT_EQ(fixture.raw("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 50\r\n\r\nshort"),
            "");  // waits, then is closed
  EXPECT_EQ(fixture.get("/hello")->status, 200);
}

TEST(Server, CorsForPagesOfThisMachineOnly) {
  const Fixture fixture;
  const auto ask = [&](const std::string& method, const std::string& origin) {
    return fixture.raw(
        method + " /hello HTTP/1.1\r\nHost: localhost\r\nOrigin: " + origin +
        "\r\nAccess-Control-Request-Headers: x-stainless-helper-method\r\nConnection: close\r\n\r\n");
  };
  const std::string preflight = ask("OPTIONS", "http://localhost:3000");
  EXPECT_NE(preflight.find("204"), std::string::npos);
  EXPECT_NE(preflight.find("x-stainless-helper-method"), std::string::npos);
  EXPECT_NE(preflight.find("Access-Control-Allow-Origin: http://localhost:3000"), std::string::npos);
  EXPECT_NE(ask("OPTIONS", "https://evil.example").find("403"), std::string::npos);
  EXPECT_EQ(ask("GET", "https://localhost.evil.example").find("Allow-Origin"), std::string::npos);
}

TEST(Server, NoticesAClientThatLeaves) {  // field report F041
  for (const char* path : {"/slow", "/stream?endless"}) {
    Fixture fixture;
    const int socket = fixture.connect_raw();
    const std::string request = std::string("GET ") + path + " HTTP/1.1\r\nHost: x\r\n\r\n";
    ::send(socket, request.data(), request.size(), MSG_NOSIGNAL);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    ::close(socket);
    EXPECT_TRUE(eventually([&] { return fixture.disconnects == 1; })) << path;
  }
}

TEST(Server, DropsAClientThatNeverReads) {  // field report F048
  ServerOptions options;
  options.write_timeout = std::chrono::milliseconds(200);
  Fixture fixture(options);
  const int socket = fixture.connect_raw();
  const std::string request = "GET /stream?endless HTTP/1.1\r\nHost: x\r\n\r\n";
  ::send(socket, request.data(), request.size(), MSG_NOSIGNAL);
  EXPECT_TRUE(eventually([&] { return fixture.writer_said_gone.load(); }));
  EXPECT_EQ(fixture.get("/hello")->status, 200);
  ::close(socket);
}

TEST(Server, PortInUseIsAnError) {
  const Fixture fixture;
  ServerOptions options;
  options.port = fixture.server->port();
  Server second(options, Router());
  const auto started = second.start();
  ASSERT_FALSE(started);
  EXPECT_NE(started.error().message.find("in use"), std::string::npos);
}

TEST(Server, StopsWithAStreamRunning) {
  Fixture fixture;
  std::thread client([&] { (void)fixture.get("/stream?endless"); });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  fixture.server->stop(std::chrono::milliseconds(100));
  client.join();
}

}  // namespace
}  // namespace sluice::http
