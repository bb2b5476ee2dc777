// Loaded models by name, with keep-alive. One thread loads, so a load neither stalls requests to other models
// nor competes with another load for memory; a second one unloads what was not used.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "server/generation_service.h"
#include "server/local_model.h"
#include "store/model_store.h"

namespace sluice::server {

using ModelLoader = std::function<Result<std::shared_ptr<LocalModel>>(
    const std::filesystem::path& path, const LoadOptions& options, const LoadProgress& progress)>;

struct ManagerOptions {
  LoadOptions load;
  std::size_t models_max = 3;      // idle ones go before another is loaded
  std::size_t waiters_max = 1024;  // requests that wait for one model's load
  std::chrono::seconds keep_alive{300};
  ModelLoader loader = load_model;
};

// A model that requests may use while they hold this.
struct ModelHandle {
  std::string name;
  std::shared_ptr<LocalModel> model;
  std::shared_ptr<GenerationService> service;
  std::chrono::nanoseconds load_time{};  // this caller waited for the model
};

struct RunningModel {
  std::string name;
  std::string digest;  // of the store's manifest; empty for a model of the command line
  std::shared_ptr<const LocalModel> model;
  std::optional<std::chrono::system_clock::time_point> expires;  // empty: never
};

// Sums since the start of the server, whatever was unloaded meanwhile; what is momentary is 0 when unloaded.
struct ModelStats {
  std::string name;
  engine::EngineStats stats;
};

class ModelManager {
 public:
  // `store` may be null: only models given by serve() exist. `workers` outlives the manager.
  ModelManager(ManagerOptions options, std::shared_ptr<store::ModelStore> store, TextWorkers& workers);
  ~ModelManager();
  ModelManager(const ModelManager&) = delete;
  ModelManager& operator=(const ModelManager&) = delete;

  // A model of the command line: loaded now, never unloaded, answers to `names`; the first is its own.
  // `stored`: where it comes from, when it is one of the store's.
  Status serve(const std::filesystem::path& path, std::vector<std::string> names,
               const LoadProgress& progress, const std::optional<store::StoredModel>& stored = {});

  // Any thread. `done` is called once: at once when the model is loaded or unknown, else from the loading
  // thread; it must not block. Empty name: the first served model. Errors: kNotFound, kResourceExhausted (too
  // many wait), kUnavailable (stopping), and what loading says.
  using Acquired = std::function<void(Result<ModelHandle>)>;
  void acquire(const std::string& name, Acquired done);
  // Sets when the model goes after its last use; negative: never. Errors: kNotFound.
  Status keep_alive(const std::string& name, std::chrono::seconds duration);
  // Refuses every request that waits for a load, and all later ones that would; a load under way ends soon.
  void stop();

  std::vector<RunningModel> running() const;
  // The loaded model of that name or alias.
  std::optional<RunningModel> running(const std::string& name);
  std::vector<ModelStats> statistics() const;
  std::vector<std::string> served_names() const;
  const store::ModelStore* store() const { return store_.get(); }

 private:
  using Clock = std::chrono::steady_clock;
  struct Waiter {
    Clock::time_point since;
    Acquired done;
  };
  struct Entry {
    std::string name;
    std::string digest;
    std::shared_ptr<LocalModel> model;
    std::shared_ptr<GenerationService> service;
    std::vector<Waiter> waiters;         // not empty: queued for loading, or loading
    std::chrono::seconds keep_alive{0};  // negative: never goes
    Clock::time_point last_use;
    bool is_served = false;
    engine::EngineStats retired;  // counts of the unloaded engines
  };
  Result<std::shared_ptr<Entry>> find(const std::string& name);  // mutex_ held
  static ModelHandle use(Entry& entry);                          // mutex_ held, loaded
  static RunningModel describe(const Entry& entry);              // mutex_ held, loaded
  static bool is_idle(const Entry& entry);
  [[nodiscard]] static std::shared_ptr<LocalModel> unload(Entry& entry);  // mutex_ held
  // Unloads the idle model that was used longest ago, when `loaded_min` or more are loaded. True: one went.
  bool evict(std::size_t loaded_min);
  Result<std::shared_ptr<LocalModel>> load_stored(const std::string& name, std::string& digest);
  void finish_load(Entry& entry, Result<std::shared_ptr<LocalModel>> model, std::string digest);
  void load_loop();
  void unload_loop();

  const ManagerOptions options_;
  std::shared_ptr<store::ModelStore> store_;
  TextWorkers& workers_;
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Entry>> entries_;  // by display name; bounded by the store's models
  std::map<std::string, std::string> aliases_;             // served name -> display name
  std::vector<std::string> served_;
  std::deque<std::shared_ptr<Entry>> to_load_;
  std::atomic<bool> stopping_ = false;  // written under mutex_
  std::condition_variable load_bell_, unload_bell_;
  std::thread loader_, unloader_;
};

}  // namespace sluice::server
