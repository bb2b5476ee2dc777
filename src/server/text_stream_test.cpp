#include "server/text_stream.h"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <thread>

namespace sluice::server {
namespace {

namespace asio = boost::asio;

api::TextEvent delta(std::string text) {
  api::TextEvent event;
  event.body = api::TextDelta{std::move(text)};
  return event;
}
api::TextEvent last() {
  api::TextEvent event;
  event.body = api::UsageReport{};
  return event;
}

// Reads until the last event; `batches` counts the wake-ups.
asio::awaitable<void> read_all(std::shared_ptr<TextStream> stream, std::vector<api::TextEvent>& out) {
  while (out.empty() || !is_last(out.back()))
    for (api::TextEvent& event : co_await stream->next()) out.push_back(std::move(event));
}

TEST(TextStream, LosesNothingBetweenThreads) {
  constexpr std::size_t kEvents = 5000;
  asio::io_context context;
  auto stream = std::make_shared<TextStream>(context.get_executor());
  std::vector<api::TextEvent> seen;
  asio::co_spawn(context, read_all(stream, seen), asio::detached);
  std::thread producer([&] {
    for (std::size_t i = 0; i < kEvents; ++i) {
      stream->deliver(delta(std::to_string(i)));
      if (i % 64 == 0) std::this_thread::yield();
    }
    stream->deliver(last());
  });
  context.run();
  producer.join();
  ASSERT_EQ(seen.size(), kEvents + 1);
  for (std::size_t i = 0; i < kEvents; ++i)
    ASSERT_EQ(std::get<api::TextDelta>(seen[i].body).text, std::to_string(i));
}

TEST(TextStream, F048ASlowReaderLosesTheStreamNotTheServer) {
  asio::io_context context;
  auto stream = std::make_shared<TextStream>(context.get_executor());
  for (std::size_t i = 0; i < 2 * TextStream::kBacklogMax; ++i) stream->deliver(delta("x"));
  stream->deliver(last());
  std::vector<api::TextEvent> seen;
  asio::co_spawn(context, read_all(stream, seen), asio::detached);
  context.run();
  ASSERT_EQ(seen.size(), TextStream::kBacklogMax + 1);
  EXPECT_EQ(std::get<Error>(seen.back().body).code, ErrorCode::kResourceExhausted);
}

TEST(TextStream, OutlivesItsReaderAndItsExecutor) {
  auto context = std::make_unique<asio::io_context>();
  auto stream = std::make_shared<TextStream>(context->get_executor());
  stream->deliver(delta("before"));
  stream->detach();
  context.reset();
  stream->deliver(delta("after"));  // would touch a dead timer
  stream->close();
}

}  // namespace
}  // namespace sluice::server
