// A queue that any thread fills and one coroutine empties; a timer is the bell. Data never lives in the
// wake-up, so none is lost, and a reader that is gone (or only destroyed) is never rung again.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <deque>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace sluice::server {

// Held by shared_ptr: the wake-up that is under way keeps it alive.
template <typename T>
class Mailbox : public std::enable_shared_from_this<Mailbox<T>> {
 public:
  // `executor`: of the coroutine that reads.
  explicit Mailbox(const boost::asio::any_io_executor& executor) : bell_(std::in_place, executor) {}

  // Any thread. False: the reader is gone, the item was dropped.
  bool put(T item) {
    const std::lock_guard lock(mutex_);
    if (!bell_) return false;
    items_.push_back(std::move(item));
    if (std::exchange(is_waiting_, false)) ring();
    return true;
  }

  std::size_t size() const {
    const std::lock_guard lock(mutex_);
    return items_.size();
  }

  // The reader is gone and its executor may go too: what comes is dropped.
  void detach() {
    const std::lock_guard lock(mutex_);
    bell_.reset();
    items_.clear();
  }

  // Everything that has come, at least one item.
  boost::asio::awaitable<std::vector<T>> next() {
    while (true) {
      {
        const std::lock_guard lock(mutex_);
        if (!items_.empty()) {
          std::vector<T> batch(std::make_move_iterator(items_.begin()),
                               std::make_move_iterator(items_.end()));
          items_.clear();
          co_return batch;
        }
        is_waiting_ = true;
        bell_->expires_at(boost::asio::steady_timer::time_point::max());
      }
      boost::system::error_code ignored;
      co_await bell_->async_wait(boost::asio::redirect_error(boost::asio::use_awaitable, ignored));
    }
  }

 private:
  void ring() {
    boost::asio::post(bell_->get_executor(), [self = this->shared_from_this()] {
      const std::lock_guard lock(self->mutex_);
      if (self->bell_) self->bell_->cancel();
    });
  }

  mutable std::mutex mutex_;
  std::deque<T> items_;
  bool is_waiting_ = false;
  std::optional<boost::asio::steady_timer> bell_;  // empty: nobody reads any more
};

// Detaches when the reading coroutine ends, even when it is only destroyed.
template <typename Box>
class Reader {
 public:
  explicit Reader(std::shared_ptr<Box> box) : box_(std::move(box)) {}
  ~Reader() { box_->detach(); }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  Box* operator->() const { return box_.get(); }

 private:
  std::shared_ptr<Box> box_;
};

}  // namespace sluice::server
