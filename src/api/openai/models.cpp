#include "api/openai/models.h"

#include "api/json_writer.h"

namespace sluice::api::openai {
namespace {

void write_permission(JsonWriter& json, const ModelCard& card) {
  json.begin_object().field("id", "modelperm-" + card.id).field("object", "model_permission");
  json.field("created", card.created);
  json.field("allow_create_engine", false).field("allow_sampling", true).field("allow_logprobs", true);
  json.field("allow_search_indices", false).field("allow_view", true).field("allow_fine_tuning", false);
  json.field("organization", "*").null_field("group").field("is_blocking", false).end_object();
}

void write_card(JsonWriter& json, const ModelCard& card) {
  json.begin_object().field("id", card.id).field("object", "model").field("created", card.created);
  json.field("owned_by", "vllm");  // some clients match it
  json.field("root", card.root).null_field("parent");
  card.max_model_len > 0 ? json.field("max_model_len", card.max_model_len) : json.null_field("max_model_len");
  json.key("permission").begin_array();
  write_permission(json, card);
  json.end_array().end_object();
}

}  // namespace

std::string models_reply(std::span<const ModelCard> cards) {
  JsonWriter json;
  json.begin_object().field("object", "list").key("data").begin_array();
  for (const ModelCard& card : cards) write_card(json, card);
  json.end_array().end_object();
  return json.take();
}

std::string model_reply(const ModelCard& card) {
  JsonWriter json;
  write_card(json, card);
  return json.take();
}

}  // namespace sluice::api::openai
