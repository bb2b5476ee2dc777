#include "server/text_stream.h"

namespace sluice::server {

bool is_last(const api::TextEvent& event) {
  return std::holds_alternative<api::UsageReport>(event.body) || std::holds_alternative<Error>(event.body);
}

void TextStream::deliver(api::TextEvent event) {
  if (has_overflowed_.load()) return;
  if (events_->size() >= kBacklogMax) {
    if (has_overflowed_.exchange(true)) return;
    event.body = Error{ErrorCode::kResourceExhausted, "the client reads too slowly", {}};
  }
  events_->put(std::move(event));
}

void TextStream::close() {
  api::TextEvent gone;
  gone.body = Error{ErrorCode::kCancelled, "the client is gone", {}};
  deliver(std::move(gone));
}

}  // namespace sluice::server
