// Detokenizer, stop matcher and thought splitter: a stream gives what the whole gives, whatever the cut.
#include <gtest/gtest.h>

#include <random>

#include "text/detokenizer.h"
#include "text/reasoning_parser.h"
#include "text/stop_matcher.h"

namespace sluice::text {
namespace {

TEST(Detokenizer, HoldsBackHalfCharacters) {  // field reports F001, F044
  const std::string text = "龘👨‍👩 é";
  for (std::size_t step = 1; step < 5; ++step) {
    Detokenizer detokenizer;
    std::string out;
    for (std::size_t i = 0; i < text.size(); i += step) out += detokenizer.push(text.substr(i, step));
    EXPECT_EQ(out, text);
  }
  Detokenizer cut;
  EXPECT_EQ(cut.push("\xE9\xBE"), "");
}

TEST(Detokenizer, BadBytesBecomeOneReplacementAndNeverStall) {
  Detokenizer detokenizer;
  EXPECT_EQ(detokenizer.push("a\xFF\xFE\x80z"), "a\xEF\xBF\xBDz");
  EXPECT_EQ(detokenizer.push("\xE9z"), "\xEF\xBF\xBDz");
  EXPECT_EQ(detokenizer.push("\xED\xA0\x80!"), "\xEF\xBF\xBD!");  // a surrogate
  EXPECT_EQ(detokenizer.push("\xFF") + detokenizer.push("\xFE") + detokenizer.push("z"), "\xEF\xBF\xBDz");
}

TEST(StopMatcher, CutsExactlyWhateverTheChunks) {  // field report F022
  const std::string text = "ABCDEFGHIJKL";
  for (std::size_t length = 1; length <= 8; ++length) {
    for (std::size_t begin = 0; begin + length <= text.size(); ++begin) {
      const std::string stop = text.substr(begin, length);
      for (std::size_t step = 1; step <= 5; ++step) {
        StopMatcher matcher({"zz", stop});
        std::string out;
        bool stopped = false;
        for (std::size_t i = 0; i < text.size() && !stopped; i += step) {
          const auto part = matcher.push(text.substr(i, step));
          out += part.text;
          stopped = part.matched.has_value();
        }
        EXPECT_TRUE(stopped);
        EXPECT_EQ(out, text.substr(0, text.find(stop)));
      }
    }
  }
}

TEST(StopMatcher, ReleasesWhatIsRefuted) {
  StopMatcher matcher({"\nObservation:", "\nObs!"});
  EXPECT_EQ(matcher.push("a\nObs").text, "a");
  EXPECT_EQ(matcher.push("x").text, "\nObsx");
  EXPECT_EQ(matcher.push("\nOb").text, "");
  EXPECT_EQ(matcher.flush().text, "\nOb");
  StopMatcher including({"end"}, true);
  EXPECT_EQ(including.push("the end of").text, "the end");
}

TEST(StopMatcher, OverlappingStopsDoNotDependOnTheCut) {
  const struct {
    std::vector<std::string> stops;
    std::string text, shown;
    std::optional<std::string> matched;
  } cases[] = {
      {{"bc", "abcd"}, "xabcdy", "x", "abcd"},  // "bc" is complete first, but "abcd" begins before it
      {{"bc", "abcd"}, "xabcey", "xa", "bc"},
      {{"bc", "abcd"}, "xabc", "xa", "bc"},  // the answer ends while "bc" waits
      {{"abc", "ab"}, "xabcy", "x", "ab"},
      {{"aab"}, "aaaab", "aa", "aab"},
      {{"zzz"}, "zzyzz", "zzyzz", std::nullopt},
      {{""}, "text", "text", std::nullopt},
  };
  for (const auto& c : cases) {
    for (std::size_t step = 1; step <= c.text.size(); ++step) {
      StopMatcher matcher(c.stops);
      StopMatcher::Output all;
      for (std::size_t i = 0; i < c.text.size() && !all.matched; i += step) {
        const auto part = matcher.push(c.text.substr(i, step));
        all.text += part.text;
        all.matched = part.matched;
      }
      if (!all.matched) {
        const auto rest = matcher.flush();
        all.text += rest.text;
        all.matched = rest.matched;
      }
      EXPECT_EQ(all.text, c.shown) << c.text << " by " << step;
      EXPECT_EQ(all.matched, c.matched) << c.text << " by " << step;
    }
  }
}

ReasoningParser::Output parse(ReasoningState state, const std::string& text, std::size_t step) {
  ReasoningParser parser(state);
  ReasoningParser::Output all;
  const auto add = [&](const ReasoningParser::Output& part) {
    all.reasoning += part.reasoning;
    all.content += part.content;
  };
  for (std::size_t i = 0; i < text.size(); i += step) add(parser.push(text.substr(i, step)));
  add(parser.flush());
  return all;
}

TEST(ReasoningParser, SplitsWhateverTheChunks) {  // field reports F012 to F014
  const struct {
    ReasoningState state;
    std::string text, reasoning, content;
  } cases[] = {
      {ReasoningState::kUndecided, "<think>\nwhy\n\nso\n</think>\n\nYes", "why\n\nso", "Yes"},
      {ReasoningState::kUndecided, "<think>\n\n</think>\n\n{\"a\":1}", "", "{\"a\":1}"},
      {ReasoningState::kUndecided, "plain <think> text", "", "plain <think> text"},
      {ReasoningState::kUndecided, " <b>", "", " <b>"},
      {ReasoningState::kUndecided, "<think>cut", "cut", ""},
      {ReasoningState::kUndecided, "<think>cut </thi", "cut </thi", ""},
      {ReasoningState::kThought, "why</think>Yes", "why", "Yes"},
      {ReasoningState::kThought, "no end \n", "no end", ""},
      {ReasoningState::kContent, "The answer </think> is 4", "", "The answer </think> is 4"},
      {ReasoningState::kUndecided, "", "", ""},
  };
  for (const auto& c : cases) {
    for (std::size_t step = 1; step <= c.text.size() + 1; ++step) {
      const auto got = parse(c.state, c.text, step);
      EXPECT_EQ(got.reasoning, c.reasoning) << c.text << " by " << step;
      EXPECT_EQ(got.content, c.content) << c.text << " by " << step;
    }
  }
  EXPECT_EQ(initial_reasoning_state("assistant\n<think>\n"), ReasoningState::kThought);
  EXPECT_EQ(initial_reasoning_state("assistant\n<think>\n\n</think>\n\n"), ReasoningState::kContent);
  EXPECT_EQ(initial_reasoning_state("assistant\n"), ReasoningState::kUndecided);
  // A continued answer.
  const std::string turn = "<|im_start|>user\n<think><|im_end|>\n<|im_start|>assistant\n";
  EXPECT_EQ(initial_reasoning_state(turn), ReasoningState::kUndecided);
  EXPECT_EQ(initial_reasoning_state(turn + "<think>\nfirst,"), ReasoningState::kThought);
  EXPECT_EQ(initial_reasoning_state(turn + "<think>\na\n</think>\n\nYes and"), ReasoningState::kContent);
  EXPECT_EQ(initial_reasoning_state(turn + "The tag <think> is"), ReasoningState::kContent);
  EXPECT_EQ(initial_reasoning_state("<|im_start|>user\n<think> x<|im_end|>\n"), ReasoningState::kUndecided);
}

}  // namespace
}  // namespace sluice::text
