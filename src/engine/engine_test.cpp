// Scheduler and engine over a fake model whose next token depends on every earlier token that it can see
// through the block tables: wrong reuse, early publishing or a lost block changes the answer.
#include "engine/engine.h"

#include <gtest/gtest.h>

#include <future>
#include <map>
#include <random>

#include "engine/step_builder.h"
#include "engine/stop_criteria.h"

namespace sluice::engine {
namespace {

constexpr std::size_t kBlock = 16;

// Token after a context; small ids, so ends come by chance.
TokenId next_token(const std::vector<TokenId>& context) {
  std::uint64_t state = 1469598103934665603ULL;
  for (const TokenId token : context) state = (state ^ static_cast<std::uint64_t>(token)) * 1099511628211ULL;
  return static_cast<TokenId>((state >> 33) % 97);
}

// Keeps the tokens it was given by slot, as a model keeps keys and values.
class FakeExecutor : public Executor {
 public:
  explicit FakeExecutor(std::size_t blocks) : memory_(blocks * kBlock, -1) {}
  model::StepOutput execute(const model::StepInput& input) override {
    if (fails) throw std::runtime_error("device lost");
    std::this_thread::sleep_for(step_time);
    for (std::size_t i = 0; i < input.token_ids.size(); ++i)
      memory_[static_cast<std::size_t>(input.slots[i])] = input.token_ids[i];
    model::StepOutput output;
    std::size_t sequence = 0;
    for (const std::int32_t row : input.logit_rows) {
      while (input.query_starts[sequence + 1] <= row) ++sequence;
      std::vector<TokenId> context;
      for (std::int32_t p = 0; p < input.context_lengths[sequence]; ++p) {
        const std::size_t at = sequence * static_cast<std::size_t>(input.blocks_per_sequence_max) +
                               static_cast<std::size_t>(p) / kBlock;
        context.push_back(memory_[static_cast<std::size_t>(input.block_tables[at]) * kBlock +
                                  static_cast<std::size_t>(p) % kBlock]);
      }
      output.tokens.push_back({next_token(context), {}});
    }
    return output;
  }
  std::atomic<bool> fails = false;
  std::chrono::milliseconds step_time{};

 private:
  std::vector<TokenId> memory_;
};

GenerationRequest make_request(std::uint64_t id, std::vector<TokenId> prompt, std::int32_t max_tokens) {
  GenerationRequest request;
  request.id = SequenceId{id};
  request.prompt = std::move(prompt);
  request.max_tokens = max_tokens;
  request.end_ids = {3};
  return request;
}

std::vector<TokenId> solo_answer(const GenerationRequest& request, std::size_t tokens_max) {
  std::vector<TokenId> context = request.prompt;
  while (true) {
    context.push_back(next_token(context));
    const std::size_t output = context.size() - request.prompt.size();
    if (context.back() == 3 || output == static_cast<std::size_t>(request.max_tokens) ||
        context.size() == tokens_max)
      return {context.begin() + static_cast<std::ptrdiff_t>(request.prompt.size()), context.end()};
  }
}

std::vector<TokenId> random_prompt(std::mt19937& random, std::size_t length_max) {
  std::vector<TokenId> prompt(1 + random() % length_max);
  const bool shares = random() % 2 == 0;  // half of them begin alike
  for (std::size_t i = 0; i < prompt.size(); ++i)
    prompt[i] = static_cast<TokenId>(shares && i < 40 ? i : random() % 90 + 5);
  return prompt;
}

// One seeded world of arrivals and cancels over a tiny pool; returns the number of steps.
std::size_t simulate(std::uint32_t seed) {
  std::mt19937 random(seed);
  const std::size_t blocks = 6 + random() % 30;
  kvcache::KVCacheManager cache(blocks, kBlock);
  Scheduler scheduler({1 + random() % 60, 1 + random() % 12, 400}, cache);
  FakeExecutor executor(blocks);
  std::map<std::uint64_t, GenerationRequest> open;
  std::size_t steps = 0;
  std::uint64_t next_id = 1;
  std::size_t arrivals = 40;
  while (arrivals > 0 || !open.empty()) {
    while (arrivals > 0 && random() % 3 == 0) {
      --arrivals;
      const auto request =
          make_request(next_id++, random_prompt(random, 120), 1 + static_cast<int>(random() % 60));
      if (!scheduler.admissible(request)) continue;
      auto sequence = std::make_unique<Sequence>();
      sequence->tokens = request.prompt;
      sequence->table.root = root_hash(random() % 4 == 0 ? "a" : "b", "m", 1);
      sequence->request = request;
      scheduler.add(std::move(sequence));
      open.emplace(request.id.value, request);
    }
    if (!open.empty() && random() % 25 == 0) {
      const auto victim = std::next(open.begin(), static_cast<std::ptrdiff_t>(random() % open.size()));
      EXPECT_NE(scheduler.remove(SequenceId{victim->first}), nullptr);
      open.erase(victim);
    }
    const StepPlan plan = scheduler.plan();
    scheduler.check_invariants();
    if (plan.sequences.empty()) {
      if (scheduler.running() + scheduler.waiting() > 0 && plan.tokens == 0 && scheduler.running() == 0)
        ADD_FAILURE() << "nothing runs although " << scheduler.waiting() << " wait";
      if (open.empty() || steps > 100000) continue;
    }
    const auto output = executor.execute(build_step(plan, kBlock, 100));
    scheduler.apply(plan);
    scheduler.check_invariants();
    std::size_t row = 0;
    for (const PlannedSequence& planned : plan.sequences) {
      Sequence& sequence = *planned.sequence;
      if (sequence.pending() != 0) continue;
      sequence.tokens.push_back(output.tokens[row++].token);
      if (!finish_reason(sequence, scheduler.sequence_tokens_max())) continue;
      const auto done = scheduler.remove(sequence.request.id);
      const std::vector<TokenId> answer(
          done->tokens.begin() + static_cast<std::ptrdiff_t>(done->request.prompt.size()),
          done->tokens.end());
      EXPECT_EQ(answer, solo_answer(done->request, scheduler.sequence_tokens_max()));
      open.erase(done->request.id.value);
    }
    ++steps;
  }
  EXPECT_EQ(cache.free_blocks(), blocks) << "blocks leaked";
  return steps;
}

TEST(Simulation, AnswersNeverDependOnTheBatch) {
  std::size_t steps = 0;
  std::uint32_t seed = 1;
  for (; steps < 10000 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    steps += simulate(seed);
  }
  std::printf("simulated %zu steps, seeds 1 to %u\n", steps, seed - 1);
}

// Collects one answer.
class CollectingSink : public TokenSink {
 public:
  void deliver(TokenEvent event) override {
    for (const auto& token : event.tokens) tokens.push_back(token.token);
    if (!event.finish) return;
    finish = event.finish;
    error = event.error;
    done.set_value();
  }
  std::vector<TokenId> tokens;
  std::optional<FinishReason> finish;
  std::optional<Error> error;
  std::promise<void> done;
};

struct Fixture {
  explicit Fixture(std::size_t blocks, std::chrono::milliseconds step_time = {}) {
    EngineOptions options;
    options.kv_blocks = blocks;
    options.vocabulary = 100;
    auto owned = std::make_unique<FakeExecutor>(blocks);
    owned->step_time = step_time;
    executor = owned.get();
    engine = std::make_unique<Engine>(options, std::move(owned));
  }
  std::shared_ptr<CollectingSink> submit(GenerationRequest request) {
    auto sink = std::make_shared<CollectingSink>();
    request.sink = sink;
    const auto submitted = engine->submit(std::move(request));
    EXPECT_TRUE(submitted) << submitted.error().message;
    return sink;
  }
  FakeExecutor* executor = nullptr;
  std::unique_ptr<Engine> engine;
};

void wait(CollectingSink& sink) {
  ASSERT_EQ(sink.done.get_future().wait_for(std::chrono::seconds(20)), std::future_status::ready);
}

TEST(Engine, ThirtyTwoRequestsThatShareAPrefix) {  // field report F035
  Fixture fixture(400);
  std::vector<std::shared_ptr<CollectingSink>> sinks;
  std::vector<GenerationRequest> requests;
  for (std::uint64_t i = 1; i <= 32; ++i) {
    std::vector<TokenId> prompt(128);
    for (std::size_t t = 0; t < prompt.size(); ++t) prompt[t] = static_cast<TokenId>(t % 90 + 5);
    prompt.push_back(static_cast<TokenId>(i + 4));
    requests.push_back(make_request(i, prompt, 20));
    sinks.push_back(fixture.submit(requests.back()));
  }
  for (std::size_t i = 0; i < sinks.size(); ++i) {
    wait(*sinks[i]);
    EXPECT_EQ(sinks[i]->tokens, solo_answer(requests[i], 4096));
  }
}

TEST(Engine, RefusesAPromptThatCanNeverFit) {  // field report F037
  Fixture fixture(40);
  const auto refused = fixture.engine->submit(make_request(1, std::vector<TokenId>(1000, 5), 5));
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("640"), std::string::npos);
  const auto sink = fixture.submit(make_request(2, {5, 6, 7}, 5));
  wait(*sink);
}

TEST(Engine, TwoThatFitAloneButNotTogetherBothFinish) {
  Fixture fixture(12);
  const auto first = fixture.submit(make_request(1, std::vector<TokenId>(90, 7), 60));
  const auto second = fixture.submit(make_request(2, std::vector<TokenId>(90, 8), 60));
  wait(*first);
  wait(*second);
}

TEST(Engine, AbortAndDeadlineFreeTheirBlocks) {        // field report F041
  Fixture fixture(100, std::chrono::milliseconds(5));  // the whole answer would take 5 s
  for (std::uint64_t i = 1; i <= 50; ++i) {
    auto request = make_request(i, {static_cast<TokenId>(i % 90 + 5), 9}, 1000);
    request.end_ids = {};
    const bool expires = i % 2 == 0;
    if (expires) request.deadline = std::chrono::steady_clock::now();
    const auto sink = fixture.submit(std::move(request));
    if (!expires) fixture.engine->abort(SequenceId{i});
    wait(*sink);
    EXPECT_EQ(sink->finish, expires ? FinishReason::kDeadline : FinishReason::kCancelled);
    EXPECT_LT(sink->tokens.size(), 1000U);
  }
  const auto last = fixture.submit(make_request(99, {5}, 1));
  wait(*last);
  for (int i = 0; i < 1000 && fixture.engine->stats().kv_usage > 0; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(fixture.engine->stats().kv_usage, 0);
}

TEST(Engine, AFailedStepFailsItsSequencesAndHealth) {  // field reports F047, F065
  Fixture fixture(100);
  fixture.executor->fails = true;
  const auto sink = fixture.submit(make_request(1, {5, 6}, 5));
  wait(*sink);
  EXPECT_EQ(sink->finish, FinishReason::kError);
  EXPECT_NE(sink->error->message.find("device lost"), std::string::npos);
  EXPECT_FALSE(fixture.engine->healthy());
  EXPECT_EQ(fixture.engine->submit(make_request(2, {5}, 1)).error().code, ErrorCode::kUnavailable);
}

// Steps wait until they are let go.
class GatedExecutor : public FakeExecutor {
 public:
  using FakeExecutor::FakeExecutor;
  model::StepOutput execute(const model::StepInput& input) override {
    open.wait();
    return FakeExecutor::execute(input);
  }
  std::promise<void> gate;
  std::shared_future<void> open = gate.get_future().share();
};

struct GatedEngine {
  explicit GatedEngine(std::size_t queue_max) {
    EngineOptions options;
    options.kv_blocks = 100;
    options.queue_max = queue_max;
    options.vocabulary = 100;
    auto owned = std::make_unique<GatedExecutor>(100);
    executor = owned.get();
    engine = std::make_unique<Engine>(options, std::move(owned));
  }
  GatedExecutor* executor = nullptr;
  std::unique_ptr<Engine> engine;
};

TEST(Engine, AStuckStepIsUnhealthyEvenTheFirst) {  // field report F065
  using namespace std::chrono_literals;
  GatedEngine gated(100);
  std::this_thread::sleep_for(30ms);
  EXPECT_TRUE(gated.engine->healthy(20ms)) << "idle";
  auto request = make_request(1, {5, 6}, 2);
  const auto sink = std::make_shared<CollectingSink>();
  request.sink = sink;
  ASSERT_TRUE(gated.engine->submit(std::move(request)));
  std::this_thread::sleep_for(100ms);
  EXPECT_FALSE(gated.engine->healthy(50ms));
  EXPECT_TRUE(gated.engine->healthy(10s)) << "slow is not stuck";
  gated.executor->gate.set_value();
  wait(*sink);
  EXPECT_TRUE(gated.engine->healthy(10s));
}

TEST(Engine, TheQueueIsBounded) {
  GatedEngine gated(4);
  std::size_t accepted = 0;
  std::vector<std::shared_ptr<CollectingSink>> sinks;
  for (std::uint64_t i = 1; i <= 200; ++i) {
    auto request = make_request(i, {5, static_cast<TokenId>(i % 90)}, 5);
    sinks.push_back(std::make_shared<CollectingSink>());
    request.sink = sinks.back();
    const auto submitted = gated.engine->submit(std::move(request));
    if (submitted) {
      ++accepted;
    } else {
      EXPECT_EQ(submitted.error().code, ErrorCode::kResourceExhausted);
    }
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  EXPECT_EQ(accepted, 4U) << "those of the step that runs still count";
  gated.executor->gate.set_value();
}

TEST(Engine, StopFailsWhatRunsAndIsTheLastCall) {
  Fixture fixture(100);
  auto request = make_request(1, {5, 6}, 100000);
  request.end_ids = {};
  const auto sink = fixture.submit(std::move(request));
  fixture.engine->stop();
  ASSERT_TRUE(sink->finish);
  EXPECT_NE(sink->finish, FinishReason::kStop);
  fixture.engine->stop();
  EXPECT_EQ(fixture.engine->submit(make_request(2, {5}, 1)).error().code, ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace sluice::engine
