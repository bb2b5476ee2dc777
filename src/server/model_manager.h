// Loaded models by name, with keep-alive. acquire() blocks while a model loads, so it is called from worker
// threads; a load never stalls requests to other models.
#pragma once

#include <chrono>
#include <condition_variable>
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

struct ManagerOptions {
  LoadOptions load;
  std::size_t models_max = 3;  // loaded at once
  std::chrono::seconds keep_alive{300};
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
  std::shared_ptr<const LocalModel> model;
  std::optional<std::chrono::system_clock::time_point> expires;  // empty: never
};

class ModelManager {
 public:
  // `store` may be null: only models given by serve() exist. `workers` outlives the manager.
  ModelManager(ManagerOptions options, std::shared_ptr<store::ModelStore> store, TextWorkers& workers);
  ~ModelManager();

  // A model of the command line: loaded now, never unloaded, answers to `names`; the first is its own.
  Status serve(const std::filesystem::path& path, std::vector<std::string> names,
               const LoadProgress& progress);

  // Empty name: the first served model. Errors: kNotFound, and what loading says.
  Result<ModelHandle> acquire(const std::string& name);
  // Sets when the model goes after its last use; negative: never. Errors: kNotFound.
  Status keep_alive(const std::string& name, std::chrono::seconds duration);

  std::vector<RunningModel> running() const;
  std::vector<std::string> served_names() const;
  const store::ModelStore* store() const { return store_.get(); }

 private:
  struct Entry {
    std::mutex loading;  // held while the model loads
    std::shared_ptr<LocalModel> model;
    std::shared_ptr<GenerationService> service;
    std::chrono::seconds keep_alive{300};  // negative: never goes
    std::chrono::steady_clock::time_point last_use;
    bool is_served = false;
  };
  std::shared_ptr<Entry> find_entry(const std::string& name, std::string& display);
  // What a request may use; empty when the model is not loaded.
  std::optional<ModelHandle> handle_of(const std::string& name, Entry& entry);
  void evict_for_room();
  static bool is_idle(const Entry& entry);
  void reap();

  const ManagerOptions options_;
  std::shared_ptr<store::ModelStore> store_;
  TextWorkers& workers_;
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Entry>> entries_;  // by display name
  std::map<std::string, std::string> aliases_;             // served name -> display name
  std::vector<std::string> served_;
  bool stopping_ = false;
  std::condition_variable bell_;
  std::thread reaper_;
};

}  // namespace sluice::server
