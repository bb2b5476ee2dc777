#include "server/text_stream.h"

#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace sluice::server {

namespace asio = boost::asio;

bool is_last(const api::TextEvent& event) {
  return std::holds_alternative<api::UsageReport>(event.body) || std::holds_alternative<Error>(event.body);
}

void TextStream::deliver(api::TextEvent event) {
  const std::lock_guard lock(mutex_);
  if (has_overflowed_ || !bell_) return;
  if (events_.size() >= kBacklogMax) {
    has_overflowed_ = true;
    event.body = Error{ErrorCode::kResourceExhausted, "the client reads too slowly", {}};
  }
  events_.push_back(std::move(event));
  if (std::exchange(is_waiting_, false)) ring();
}

void TextStream::close() {
  api::TextEvent gone;
  gone.body = Error{ErrorCode::kCancelled, "the client is gone", {}};
  deliver(std::move(gone));
}

void TextStream::detach() {
  const std::lock_guard lock(mutex_);
  bell_.reset();
  events_.clear();
}

void TextStream::ring() {
  asio::post(bell_->get_executor(), [self = shared_from_this()] {
    const std::lock_guard lock(self->mutex_);
    if (self->bell_) self->bell_->cancel();
  });
}

asio::awaitable<std::vector<api::TextEvent>> TextStream::next() {
  while (true) {
    {
      const std::lock_guard lock(mutex_);
      if (!events_.empty()) {
        std::vector<api::TextEvent> batch(std::make_move_iterator(events_.begin()),
                                          std::make_move_iterator(events_.end()));
        events_.clear();
        co_return batch;
      }
      is_waiting_ = true;
      bell_->expires_at(asio::steady_timer::time_point::max());
    }
    boost::system::error_code ignored;
    co_await bell_->async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  }
}

}  // namespace sluice::server
