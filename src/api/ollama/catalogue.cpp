#include "api/ollama/catalogue.h"

#include <algorithm>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "api/json_writer.h"
#include "api/ollama/timestamps.h"

namespace sluice::api::ollama {
namespace {

constexpr std::int64_t kForeverUnix = 10981958400;  // 2318: as far ahead as Ollama shows "forever"

void write_details(JsonWriter& json, const ModelInfo& model, bool has_lengths) {
  json.key("details").begin_object().field("parent_model", "").field("format", model.format);
  json.field("family", model.family).key("families").begin_array();
  if (!model.family.empty()) json.string(model.family);
  json.end_array().field("parameter_size", model.parameter_size);
  json.field("quantization_level", model.quantization_level);
  if (has_lengths && model.context_length > 0) json.field("context_length", model.context_length);
  if (has_lengths && model.embedding_length > 0) json.field("embedding_length", model.embedding_length);
  json.end_object();
}

void write_capabilities(JsonWriter& json, const ModelInfo& model) {
  if (model.capabilities.empty()) return;
  json.key("capabilities").begin_array();
  for (const std::string& capability : model.capabilities) json.string(capability);
  json.end_array();
}

std::vector<const ModelInfo*> sorted_down(std::span<const ModelInfo> models,
                                          std::int64_t (*key)(const ModelInfo&)) {
  std::vector<const ModelInfo*> sorted;
  for (const ModelInfo& model : models) sorted.push_back(&model);
  std::ranges::stable_sort(sorted, [&](const ModelInfo* a, const ModelInfo* b) { return key(*a) > key(*b); });
  return sorted;
}

std::int64_t expiry(const ModelInfo& model) {
  return model.expires_unix < 0 ? kForeverUnix : model.expires_unix;
}

void write_model_info(JsonWriter& json, const ModelInfo& model) {
  json.key("model_info").begin_object().field("general.architecture", model.architecture);
  json.field("general.parameter_count", model.parameter_count);
  json.field(model.architecture + ".context_length", model.context_length);
  json.field(model.architecture + ".embedding_length", model.embedding_length);
  const std::string_view own[] = {"general.architecture", "general.parameter_count", "general.name",
                                  "tokenizer.chat_template"};
  for (const auto& entry : model.metadata) {
    const std::string_view key(entry.key().data(), entry.key().size());
    const bool is_length =
        key == model.architecture + ".context_length" || key == model.architecture + ".embedding_length";
    if (is_length || std::ranges::find(own, key) != std::end(own)) continue;
    json.key(key).raw(entry.value().is_array() ? "null" : boost::json::serialize(entry.value()));
  }
  json.end_object();
}

void write_optional(JsonWriter& json, std::string_view name, std::string_view text) {
  if (!text.empty()) json.field(name, text);
}

}  // namespace

std::string tags_reply(std::span<const ModelInfo> models) {
  JsonWriter json;
  json.begin_object().key("models").begin_array();
  for (const ModelInfo* model : sorted_down(models, [](const ModelInfo& m) { return m.modified_unix; })) {
    json.begin_object().field("name", model->name).field("model", model->name);
    json.field("modified_at", utc_seconds(model->modified_unix));
    json.field("size", model->size_bytes).field("digest", model->digest);
    write_details(json, *model, true);
    write_capabilities(json, *model);
    json.end_object();
  }
  return json.end_array().end_object().take();
}

std::string ps_reply(std::span<const ModelInfo> models) {
  JsonWriter json;
  json.begin_object().key("models").begin_array();
  for (const ModelInfo* model : sorted_down(models, expiry)) {
    json.begin_object().field("name", model->name).field("model", model->name);
    json.field("size", model->size_bytes).field("digest", model->digest);
    write_details(json, *model, false);
    json.field("expires_at", utc_seconds(expiry(*model)));
    json.field("size_vram", model->vram_bytes).field("context_length", model->context_length).end_object();
  }
  return json.end_array().end_object().take();
}

std::string show_reply(const ModelInfo& model) {
  JsonWriter json;
  json.begin_object();
  write_optional(json, "license", model.license);
  write_optional(json, "modelfile", model.modelfile);
  write_optional(json, "parameters", model.parameters);
  write_optional(json, "template", model.template_text);
  write_optional(json, "system", model.system);
  write_details(json, model, false);
  write_model_info(json, model);
  write_capabilities(json, model);
  return json.field("modified_at", utc_seconds(model.modified_unix)).end_object().take();
}

std::string version_reply(std::string_view version) {
  JsonWriter json;
  return json.begin_object().field("version", version).end_object().take();
}

}  // namespace sluice::api::ollama
