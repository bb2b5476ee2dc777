// Finds stop strings in streamed text and holds back only what may still become one (field report F022).
#pragma once

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
  // The leftmost match wins; of several that begin there, the one listed first.
  Output push(std::string_view text);
  // End of the answer without a stop: what was held back.
  std::string flush();

 private:
  std::vector<std::string> stops_;
  bool includes_stop_;
  std::string held_;
};

}  // namespace sluice::text
