// What the server says byte by byte: framing, refusals, guards, early ends; and the client's patience.
#include <gtest/gtest.h>

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <thread>

#include "http/client.h"
#include "http/server.h"

namespace sluice::http {
namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;

constexpr const char* kHello = "GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n";
constexpr const char* kLastHello = "GET /hello HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";

asio::awaitable<void> hello(RequestPtr, WriterPtr writer) {
  Response response;
  response.body = "hello";
  co_await writer->send(std::move(response));
}

asio::awaitable<void> echo_size(RequestPtr request, WriterPtr writer) {
  Response response;
  response.body = fmt::format("size {}", request->body.size());
  co_await writer->send(std::move(response));
}

asio::awaitable<void> stream(RequestPtr request, WriterPtr writer) {
  Response head;
  co_await writer->begin(std::move(head));
  co_await writer->write("one ");
  co_await writer->write("two");
  if (request->query != "forgets") co_await writer->end();
}

asio::awaitable<void> sleep_until(const std::atomic<bool>& done) {
  asio::steady_timer timer(co_await asio::this_coro::executor);
  for (int i = 0; i < 300 && !done.load(); ++i) {
    timer.expires_after(10ms);
    co_await timer.async_wait(asio::use_awaitable);
  }
}

class Connection {
 public:
  explicit Connection(const Server& server) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(server.port());
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    timeval limit{3, 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection() { close(); }

  // Whether all of it was taken.
  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }
  // What arrives until `mark` has (empty: until the end), or nothing more comes for 3 s.
  std::string read_until(std::string_view mark = {}) {
    std::string answer;
    char buffer[4096];
    while (mark.empty() || answer.find(mark) == std::string::npos) {
      const ssize_t count = ::recv(socket_, buffer, sizeof buffer, 0);
      saw_end_ = count == 0;
      if (count <= 0) break;
      answer.append(buffer, static_cast<std::size_t>(count));
    }
    return answer;
  }
  bool saw_end() const { return saw_end_; }  // an orderly end, not a reset or silence
  void close() {
    if (socket_ >= 0) ::close(socket_);
    socket_ = -1;
  }

 private:
  int socket_;
  bool saw_end_ = false;
};

class Protocol : public ::testing::Test {
 protected:
  void serve(const ServerOptions& options = {}) {
    Router router;
    router.add("GET", "/hello", hello);
    router.add("POST", "/size", echo_size);
    router.add("GET", "/stream", stream);
    router.add("GET", "/wait", [this](RequestPtr, WriterPtr writer) -> asio::awaitable<void> {
      writer->on_disconnect([this] { is_gone = true; });
      is_running = true;
      co_await sleep_until(is_gone);
      Response response;
      co_await writer->send(std::move(response));
    });
    router.add("GET", "/worker", [this](RequestPtr, WriterPtr writer) -> asio::awaitable<void> {
      is_running = true;
      auto job = []() -> asio::awaitable<void> {
        std::this_thread::sleep_for(300ms);
        co_return;
      };
      co_await asio::co_spawn(workers, job(), asio::use_awaitable);
      Response response;
      co_await writer->send(std::move(response));
    });
    server = std::make_unique<Server>(options, std::move(router));
    ASSERT_TRUE(server->start());
  }
  std::string ask(const std::string& request) {
    Connection connection(*server);
    connection.send(request);
    return connection.read_until();
  }
  int status_of(const std::string& method, const std::string& host, const std::string& origin) {
    const std::string origin_line = origin.empty() ? "" : "Origin: " + origin + "\r\n";
    const std::string answer = ask(method + " /hello HTTP/1.1\r\nHost: " + host + "\r\n" + origin_line +
                                   "Connection: close\r\n\r\n");
    return answer.size() > 12 ? std::atoi(answer.c_str() + 9) : 0;
  }
  static bool eventually(const std::atomic<bool>& flag) {
    for (int i = 0; i < 200 && !flag.load(); ++i) std::this_thread::sleep_for(10ms);
    return flag.load();
  }

  asio::thread_pool workers{1};
  std::atomic<bool> is_gone{false};
  std::atomic<bool> is_running{false};
  std::unique_ptr<Server> server;
};

TEST_F(Protocol, AnOldClientGetsAStreamWithoutChunks) {
  serve();
  const std::string answer = ask("GET /stream HTTP/1.0\r\n\r\n");
  EXPECT_EQ(answer.find("chunked"), std::string::npos) << answer;
  EXPECT_TRUE(answer.ends_with("\r\n\r\none two")) << answer;
}

TEST_F(Protocol, HeadOfAStreamLeavesTheConnectionInStep) {
  serve();
  const std::string answer =
      ask(std::string("HEAD /stream HTTP/1.1\r\nHost: localhost\r\n\r\n") + kLastHello);
  EXPECT_NE(answer.find("\r\n\r\nHTTP/1.1 200"), std::string::npos) << answer;
  EXPECT_EQ(answer.find("0\r\n\r\n"), std::string::npos) << answer;
}

TEST_F(Protocol, AStreamThatIsNotEndedIsCutNotMixedWithTheNext) {
  serve();
  const std::string answer =
      ask(std::string("GET /stream?forgets HTTP/1.1\r\nHost: localhost\r\n\r\n") + kHello);
  EXPECT_EQ(answer.find("hello"), std::string::npos) << answer;
}

TEST_F(Protocol, AClientThatAsksFirstIsToldToContinue) {
  serve();
  Connection connection(*server);
  connection.send(
      "POST /size HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_NE(connection.read_until("\r\n\r\n").find("HTTP/1.1 100"), std::string::npos);
  connection.send("body");
  EXPECT_NE(connection.read_until("size 4").find("size 4"), std::string::npos);
}

TEST_F(Protocol, ARefusalReachesAClientThatIsStillSending) {
  ServerOptions options;
  options.body_bytes_max = 1000;
  serve(options);
  const std::string body(std::size_t{24} << 20, 'x');
  Connection connection(*server);
  connection.send(
      fmt::format("POST /size HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n", body.size()));
  EXPECT_TRUE(connection.send(body));
  EXPECT_NE(connection.read_until("}").find("413"), std::string::npos);
}

TEST_F(Protocol, ADisconnectIsSeenBehindAPipelinedRequest) {  // field report F041
  serve();
  Connection connection(*server);
  connection.send(std::string("GET /wait HTTP/1.1\r\nHost: localhost\r\n\r\n"));
  ASSERT_TRUE(eventually(is_running));
  connection.send(kHello);
  std::this_thread::sleep_for(50ms);
  connection.close();
  EXPECT_TRUE(eventually(is_gone));
}

TEST_F(Protocol, ForeignPagesAndForeignNamesAreRefused) {  // field report F045, ollama.md 1.2
  serve();
  EXPECT_EQ(status_of("GET", "localhost:11434", ""), 200);
  EXPECT_EQ(status_of("GET", "127.0.0.1", "http://localhost:3000"), 200);
  EXPECT_EQ(status_of("GET", "192.168.1.7:80", ""), 200);
  EXPECT_EQ(status_of("GET", "[::1]:80", ""), 200);
  EXPECT_EQ(status_of("GET", "box.local", ""), 200);
  EXPECT_EQ(status_of("GET", "127.0.0.1", "app://obsidian.md"), 200);
  EXPECT_EQ(status_of("GET", "127.0.0.1", "https://evil.example"), 403);
  EXPECT_EQ(status_of("GET", "localhost", "https://localhost.evil.example"), 403);
  EXPECT_EQ(status_of("GET", "evil.example", "http://evil.example"), 403);
  EXPECT_EQ(status_of("GET", "8.8.8.8", "http://8.8.8.8"), 403);
  EXPECT_EQ(status_of("OPTIONS", "evil.example", "http://localhost"), 403);
  EXPECT_EQ(status_of("GET", "box.local", "http://box.local"), 200);  // same origin
}

TEST_F(Protocol, AnyNameIsFineWhenTheServerIsOpenToTheNetwork) {
  ServerOptions options;
  options.host = "0.0.0.0";
  serve(options);
  EXPECT_EQ(status_of("GET", "llm.example", ""), 200);
  EXPECT_EQ(status_of("GET", "llm.example", "http://llm.example"), 200);
  EXPECT_EQ(status_of("GET", "llm.example", "http://other.example"), 403);
}

TEST_F(Protocol, StopsWhileAHandlerWaitsForAWorker) {
  serve();
  Connection connection(*server);
  connection.send("GET /worker HTTP/1.1\r\nHost: localhost\r\n\r\n");
  ASSERT_TRUE(eventually(is_running));
  server->stop();
  EXPECT_EQ(connection.read_until(), "");
  EXPECT_TRUE(connection.saw_end());
  workers.join();
}

TEST_F(Protocol, TheClientGivesUpOnASilentServer) {
  serve();
  ClientRequest request;
  request.port = server->port();
  request.target = "/wait";
  request.timeout = 1s;
  const auto begin = std::chrono::steady_clock::now();
  const auto answer = fetch(request);
  EXPECT_FALSE(answer);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 2s);
}

}  // namespace
}  // namespace sluice::http
