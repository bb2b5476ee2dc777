// Bytes cut anywhere give the same text as in one piece: detokenizer, stop matcher, thought splitter.
#include "base/check.h"
#include "text/detokenizer.h"
#include "text/reasoning_parser.h"
#include "text/stop_matcher.h"

namespace {

using namespace sluice::text;

struct Parts {
  std::string reasoning, content;
  bool operator==(const Parts&) const = default;
};

Parts read(std::string_view bytes, std::size_t piece) {
  Detokenizer detokenizer;
  StopMatcher stops({"STOP", "</t", "\n\n\n"}, false);
  ReasoningParser splitter(ReasoningState::kThought);
  Parts parts;
  bool is_over = false;
  const auto add = [&](const ReasoningParser::Output& output) {
    parts.reasoning += output.reasoning;
    parts.content += output.content;
  };
  for (std::size_t at = 0; at < bytes.size() && !is_over; at += piece) {
    const auto stopped = stops.push(detokenizer.push(bytes.substr(at, piece)));
    add(splitter.push(stopped.text));
    is_over = stopped.matched.has_value();
  }
  if (!is_over) {
    detokenizer.flush();
    add(splitter.push(stops.flush().text));
  }
  add(splitter.flush());
  return parts;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const Parts whole = read(bytes, size + 1);
  for (const std::size_t piece : {std::size_t{1}, std::size_t{3}, std::size_t{7}})
    SLUICE_CHECK(read(bytes, piece) == whole, "the cut changed the text");
  return 0;
}
