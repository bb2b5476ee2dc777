// Bodies of Ollama's catalogue calls, from what is stored and what is loaded.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "server/model_manager.h"

namespace sluice::server {

// Facts of stored models, read once per manifest. Thread safe; reads files: not for I/O threads.
class Catalogue {
 public:
  static constexpr std::size_t kFactsMax = 4096;

  explicit Catalogue(ModelManager& models) : models_(models) {}

  std::string tags();      // GET /api/tags
  std::string ps() const;  // GET /api/ps
  // POST /api/show with this body. Loads nothing. Errors: kInvalidArgument, kNotFound.
  Result<std::string> show(const std::string& body);

 private:
  std::shared_ptr<const ModelFacts> facts_of_stored(const store::StoredModel& stored);

  ModelManager& models_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const ModelFacts>> facts_;  // by manifest digest, at most kFactsMax
};

}  // namespace sluice::server
