#include "server/exchange.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "server/text_stream.h"

namespace sluice::server {
namespace {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;

// Several prompts become one stream: choices are numbered on, and one usage report sums all.
class MergingSink : public api::TextSink {
 public:
  MergingSink(std::shared_ptr<TextStream> stream, std::size_t requests, std::int32_t choices)
      : stream_(std::move(stream)), open_(requests), choices_(choices) {}

  void deliver_from(std::size_t request, api::TextEvent event) {
    event.choice += static_cast<std::int32_t>(request) * choices_;
    if (const auto* report = std::get_if<api::UsageReport>(&event.body)) {
      const std::lock_guard lock(mutex_);
      add(report->usage);
      if (--open_ > 0) return;
      event.choice = 0;
      event.body = api::UsageReport{total_};
    }
    stream_->deliver(std::move(event));
  }
  void deliver(api::TextEvent event) override { deliver_from(0, std::move(event)); }

 private:
  void add(const api::Usage& usage) {
    total_.prompt_tokens += usage.prompt_tokens;
    total_.completion_tokens += usage.completion_tokens;
    total_.reasoning_tokens += usage.reasoning_tokens;
    total_.cached_tokens += usage.cached_tokens;
    total_.prefill_time = std::max(total_.prefill_time, usage.prefill_time);
    total_.decode_time = std::max(total_.decode_time, usage.decode_time);
    total_.total_time = std::max(total_.total_time, usage.total_time);
  }
  std::shared_ptr<TextStream> stream_;
  std::mutex mutex_;
  std::size_t open_;
  std::int32_t choices_;
  api::Usage total_;
};

class PartSink : public api::TextSink {
 public:
  PartSink(std::shared_ptr<MergingSink> all, std::size_t request) : all_(std::move(all)), request_(request) {}
  void deliver(api::TextEvent event) override { all_->deliver_from(request_, std::move(event)); }

 private:
  std::shared_ptr<MergingSink> all_;
  std::size_t request_;
};

struct Running {
  Exchange exchange;
  ModelHandle model;
  std::vector<std::unique_ptr<api::Generation>> generations;
};

Result<Exchange> parse_request(const http::Request& request,
                               const std::function<Result<Exchange>(const json::value&)>& parse) {
  const std::string_view type = http::find_header(request.headers, "Content-Type");
  if (!type.empty() && type.find("json") == std::string_view::npos &&
      type.find("x-www-form-urlencoded") == std::string_view::npos) {
    return fail(ErrorCode::kInvalidArgument, "Content-Type must be application/json, got {}",
                type.substr(0, 100));
  }
  SLUICE_TRY(const json::value body, json::parse(request.body));
  return parse(body);
}

asio::awaitable<Result<Exchange>> parse_on_worker(http::RequestPtr request,
                                                  std::function<Result<Exchange>(const json::value&)> parse) {
  co_return parse_request(*request, parse);
}

// However long the model takes to load: no thread waits with it.
asio::awaitable<Result<ModelHandle>> acquire(ModelManager& models, std::string name) {
  using Box = Mailbox<Result<ModelHandle>>;
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  auto box = std::make_shared<Box>(executor);
  const Reader reader(box);
  models.acquire(name, [box](Result<ModelHandle> handle) { box->put(std::move(handle)); });
  std::vector<Result<ModelHandle>> handles = co_await reader->next();
  co_return std::move(handles.front());
}

Status start(Running& running, const std::shared_ptr<TextStream>& stream) {
  const auto& requests = running.exchange.requests;
  if (requests.empty()) return {};  // a load without a question
  auto merging = std::make_shared<MergingSink>(stream, requests.size(), requests[0].choices);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    auto sink = std::make_shared<PartSink>(merging, i);
    SLUICE_TRY(auto generation, running.model.service->start(requests[i], std::move(sink)));
    running.generations.push_back(std::move(generation));
  }
  return {};
}

asio::awaitable<Status> start_on_worker(std::shared_ptr<Running> running,
                                        std::shared_ptr<TextStream> stream) {
  co_return start(*running, stream);
}

// Parses on a worker, waits for the model, renders and submits on a worker.
asio::awaitable<Status> prepare(ServiceContext& context, http::RequestPtr request,
                                std::function<Result<Exchange>(const json::value&)> parse,
                                std::shared_ptr<Running> running, std::shared_ptr<TextStream> stream) {
  auto parsing = parse_on_worker(std::move(request), std::move(parse));
  Result<Exchange> exchange =
      co_await asio::co_spawn(context.workers, std::move(parsing), asio::use_awaitable);
  if (!exchange) co_return tl::unexpected(exchange.error());
  running->exchange = std::move(*exchange);
  if (!running->exchange.loads_model) co_return Status{};
  Result<ModelHandle> model = co_await acquire(context.models, running->exchange.model);
  if (!model) co_return tl::unexpected(model.error());
  running->model = std::move(*model);
  // While the handle is held, so that 0 unloads after the answer and not before it.
  if (running->exchange.keep_alive) {
    const Status kept = context.models.keep_alive(running->model.name, *running->exchange.keep_alive);
    if (!kept) co_return kept;
  }
  if (running->exchange.admit) {
    if (Status admitted = running->exchange.admit(running->model); !admitted) co_return admitted;
  }
  auto starting = start_on_worker(running, std::move(stream));
  co_return co_await asio::co_spawn(context.workers, std::move(starting), asio::use_awaitable);
}

const char* reason_text(api::FinishReason reason) {
  return reason == api::FinishReason::kLength ? "length" : "stop";
}

// Counts what the events say.
class Accounting {
 public:
  Accounting(Metrics& metrics, std::string model, Clock::time_point arrival)
      : metrics_(metrics), model_(std::move(model)), arrival_(arrival) {}
  void see(api::TextEvent& event, const ModelHandle& model) {
    const bool is_output = std::holds_alternative<api::TextDelta>(event.body) ||
                           std::holds_alternative<api::ReasoningDelta>(event.body) ||
                           std::holds_alternative<api::Finish>(event.body);
    if (is_output && !std::exchange(has_output_, true)) metrics_.first_token(model_, Clock::now() - arrival_);
    if (const auto* done = std::get_if<api::Finish>(&event.body)) reason_ = reason_text(done->reason);
    if (auto* report = std::get_if<api::UsageReport>(&event.body)) {
      report->usage.load_time = model.load_time;
      report->usage.total_time = Clock::now() - arrival_;
      metrics_.finished(model_, reason_, report->usage);
    }
    if (std::holds_alternative<Error>(event.body)) metrics_.failed(model_);
  }

 private:
  Metrics& metrics_;
  std::string model_;
  Clock::time_point arrival_;
  const char* reason_ = "stop";
  bool has_output_ = false;
};

asio::awaitable<void> stream_answer(Running& running, Accounting& accounting, TextStream& events,
                                    http::ResponseWriter& writer) {
  http::Response head;
  head.content_type = running.exchange.dialect.stream_type;
  head.headers = {{"Cache-Control", "no-cache, no-transform"}, {"X-Accel-Buffering", "no"}};
  bool is_there = co_await writer.begin(std::move(head));
  bool is_over = false;
  while (is_there && !is_over) {
    std::vector<api::TextEvent> batch = co_await events.next();
    std::string bytes;
    for (api::TextEvent& event : batch) {
      accounting.see(event, running.model);
      bytes += running.exchange.dialect.write(event);
      is_over = is_last(event);
      if (is_over) break;  // one error ends a stream, whatever the other prompts' would be
    }
    if (!bytes.empty()) is_there = co_await writer.write(std::move(bytes));
  }
  if (is_there) co_await writer.end();
}

asio::awaitable<void> whole_answer(Running& running, Accounting& accounting, TextStream& events,
                                   http::ResponseWriter& writer) {
  std::vector<api::TextEvent> log;
  while (log.empty() || !is_last(log.back())) {
    std::vector<api::TextEvent> batch = co_await events.next();
    for (api::TextEvent& event : batch) {
      accounting.see(event, running.model);
      log.push_back(std::move(event));
      if (is_last(log.back())) break;
    }
  }
  http::Response response;
  if (const auto* error = std::get_if<Error>(&log.back().body))
    response = running.exchange.dialect.error(*error);
  else
    response = json_response(200, running.exchange.dialect.reply(log));
  co_await writer.send(std::move(response));
}

}  // namespace

http::Response json_response(int status, std::string body) {
  http::Response response;
  response.status = status;
  response.body = std::move(body);
  return response;
}

asio::awaitable<void> run_exchange(ServiceContext& context, http::RequestPtr request, http::WriterPtr writer,
                                   std::function<Result<Exchange>(const json::value&)> parse,
                                   std::function<http::Response(const Error&)> error) {
  const auto arrival = Clock::now();
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  auto events = std::make_shared<TextStream>(executor);
  const Reader reader(events);
  const auto running = std::make_shared<Running>();
  const Status prepared = co_await prepare(context, request, std::move(parse), running, events);
  if (!prepared) {
    http::Response refusal = error(prepared.error());
    co_await writer->send(std::move(refusal));
    co_return;
  }
  Accounting accounting(context.metrics, running->model.name, arrival);
  if (running->generations.empty()) {  // nothing to generate: the dialect says so
    http::Response loaded = json_response(200, running->exchange.dialect.reply({}));
    co_await writer->send(std::move(loaded));
    co_return;
  }
  writer->on_disconnect([events] { events->close(); });
  if (running->exchange.streams)
    co_await stream_answer(*running, accounting, *events, *writer);
  else
    co_await whole_answer(*running, accounting, *events, *writer);
}

}  // namespace sluice::server
