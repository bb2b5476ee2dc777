#include "server/model_facts.h"

#include <algorithm>
#include <map>

#include "backend/dtype.h"

namespace sluice::server {
namespace {

std::string quantization_of(const weights::Checkpoint& checkpoint) {
  std::map<std::string, std::uint64_t> bytes;
  checkpoint.for_each([&](const weights::StoredTensor& tensor) {
    bytes[std::string(backend::traits(tensor.type).name)] += tensor.bytes.size();
  });
  const auto most = std::ranges::max_element(bytes, {}, [](const auto& entry) { return entry.second; });
  return most != bytes.end() ? most->first : "";
}

json::object metadata_of(const weights::GgufFile& gguf) {
  json::object metadata;
  for (const auto& [key, value] : gguf.metadata()) {
    json::value shown;  // null: an array
    if (const auto* integer = std::get_if<std::int64_t>(&value)) shown = *integer;
    if (const auto* number = std::get_if<double>(&value)) shown = *number;
    if (const auto* flag = std::get_if<bool>(&value)) shown = *flag;
    if (const auto* text = std::get_if<std::string>(&value)) shown = *text;
    metadata[key] = std::move(shown);
  }
  return metadata;
}

}  // namespace

std::string template_text_of(const weights::Checkpoint& checkpoint) {
  if (const weights::GgufFile* gguf = checkpoint.gguf())
    return gguf->text("tokenizer.chat_template").value_or("");
  std::string text = checkpoint.side_file("chat_template.jinja");
  if (!text.empty()) return text;
  const auto parsed = json::parse(checkpoint.side_file("tokenizer_config.json"));
  if (!parsed || !parsed->is_object()) return {};
  const json::value* value = parsed->get_object().if_contains("chat_template");
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : std::string();
}

ModelFacts facts_of(const weights::Checkpoint& checkpoint, const model::ModelConfig& config) {
  ModelFacts facts;
  facts.format = checkpoint.gguf() != nullptr ? "gguf" : "safetensors";
  facts.architecture = config.architecture_name;
  facts.quantization = quantization_of(checkpoint);
  facts.parameters = checkpoint.parameters();
  facts.weight_bytes = checkpoint.weight_bytes();
  facts.context_tokens = config.context_tokens_max;
  facts.hidden = config.hidden;
  facts.template_text = template_text_of(checkpoint);
  facts.can_think = facts.template_text.find("<think>") != std::string::npos &&
                    facts.template_text.find("</think>") != std::string::npos;
  if (checkpoint.gguf() != nullptr) facts.metadata = metadata_of(*checkpoint.gguf());
  return facts;
}

Result<ModelFacts> read_facts(const std::filesystem::path& path) {
  SLUICE_TRY(weights::Checkpoint checkpoint, weights::Checkpoint::open(path));
  SLUICE_TRY(const model::ModelConfig config, model::read_config(checkpoint));
  return facts_of(checkpoint, config);
}

}  // namespace sluice::server
