// The TextSink that a coroutine can wait for: events in a bounded queue, a timer as the bell. Data never
// lives in the wake-up, so none is lost.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <deque>
#include <mutex>
#include <optional>
#include <vector>

#include "api/generation.h"

namespace sluice::server {

class TextStream : public api::TextSink, public std::enable_shared_from_this<TextStream> {
 public:
  static constexpr std::size_t kBacklogMax = 16384;

  // `executor`: of the coroutine that reads.
  explicit TextStream(const boost::asio::any_io_executor& executor) : bell_(std::in_place, executor) {}

  // Any thread. A reader that falls behind by kBacklogMax events loses the stream: it ends with an error, and
  // the next deliveries are dropped (field report F048).
  void deliver(api::TextEvent event) override;
  // The reader is gone and its executor may go too: what comes is dropped.
  void detach();
  // Ends the stream from the reader's side with an error event (client gone).
  void close();

  // All events that have come, at least one; the last of a stream is a UsageReport or an Error.
  boost::asio::awaitable<std::vector<api::TextEvent>> next();

 private:
  void ring();
  std::mutex mutex_;
  std::deque<api::TextEvent> events_;
  bool is_waiting_ = false;
  bool has_overflowed_ = false;
  std::optional<boost::asio::steady_timer> bell_;  // empty: nobody reads any more
};

// The last event of an answer.
bool is_last(const api::TextEvent& event);

}  // namespace sluice::server
