// Finds stop strings in streamed text and holds back only what may still become one (field report F022). What
// comes out does not depend on how the text was cut.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::text {

class StopMatcher {
 public:
  // `includes_stop`: the text ends after the stop string instead of before it.
  explicit StopMatcher(std::vector<std::string> stops, bool includes_stop = false);

  struct Output {
    std::string text;                    // may be shown now
    std::optional<std::string> matched;  // the answer ends here; push() must not be called again
  };
  // The leftmost match wins; of several that begin there, the shortest, which is complete first. A match
  // waits while another stop that begins before it may still complete.
  Output push(std::string_view text);
  // End of the answer: what was held back, or the match that waited.
  Output flush();

 private:
  struct Match {
    std::size_t begin = std::string::npos;
    const std::string* stop = nullptr;  // null: none
  };
  Match leftmost() const;
  std::size_t pending() const;  // where the longest tail begins that is a beginning of some stop
  Output finish(const Match& match);

  std::vector<std::string> stops_;  // the shortest first
  bool includes_stop_;
  std::string held_;
};

}  // namespace sluice::text
