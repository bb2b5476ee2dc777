#include "text/stop_matcher.h"

#include <algorithm>
#include <utility>

namespace sluice::text {

StopMatcher::StopMatcher(std::vector<std::string> stops, bool includes_stop)
    : stops_(std::move(stops)), includes_stop_(includes_stop) {
  std::erase_if(stops_, [](const std::string& stop) { return stop.empty(); });
}

StopMatcher::Output StopMatcher::push(std::string_view text) {
  held_ += text;
  std::size_t first = std::string::npos;
  const std::string* winner = nullptr;
  for (const std::string& stop : stops_) {
    const std::size_t at = held_.find(stop);
    if (at < first) {
      first = at;
      winner = &stop;
    }
  }
  if (winner != nullptr) {
    Output output{held_.substr(0, first + (includes_stop_ ? winner->size() : 0)), *winner};
    held_.clear();
    return output;
  }
  // The longest tail that is a beginning of some stop.
  std::size_t kept = 0;
  for (const std::string& stop : stops_) {
    std::size_t length = std::min(stop.size() - 1, held_.size());
    while (length > kept && held_.compare(held_.size() - length, length, stop, 0, length) != 0) --length;
    kept = std::max(kept, length);
  }
  Output output{held_.substr(0, held_.size() - kept), std::nullopt};
  held_.erase(0, held_.size() - kept);
  return output;
}

std::string StopMatcher::flush() { return std::exchange(held_, {}); }

}  // namespace sluice::text
