// Text in, text out over one loaded model: the local api::Upstream. Renders, encodes, submits one sequence
// per choice, and turns their tokens back into TextEvents. No HTTP here: batch, Python and bench call it too.
// Thread safe.
#pragma once

#include <memory>

#include "api/generation.h"
#include "server/local_model.h"
#include "server/text_workers.h"

namespace sluice::server {

class GenerationService : public api::Upstream {
 public:
  // `workers` outlives the service and every generation.
  GenerationService(std::shared_ptr<LocalModel> model, TextWorkers& workers)
      : model_(std::move(model)), workers_(workers) {}

  Result<std::unique_ptr<api::Generation>> start(const api::TextRequest& asked,
                                                 std::shared_ptr<api::TextSink> sink) override;

 private:
  std::shared_ptr<LocalModel> model_;
  TextWorkers& workers_;
};

}  // namespace sluice::server
