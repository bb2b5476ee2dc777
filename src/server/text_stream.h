// The TextSink that a coroutine can wait for, with a bound.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "api/generation.h"
#include "server/mailbox.h"

namespace sluice::server {

class TextStream : public api::TextSink {
 public:
  static constexpr std::size_t kBacklogMax = 16384;

  // `executor`: of the coroutine that reads.
  explicit TextStream(const boost::asio::any_io_executor& executor)
      : events_(std::make_shared<Mailbox<api::TextEvent>>(executor)) {}

  // Any thread. A reader that falls behind by kBacklogMax events loses the stream: it ends with an error, and
  // the next deliveries are dropped (field report F048).
  void deliver(api::TextEvent event) override;
  void detach() { events_->detach(); }
  // Ends the stream from the reader's side with an error event (client gone).
  void close();

  // All events that have come, at least one; the last of a stream is a UsageReport or an Error.
  boost::asio::awaitable<std::vector<api::TextEvent>> next() { return events_->next(); }

 private:
  std::shared_ptr<Mailbox<api::TextEvent>> events_;
  std::atomic<bool> has_overflowed_ = false;
};

// The last event of an answer.
bool is_last(const api::TextEvent& event);

}  // namespace sluice::server
