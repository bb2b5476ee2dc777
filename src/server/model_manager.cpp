#include "server/model_manager.h"

#include <algorithm>

#include "base/log.h"

namespace sluice::server {

using Clock = std::chrono::steady_clock;

namespace {

tl::unexpected<Error> not_found(const std::string& name) {
  return tl::unexpected(
      Error{ErrorCode::kNotFound, fmt::format("model '{}' not found", name.substr(0, 200)), "model"});
}

}  // namespace

ModelManager::ModelManager(ManagerOptions options, std::shared_ptr<store::ModelStore> store,
                           TextWorkers& workers)
    : options_(std::move(options)),
      store_(std::move(store)),
      workers_(workers),
      reaper_([this] { reap(); }) {}

ModelManager::~ModelManager() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  bell_.notify_all();
  reaper_.join();
}

Status ModelManager::serve(const std::filesystem::path& path, std::vector<std::string> names,
                           const LoadProgress& progress) {
  auto entry = std::make_shared<Entry>();
  SLUICE_TRY(entry->model, load_model(path, options_.load, progress));
  entry->service = std::make_shared<GenerationService>(entry->model, workers_);
  entry->keep_alive = std::chrono::seconds(-1);
  entry->is_served = true;
  const std::lock_guard lock(mutex_);
  for (const std::string& name : names) aliases_[name] = names[0];
  entries_[names[0]] = std::move(entry);
  served_.push_back(names[0]);
  return {};
}

std::shared_ptr<ModelManager::Entry> ModelManager::find_entry(const std::string& name, std::string& display) {
  const std::lock_guard lock(mutex_);
  if (name.empty() && !served_.empty()) {
    display = served_[0];
    return entries_[display];
  }
  if (const auto alias = aliases_.find(name); alias != aliases_.end()) {
    display = alias->second;
    return entries_[display];
  }
  const auto parsed = store::parse_name(name);
  display = parsed ? parsed->display() : name;
  if (const auto alias = aliases_.find(display); alias != aliases_.end()) {
    display = alias->second;
    return entries_[display];
  }
  if (const auto found = entries_.find(display); found != entries_.end()) return found->second;
  if (store_ == nullptr || !parsed || !store_->open(*parsed)) return nullptr;
  auto entry = std::make_shared<Entry>();
  entry->keep_alive = options_.keep_alive;
  entries_[display] = entry;
  return entry;
}

std::optional<ModelHandle> ModelManager::handle_of(const std::string& name, Entry& entry) {
  const std::lock_guard lock(mutex_);
  if (!entry.model) return std::nullopt;
  entry.last_use = Clock::now();
  ModelHandle handle;
  handle.name = name;
  handle.model = entry.model;
  handle.service = entry.service;
  return handle;
}

Result<ModelHandle> ModelManager::acquire(const std::string& name) {
  std::string display;
  const std::shared_ptr<Entry> entry = find_entry(name, display);
  if (!entry) return not_found(name);
  if (auto handle = handle_of(display, *entry)) return std::move(*handle);
  const auto start = Clock::now();
  const std::lock_guard loading(entry->loading);
  // Whoever held the lock may have loaded it meanwhile.
  if (auto handle = handle_of(display, *entry)) return std::move(*handle);
  evict_for_room();
  SLUICE_TRY(const auto parsed, store::parse_name(display));
  SLUICE_TRY(const auto stored, store_->open(parsed));
  SLUICE_TRY(auto model, load_model(stored.weights, options_.load, nullptr));
  {
    const std::lock_guard lock(mutex_);
    entry->service = std::make_shared<GenerationService>(model, workers_);
    entry->model = std::move(model);
  }
  auto handle = handle_of(display, *entry);
  if (!handle)
    return fail(ErrorCode::kUnavailable, "model '{}' was unloaded while it loaded: try again", display);
  handle->load_time = Clock::now() - start;
  return std::move(*handle);
}

Status ModelManager::keep_alive(const std::string& name, std::chrono::seconds duration) {
  std::string display;
  const std::shared_ptr<Entry> entry = find_entry(name, display);
  if (!entry) return not_found(name);
  const std::lock_guard lock(mutex_);
  if (!entry->is_served) entry->keep_alive = duration;
  bell_.notify_all();
  return {};
}

// The entry and its service hold the model; more holders are requests.
bool ModelManager::is_idle(const Entry& entry) { return !entry.is_served && entry.model.use_count() <= 2; }

// The idle model that was used longest ago makes room.
void ModelManager::evict_for_room() {
  std::shared_ptr<LocalModel> evicted;
  std::shared_ptr<GenerationService> service;
  const std::lock_guard lock(mutex_);
  std::size_t loaded = 0;
  Entry* oldest = nullptr;
  for (const auto& [name, entry] : entries_) {
    if (!entry->model) continue;
    ++loaded;
    if (is_idle(*entry) && (oldest == nullptr || entry->last_use < oldest->last_use)) oldest = entry.get();
  }
  if (loaded < options_.models_max || oldest == nullptr) return;
  evicted = std::move(oldest->model);
  service = std::move(oldest->service);
}

// Unloads what was not used for its keep-alive time.
void ModelManager::reap() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    std::vector<std::shared_ptr<LocalModel>> expired;
    for (auto& [name, entry] : entries_) {
      if (!entry->model || entry->is_served || entry->keep_alive.count() < 0) continue;
      if (!is_idle(*entry)) entry->last_use = Clock::now();
      if (Clock::now() - entry->last_use < entry->keep_alive) continue;
      log::info("unloading {}: not used for {} s", name, entry->keep_alive.count());
      expired.push_back(std::move(entry->model));
      entry->service.reset();
      entry->keep_alive = options_.keep_alive;
    }
    lock.unlock();
    expired.clear();  // may join an engine thread
    lock.lock();
    if (!stopping_) bell_.wait_for(lock, std::chrono::seconds(1));
  }
}

std::vector<RunningModel> ModelManager::running() const {
  const std::lock_guard lock(mutex_);
  std::vector<RunningModel> models;
  for (const auto& [name, entry] : entries_) {
    if (!entry->model) continue;
    RunningModel running{name, entry->model, std::nullopt};
    if (entry->keep_alive.count() >= 0) {
      running.expires =
          std::chrono::system_clock::now() + std::chrono::duration_cast<std::chrono::seconds>(
                                                 entry->last_use + entry->keep_alive - Clock::now());
    }
    models.push_back(std::move(running));
  }
  return models;
}

std::vector<std::string> ModelManager::served_names() const {
  const std::lock_guard lock(mutex_);
  return served_;
}

}  // namespace sluice::server
