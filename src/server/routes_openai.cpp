// The OpenAI API. Handlers translate; api/openai knows the JSON, run_exchange() the generation.
#include <random>

#include "api/openai/chat.h"
#include "api/openai/completions.h"
#include "api/openai/errors.h"
#include "api/openai/models.h"
#include "server/exchange.h"

namespace sluice::server {
namespace {

namespace asio = boost::asio;
namespace openai = api::openai;

http::Response error_response(const Error& error) {
  openai::HttpError shaped = openai::error_reply(error);
  return json_response(shaped.status, std::move(shaped.body));
}

std::string new_id(const http::Request& request, const char* prefix) {
  thread_local std::mt19937_64 random{std::random_device{}()};
  const std::string_view given = http::find_header(request.headers, "X-Request-Id");
  if (!given.empty() && given.size() <= 128) return prefix + std::string(given);
  return fmt::format("{}{:016x}{:016x}", prefix, random(), random());
}

std::int64_t unix_now() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

openai::ReplyHeader header_of(const http::Request& request, const char* prefix, const std::string& model) {
  openai::ReplyHeader header;
  header.id = new_id(request, prefix);
  header.model = model;
  header.created = unix_now();
  return header;
}

// vLLM names the first served model when the client names none.
std::string shown_model(const ModelManager& models, const std::string& asked) {
  const auto served = models.served_names();
  return asked.empty() && !served.empty() ? served[0] : asked;
}

template <typename Writer, typename Call>
Dialect dialect_of(openai::ReplyHeader header, std::shared_ptr<const Call> call,
                   std::string (*reply)(const openai::ReplyHeader&, const Call&,
                                        std::span<const api::TextEvent>)) {
  auto writer = std::make_shared<Writer>(header, *call);
  Dialect dialect;
  dialect.stream_type = "text/event-stream; charset=utf-8";
  dialect.write = [writer](const api::TextEvent& event) { return writer->write(event); };
  dialect.reply = [header, call, reply](const std::vector<api::TextEvent>& events) {
    return reply(header, *call, events);
  };
  dialect.error = error_response;
  return dialect;
}

Result<Exchange> prepare_chat(const ModelManager& models, const http::Request& request,
                              const json::value& body) {
  SLUICE_TRY(openai::ChatCall parsed, openai::parse_chat(body));
  auto call = std::make_shared<const openai::ChatCall>(std::move(parsed));
  Exchange exchange;
  exchange.requests = {call->request};
  exchange.streams = call->stream;
  exchange.model = call->request.model;
  auto header = header_of(request, "chatcmpl-", shown_model(models, call->request.model));
  exchange.dialect = dialect_of<openai::ChatStreamWriter>(std::move(header), call, &openai::chat_reply);
  return exchange;
}

Result<Exchange> prepare_completion(const ModelManager& models, const http::Request& request,
                                    const json::value& body) {
  SLUICE_TRY(openai::CompletionCall parsed, openai::parse_completion(body));
  auto call = std::make_shared<const openai::CompletionCall>(std::move(parsed));
  Exchange exchange;
  exchange.requests = call->requests;
  exchange.streams = call->stream;
  exchange.model = call->requests.front().model;
  auto header = header_of(request, "cmpl-", shown_model(models, exchange.model));
  exchange.dialect =
      dialect_of<openai::CompletionStreamWriter>(std::move(header), call, &openai::completion_reply);
  return exchange;
}

std::vector<openai::ModelCard> model_cards(const ModelManager& models) {
  std::vector<openai::ModelCard> cards;
  const auto add = [&](const std::string& id, std::int64_t context) {
    openai::ModelCard card;
    card.id = card.root = id;
    card.created = unix_now();
    card.max_model_len = context;
    cards.push_back(std::move(card));
  };
  for (const RunningModel& running : models.running())
    add(running.name, static_cast<std::int64_t>(running.model->context_tokens_max));
  const std::size_t loaded = cards.size();
  if (models.store() != nullptr && models.served_names().empty()) {
    for (const store::StoredModel& stored : models.store()->list()) {
      const std::string name = stored.name.display();
      const bool is_listed = std::any_of(cards.begin(), cards.begin() + static_cast<std::ptrdiff_t>(loaded),
                                         [&](const openai::ModelCard& card) { return card.id == name; });
      if (!is_listed) add(name, 0);
    }
  }
  return cards;
}

http::Response one_model(const ModelManager& models, const std::string& id) {
  for (const openai::ModelCard& card : model_cards(models))
    if (card.id == id) return json_response(200, openai::model_reply(card));
  return error_response(
      {ErrorCode::kNotFound, fmt::format("The model `{}` does not exist.", id.substr(0, 200)), "model"});
}

using PrepareCall = Result<Exchange> (*)(const ModelManager&, const http::Request&, const json::value&);

http::Handler generation_handler(ServiceContext& context, PrepareCall prepare) {
  return [&context, prepare](http::RequestPtr request, http::WriterPtr writer) -> asio::awaitable<void> {
    auto parse = [&context, prepare, request](const json::value& body) {
      return prepare(context.models, *request, body);
    };
    return run_exchange(context, std::move(request), std::move(writer), std::move(parse), error_response);
  };
}

}  // namespace

void add_openai_routes(http::Router& router, ServiceContext& context) {
  router.add("POST", "/v1/chat/completions", generation_handler(context, prepare_chat));
  router.add("POST", "/v1/completions", generation_handler(context, prepare_completion));
  router.add(
      "GET", "/v1/models", [&context](http::RequestPtr, http::WriterPtr writer) -> asio::awaitable<void> {
        http::Response response = json_response(200, openai::models_reply(model_cards(context.models)));
        co_await writer->send(std::move(response));
      });
  router.add("GET", "/v1/models/*",
             [&context](http::RequestPtr request, http::WriterPtr writer) -> asio::awaitable<void> {
               const std::string id = request->path.substr(std::string_view("/v1/models/").size());
               http::Response response = one_model(context.models, id);
               co_await writer->send(std::move(response));
             });
}

}  // namespace sluice::server
