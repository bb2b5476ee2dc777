#include "server/model_manager.h"

#include <algorithm>

#include "base/log.h"

namespace sluice::server {
namespace {

tl::unexpected<Error> not_found(const std::string& name) {
  return tl::unexpected(
      Error{ErrorCode::kNotFound, fmt::format("model '{}' not found", name.substr(0, 200)), "model"});
}

tl::unexpected<Error> stopping_error() { return fail(ErrorCode::kUnavailable, "the server is stopping"); }

void add_counts(engine::EngineStats& sum, const engine::EngineStats& stats) {
  sum.prompt_tokens += stats.prompt_tokens;
  sum.cached_prompt_tokens += stats.cached_prompt_tokens;
  sum.generated_tokens += stats.generated_tokens;
  sum.preemptions += stats.preemptions;
  sum.steps += stats.steps;
}

}  // namespace

ModelManager::ModelManager(ManagerOptions options, std::shared_ptr<store::ModelStore> store,
                           TextWorkers& workers)
    : options_(std::move(options)),
      store_(std::move(store)),
      workers_(workers),
      loader_([this] { load_loop(); }),
      unloader_([this] { unload_loop(); }) {}

ModelManager::~ModelManager() {
  stop();
  loader_.join();
  unloader_.join();
  // A generation that outlives its client must not outlive the text workers.
  for (const auto& [name, entry] : entries_)
    if (entry->model) entry->model->engine->stop();
}

void ModelManager::stop() {
  std::vector<Waiter> refused;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    to_load_.clear();
    for (const auto& [name, entry] : entries_) {
      std::move(entry->waiters.begin(), entry->waiters.end(), std::back_inserter(refused));
      entry->waiters.clear();
    }
  }
  load_bell_.notify_all();
  unload_bell_.notify_all();
  for (const Waiter& waiter : refused) waiter.done(stopping_error());
}

Status ModelManager::serve(const std::filesystem::path& path, std::vector<std::string> names,
                           const LoadProgress& progress, const std::optional<store::StoredModel>& stored) {
  auto entry = std::make_shared<Entry>();
  SLUICE_TRY(entry->model, options_.loader(path, options_.load, progress));
  if (stored) {
    SLUICE_TRY(entry->model->defaults, read_model_layers(stored->params_json, stored->system_text));
    entry->digest = stored->digest;
  }
  entry->name = names[0];
  entry->service = std::make_shared<GenerationService>(entry->model, workers_);
  entry->keep_alive = std::chrono::seconds(-1);
  entry->is_served = true;
  const std::lock_guard lock(mutex_);
  for (const std::string& name : names) aliases_[name] = names[0];
  entries_[names[0]] = std::move(entry);
  served_.push_back(names[0]);
  return {};
}

Result<std::shared_ptr<ModelManager::Entry>> ModelManager::find(const std::string& name) {
  if (name.empty() && !served_.empty()) return entries_[served_[0]];
  if (const auto alias = aliases_.find(name); alias != aliases_.end()) return entries_[alias->second];
  const auto parsed = store::parse_name(name);
  if (!parsed) return not_found(name);
  const std::string display = parsed->display();
  if (const auto alias = aliases_.find(display); alias != aliases_.end()) return entries_[alias->second];
  if (const auto found = entries_.find(display); found != entries_.end()) return found->second;
  if (store_ == nullptr || !store_->open(*parsed)) return not_found(display);
  auto entry = std::make_shared<Entry>();
  entry->name = display;
  entry->keep_alive = options_.keep_alive;
  entries_[display] = entry;
  return entry;
}

ModelHandle ModelManager::use(Entry& entry) {
  entry.last_use = Clock::now();
  return {entry.name, entry.model, entry.service, {}};
}

void ModelManager::acquire(const std::string& name, Acquired done) {
  std::unique_lock lock(mutex_);
  Result<std::shared_ptr<Entry>> found = find(name);
  const auto answer = [&](Result<ModelHandle> result) {
    lock.unlock();
    done(std::move(result));
  };
  if (!found) return answer(tl::unexpected(found.error()));
  Entry& entry = **found;
  if (entry.model) return answer(use(entry));
  if (stopping_) return answer(stopping_error());
  if (entry.waiters.size() >= options_.waiters_max) {
    return answer(fail(ErrorCode::kResourceExhausted, "{} requests wait for '{}' to load already: try later",
                       entry.waiters.size(), entry.name));
  }
  entry.waiters.push_back({Clock::now(), std::move(done)});
  if (entry.waiters.size() > 1) return;  // it is on its way
  to_load_.push_back(std::move(*found));
  load_bell_.notify_one();
}

void ModelManager::load_loop() {
  std::unique_lock lock(mutex_);
  while (true) {
    load_bell_.wait(lock, [this] { return stopping_ || !to_load_.empty(); });
    if (stopping_) return;
    const std::shared_ptr<Entry> entry = std::move(to_load_.front());
    to_load_.pop_front();
    const std::string name = entry->name;
    lock.unlock();
    evict(options_.models_max);
    std::string digest;
    Result<std::shared_ptr<LocalModel>> model = load_stored(name, digest);
    while (!model && model.error().code == ErrorCode::kResourceExhausted && evict(1))
      model = load_stored(name, digest);
    if (!model) log::warning("loading {}: {}", name, model.error().message);
    finish_load(*entry, std::move(model), std::move(digest));
    lock.lock();
  }
}

Result<std::shared_ptr<LocalModel>> ModelManager::load_stored(const std::string& name, std::string& digest) {
  SLUICE_TRY(const auto parsed, store::parse_name(name));
  SLUICE_TRY(const auto stored, store_->open(parsed));
  SLUICE_TRY(RequestDefaults defaults, read_model_layers(stored.params_json, stored.system_text));
  const auto go_on = [this](std::uint64_t, std::uint64_t) { return !stopping_.load(); };
  SLUICE_TRY(auto model, options_.loader(stored.weights, options_.load, go_on));
  model->defaults = std::move(defaults);
  digest = stored.digest;
  return model;
}

void ModelManager::finish_load(Entry& entry, Result<std::shared_ptr<LocalModel>> model, std::string digest) {
  std::vector<std::pair<Acquired, Result<ModelHandle>>> answers;
  {
    const std::lock_guard lock(mutex_);
    if (model) {
      entry.service = std::make_shared<GenerationService>(*model, workers_);
      entry.model = std::move(*model);
      entry.digest = std::move(digest);
    }
    const auto now = Clock::now();
    for (Waiter& waiter : entry.waiters) {
      if (!entry.model) {
        answers.emplace_back(std::move(waiter.done), tl::unexpected(model.error()));
        continue;
      }
      ModelHandle handle = use(entry);
      handle.load_time = now - waiter.since;
      answers.emplace_back(std::move(waiter.done), std::move(handle));
    }
    entry.waiters.clear();
  }
  for (auto& [done, answer] : answers) done(std::move(answer));
}

Status ModelManager::keep_alive(const std::string& name, std::chrono::seconds duration) {
  const std::lock_guard lock(mutex_);
  SLUICE_TRY(const std::shared_ptr<Entry> entry, find(name));
  const bool is_unloaded = !entry->model && duration.count() == 0;  // nothing to do, now or at the next load
  if (!entry->is_served && !is_unloaded) entry->keep_alive = duration;
  unload_bell_.notify_all();
  return {};
}

// The entry and its service hold the model; more holders are requests.
bool ModelManager::is_idle(const Entry& entry) { return !entry.is_served && entry.model.use_count() <= 2; }

// The caller destroys the model without the lock: that joins an engine thread.
std::shared_ptr<LocalModel> ModelManager::unload(Entry& entry) {
  add_counts(entry.retired, entry.model->engine->stats());
  entry.service.reset();
  return std::move(entry.model);
}

bool ModelManager::evict(std::size_t loaded_min) {
  std::shared_ptr<LocalModel> evicted;
  const std::lock_guard lock(mutex_);
  std::size_t loaded = 0;
  Entry* oldest = nullptr;
  for (const auto& [name, entry] : entries_) {
    if (!entry->model) continue;
    ++loaded;
    if (is_idle(*entry) && (oldest == nullptr || entry->last_use < oldest->last_use)) oldest = entry.get();
  }
  if (loaded < loaded_min || oldest == nullptr) return false;
  log::info("unloading {}: another model needs its place", oldest->name);
  evicted = unload(*oldest);
  return true;
}

void ModelManager::unload_loop() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    std::vector<std::shared_ptr<LocalModel>> expired;
    for (auto& [name, entry] : entries_) {
      if (!entry->model || entry->is_served || entry->keep_alive.count() < 0) continue;
      if (!is_idle(*entry)) entry->last_use = Clock::now();
      if (!is_idle(*entry) || Clock::now() - entry->last_use < entry->keep_alive) continue;
      log::info("unloading {}: not used for {} s", name, entry->keep_alive.count());
      expired.push_back(unload(*entry));
      entry->keep_alive = options_.keep_alive;
    }
    lock.unlock();
    expired.clear();
    lock.lock();
    if (!stopping_) unload_bell_.wait_for(lock, std::chrono::seconds(1));
  }
}

RunningModel ModelManager::describe(const Entry& entry) {
  RunningModel running{entry.name, entry.digest, entry.model, std::nullopt};
  if (entry.keep_alive.count() >= 0) {
    const auto left =
        std::chrono::duration_cast<std::chrono::seconds>(entry.last_use + entry.keep_alive - Clock::now());
    running.expires = std::chrono::system_clock::now() + left;
  }
  return running;
}

std::vector<RunningModel> ModelManager::running() const {
  const std::lock_guard lock(mutex_);
  std::vector<RunningModel> models;
  for (const auto& [name, entry] : entries_)
    if (entry->model) models.push_back(describe(*entry));
  return models;
}

std::optional<RunningModel> ModelManager::running(const std::string& name) {
  const std::lock_guard lock(mutex_);
  const auto entry = find(name);
  return entry && (*entry)->model ? std::optional(describe(**entry)) : std::nullopt;
}

std::vector<ModelStats> ModelManager::statistics() const {
  const std::lock_guard lock(mutex_);
  std::vector<ModelStats> all;
  for (const auto& [name, entry] : entries_) {
    ModelStats sum{name, entry->model ? entry->model->engine->stats() : engine::EngineStats{}};
    add_counts(sum.stats, entry->retired);
    all.push_back(std::move(sum));
  }
  return all;
}

std::vector<std::string> ModelManager::served_names() const {
  const std::lock_guard lock(mutex_);
  return served_;
}

}  // namespace sluice::server
