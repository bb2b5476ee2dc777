#include "text/stop_matcher.h"

#include <algorithm>
#include <utility>

namespace sluice::text {

StopMatcher::StopMatcher(std::vector<std::string> stops, bool includes_stop)
    : stops_(std::move(stops)), includes_stop_(includes_stop) {
  std::erase_if(stops_, [](const std::string& stop) { return stop.empty(); });
  std::ranges::stable_sort(stops_, {}, &std::string::size);
}

StopMatcher::Match StopMatcher::leftmost() const {
  Match best;
  for (const std::string& stop : stops_) {
    const std::size_t at = held_.find(stop);
    if (at < best.begin) best = {at, &stop};
  }
  return best;
}

std::size_t StopMatcher::pending() const {
  std::size_t kept = 0;
  for (const std::string& stop : stops_) {
    std::size_t length = std::min(stop.size() - 1, held_.size());
    while (length > kept && held_.compare(held_.size() - length, length, stop, 0, length) != 0) --length;
    kept = std::max(kept, length);
  }
  return held_.size() - kept;
}

StopMatcher::Output StopMatcher::finish(const Match& match) {
  const std::size_t shown = match.begin + (includes_stop_ ? match.stop->size() : 0);
  Output output{held_.substr(0, shown), *match.stop};
  held_.clear();
  return output;
}

StopMatcher::Output StopMatcher::push(std::string_view text) {
  held_ += text;
  const Match match = leftmost();
  const std::size_t open = pending();
  if (match.stop != nullptr && match.begin <= open) return finish(match);
  Output output{held_.substr(0, open), std::nullopt};
  held_.erase(0, open);
  return output;
}

StopMatcher::Output StopMatcher::flush() {
  if (const Match match = leftmost(); match.stop != nullptr) return finish(match);
  return {std::exchange(held_, {}), std::nullopt};
}

}  // namespace sluice::text
