#include "server/model_manager.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <future>

#include "server/metrics.h"

namespace sluice::server {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

// Answers every step with token 7.
class SevenExecutor : public engine::Executor {
 public:
  model::StepOutput execute(const model::StepInput& input) override {
    model::StepOutput output;
    output.tokens.resize(input.logit_rows.size());
    for (auto& token : output.tokens) token.token = 7;
    return output;
  }
};

std::shared_ptr<LocalModel> make_model() {
  engine::EngineOptions options;
  options.scheduler = {64, 4, 64};
  options.kv_blocks = 8;
  options.vocabulary = 16;
  auto model = std::make_shared<LocalModel>();
  model->engine = std::make_unique<engine::Engine>(options, std::make_unique<SevenExecutor>());
  return model;
}

// A store with names, and a loader whose loads wait until they are let go.
struct World {
  fs::path folder = fs::temp_directory_path() / ("sluice_manager_test_" + std::to_string(::getpid()));
  std::shared_ptr<store::ModelStore> store;
  std::atomic<int> loads = 0;
  std::promise<void> gate;
  std::shared_future<void> open = gate.get_future().share();
  bool fails = false;
  TextWorkers workers{1};

  explicit World(std::initializer_list<const char*> names) {
    fs::create_directories(folder);
    store = std::make_shared<store::ModelStore>(folder / "store");
    for (const char* name : names) {
      std::ofstream(folder / "weights") << name;
      EXPECT_TRUE(store->import_gguf(folder / "weights", *store::parse_name(name)));
    }
  }
  ~World() { fs::remove_all(folder); }

  ManagerOptions options() {
    ManagerOptions options;
    options.loader = [this](const fs::path&, const LoadOptions&,
                            const LoadProgress& progress) -> Result<std::shared_ptr<LocalModel>> {
      ++loads;
      while (open.wait_for(1ms) != std::future_status::ready)
        if (progress && !progress(0, 1)) return fail(ErrorCode::kCancelled, "loading was stopped");
      if (fails) return fail(ErrorCode::kInvalidArgument, "the file is damaged");
      return make_model();
    };
    return options;
  }
};

std::future<Result<ModelHandle>> acquire(ModelManager& manager, const std::string& name) {
  auto promise = std::make_shared<std::promise<Result<ModelHandle>>>();
  manager.acquire(name, [promise](Result<ModelHandle> handle) { promise->set_value(std::move(handle)); });
  return promise->get_future();
}

TEST(ModelManager, ManyWaitersShareOneLoad) {
  World world({"a"});
  ModelManager manager(world.options(), world.store, world.workers);
  std::vector<std::future<Result<ModelHandle>>> waiting;
  waiting.reserve(100);
  for (int i = 0; i < 100; ++i) waiting.push_back(acquire(manager, "a"));
  EXPECT_EQ(waiting[0].wait_for(20ms), std::future_status::timeout) << "no thread waits with the load";
  world.gate.set_value();
  std::shared_ptr<LocalModel> first;
  for (auto& future : waiting) {
    const auto handle = future.get();
    ASSERT_TRUE(handle) << handle.error().message;
    if (!first) first = handle->model;
    EXPECT_EQ(handle->model, first);
    EXPECT_GT(handle->load_time, 10ms);
  }
  EXPECT_EQ(world.loads, 1);
  EXPECT_EQ(acquire(manager, "a:latest").get()->load_time, 0ns);
}

TEST(ModelManager, ALoadDoesNotStallALoadedModel) {
  World world({"slow"});
  ManagerOptions options = world.options();
  const ModelLoader gated = options.loader;
  options.loader = [gated](const fs::path& path, const LoadOptions& load, const LoadProgress& progress) {
    return path == "quick.gguf" ? Result<std::shared_ptr<LocalModel>>(make_model())
                                : gated(path, load, progress);
  };
  ModelManager manager(options, world.store, world.workers);
  ASSERT_TRUE(manager.serve("quick.gguf", {"quick.gguf", "quick"}, nullptr));
  auto slow = acquire(manager, "slow");
  EXPECT_EQ(acquire(manager, "quick").wait_for(0s), std::future_status::ready);
  EXPECT_EQ(acquire(manager, "").get()->name, "quick.gguf") << "the first served answers to no name";
  EXPECT_EQ(slow.wait_for(0s), std::future_status::timeout);
  world.gate.set_value();
  EXPECT_TRUE(slow.get());
}

TEST(ModelManager, UnknownNamesAndFailedLoads) {
  World world({"a"});
  ModelManager manager(world.options(), world.store, world.workers);
  for (const char* name : {"nobody", "../../etc/passwd", ""})
    EXPECT_EQ(acquire(manager, name).get().error().code, ErrorCode::kNotFound) << name;
  world.fails = true;
  world.gate.set_value();
  EXPECT_EQ(acquire(manager, "a").get().error().message, "the file is damaged");
  world.fails = false;
  EXPECT_TRUE(acquire(manager, "a").get()) << "the next request tries again";
}

TEST(ModelManager, BoundsWaitersAndRefusesThemOnStop) {
  World world({"a"});
  ManagerOptions options = world.options();
  options.waiters_max = 2;
  ModelManager manager(options, world.store, world.workers);
  auto first = acquire(manager, "a");
  auto second = acquire(manager, "a");
  EXPECT_EQ(acquire(manager, "a").get().error().code, ErrorCode::kResourceExhausted);
  manager.stop();  // the load under way ends by itself: the gate stays shut
  EXPECT_EQ(first.get().error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(second.get().error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(acquire(manager, "a").get().error().code, ErrorCode::kUnavailable);
}

TEST(ModelManager, UnloadsWhatIsIdleNotWhatIsInUse) {
  World world({"a"});
  world.gate.set_value();
  ModelManager manager(world.options(), world.store, world.workers);
  auto handle = acquire(manager, "a").get();
  ASSERT_TRUE(handle);
  ASSERT_TRUE(manager.keep_alive("a", 0s));
  std::this_thread::sleep_for(50ms);
  EXPECT_EQ(manager.running().size(), 1U) << "a request holds it";
  *handle = ModelHandle{};
  for (int i = 0; i < 300 && !manager.running().empty(); ++i) std::this_thread::sleep_for(10ms);
  EXPECT_TRUE(manager.running().empty());
  EXPECT_TRUE(acquire(manager, "a").get());
  EXPECT_EQ(world.loads, 2);
}

TEST(ModelManager, TheOldestIdleModelMakesRoom) {
  World world({"a", "b", "c"});
  world.gate.set_value();
  ManagerOptions options = world.options();
  options.models_max = 2;
  ModelManager manager(options, world.store, world.workers);
  const auto held = acquire(manager, "a").get();
  ASSERT_TRUE(acquire(manager, "b").get());
  ASSERT_TRUE(acquire(manager, "c").get());
  EXPECT_TRUE(manager.running("a")) << "in use";
  EXPECT_FALSE(manager.running("b"));
  EXPECT_TRUE(manager.running("c"));
}

TEST(ModelManager, CountersSurviveAReload) {
  World world({"a"});
  world.gate.set_value();
  ModelManager manager(world.options(), world.store, world.workers);
  Metrics metrics;
  const auto generate = [&] {
    struct Sink : engine::TokenSink {
      std::promise<void> done;
      void deliver(engine::TokenEvent event) override {
        if (event.finish) done.set_value();
      }
    };
    auto handle = acquire(manager, "a").get();
    engine::GenerationRequest request;
    request.id = SequenceId{1};
    request.prompt = {1, 2, 3};
    request.max_tokens = 5;
    auto sink = std::make_shared<Sink>();
    request.sink = sink;
    ASSERT_TRUE(handle->model->engine->submit(std::move(request)));
    sink->done.get_future().wait();
  };
  const auto generated = [&] {
    const std::string text = metrics.render(manager);
    const std::size_t at = text.find("vllm:generation_tokens_total{");
    return at == std::string::npos ? std::string() : text.substr(at, text.find('\n', at) - at);
  };
  generate();
  for (int i = 0; i < 100 && !generated().ends_with(" 5"); ++i) std::this_thread::sleep_for(10ms);
  EXPECT_TRUE(generated().ends_with(" 5")) << generated();
  ASSERT_TRUE(manager.keep_alive("a", 0s));
  for (int i = 0; i < 300 && !manager.running().empty(); ++i) std::this_thread::sleep_for(10ms);
  EXPECT_TRUE(generated().ends_with(" 5")) << "unloaded";
  generate();
  for (int i = 0; i < 100 && !generated().ends_with(" 10"); ++i) std::this_thread::sleep_for(10ms);
  EXPECT_TRUE(generated().ends_with(" 10")) << generated();
}

}  // namespace
}  // namespace sluice::server
