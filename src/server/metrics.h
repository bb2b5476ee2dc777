// What /metrics says, with vLLM's names (openai.md 5). Counters live here; gauges are read from the engines
// on demand.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <string>

#include "api/generation.h"
#include "server/model_manager.h"

namespace sluice::server {

class Metrics {
 public:
  Metrics();
  ~Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  // A request of a known model reached its end.
  void finished(const std::string& model, const char* reason, const api::Usage& usage);
  void failed(const std::string& model);
  void first_token(const std::string& model, std::chrono::nanoseconds since_arrival);

  // Prometheus text format.
  std::string render(const ModelManager& manager);

 private:
  void count(const std::string& model, const char* reason);
  struct Families;
  std::unique_ptr<Families> families_;
};

}  // namespace sluice::server
