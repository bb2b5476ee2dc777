#include "server/catalogue.h"

#include <boost/json/serialize.hpp>

#include "api/ollama/catalogue.h"
#include "base/log.h"

namespace sluice::server {
namespace {

namespace ollama = api::ollama;

std::string count_text(std::uint64_t parameters) {
  const auto count = static_cast<double>(parameters);
  if (count >= 1e9) return fmt::format("{:.1f}B", count / 1e9);
  return count >= 1e6 ? fmt::format("{:.2f}M", count / 1e6) : fmt::format("{}", parameters);
}

ollama::ModelInfo info_of(const std::string& name, const ModelFacts& facts) {
  ollama::ModelInfo info;
  info.name = name;
  info.format = facts.format;
  info.family = info.architecture = facts.architecture;
  info.parameter_size = count_text(facts.parameters);
  info.quantization_level = facts.quantization;
  info.template_text = facts.template_text;
  info.capabilities = {"completion"};
  if (facts.can_think) info.capabilities.emplace_back("thinking");
  info.metadata = facts.metadata;
  info.parameter_count = static_cast<std::int64_t>(facts.parameters);
  info.context_length = static_cast<std::int64_t>(facts.context_tokens);
  info.embedding_length = static_cast<std::int64_t>(facts.hidden);
  info.size_bytes = static_cast<std::int64_t>(facts.weight_bytes);
  return info;
}

std::string value_text(const json::value& value) {
  return value.is_double() ? fmt::format("{}", value.get_double()) : boost::json::serialize(value);
}

// The params layer as `ollama show` prints it: one line a value.
std::string parameter_lines(const std::string& params_json) {
  const auto parsed = json::parse(params_json);
  if (!parsed || !parsed->is_object()) return {};
  std::string lines;
  for (const auto& [key, value] : parsed->get_object()) {
    const json::array one{value};
    for (const json::value& item : value.is_array() ? value.get_array() : one)
      lines += fmt::format("{}{:<30} {}", lines.empty() ? "" : "\n", std::string_view(key), value_text(item));
  }
  return lines;
}

ollama::ModelInfo info_of(const store::StoredModel& stored, const ModelFacts& facts) {
  ollama::ModelInfo info = info_of(stored.name.display(), facts);
  info.digest = stored.digest;
  info.size_bytes = static_cast<std::int64_t>(stored.bytes);
  info.modified_unix = stored.modified;
  info.system = stored.system_text;
  info.parameters = parameter_lines(stored.params_json);
  return info;
}

}  // namespace

std::shared_ptr<const ModelFacts> Catalogue::facts_of_stored(const store::StoredModel& stored) {
  const std::lock_guard lock(mutex_);
  const auto known = facts_.find(stored.digest);
  if (known != facts_.end()) return known->second;
  Result<ModelFacts> facts = read_facts(stored.weights);
  if (!facts) {  // listed with what the manifest says; tried again next time
    log::warning("{}: {}", stored.name.display(), facts.error().message);
    return std::make_shared<const ModelFacts>();
  }
  if (facts_.size() >= kFactsMax) facts_.clear();
  return facts_[stored.digest] = std::make_shared<const ModelFacts>(std::move(*facts));
}

std::string Catalogue::tags() {
  std::vector<ollama::ModelInfo> list;
  for (const RunningModel& running : models_.running())
    if (running.digest.empty()) list.push_back(info_of(running.name, running.model->facts));
  if (models_.store() == nullptr) return ollama::tags_reply(list);
  for (const store::StoredModel& stored : models_.store()->list())
    list.push_back(info_of(stored, *facts_of_stored(stored)));
  return ollama::tags_reply(list);
}

std::string Catalogue::ps() const {
  using std::chrono::duration_cast;
  std::vector<ollama::ModelInfo> list;
  for (const RunningModel& running : models_.running()) {
    ollama::ModelInfo info = info_of(running.name, running.model->facts);
    info.digest = running.digest;
    info.context_length = static_cast<std::int64_t>(running.model->context_tokens_max);
    info.size_bytes += static_cast<std::int64_t>(running.model->kv_bytes);
    const auto expires = running.expires.value_or(std::chrono::system_clock::time_point());
    info.expires_unix =
        running.expires ? duration_cast<std::chrono::seconds>(expires.time_since_epoch()).count() : -1;
    list.push_back(std::move(info));
  }
  return ollama::ps_reply(list);
}

Result<std::string> Catalogue::show(const std::string& text) {
  SLUICE_TRY(const json::value body, json::parse(text));
  std::string name;
  for (const char* key : {"name", "model"}) {
    const json::value* value = body.is_object() ? body.get_object().if_contains(key) : nullptr;
    if (value != nullptr && value->is_string()) name = std::string(value->get_string());
  }
  if (name.empty()) return fail(ErrorCode::kInvalidArgument, "model is required");
  const auto running = models_.running(name);
  if (running && running->digest.empty())
    return ollama::show_reply(info_of(running->name, running->model->facts));
  const auto parsed = store::parse_name(name);
  if (models_.store() != nullptr && parsed) {
    if (const auto stored = models_.store()->open(*parsed))
      return ollama::show_reply(info_of(*stored, *facts_of_stored(*stored)));
  }
  return fail(ErrorCode::kNotFound, "model '{}' not found", parsed ? parsed->display() : name.substr(0, 200));
}

}  // namespace sluice::server
