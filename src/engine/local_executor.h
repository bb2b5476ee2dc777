// The executor of a single rank in this process.
#pragma once

#include <memory>
#include <utility>

#include "engine/executor.h"
#include "model/model_runner.h"

namespace sluice::engine {

class LocalExecutor : public Executor {
 public:
  explicit LocalExecutor(std::unique_ptr<model::ModelRunner> runner) : runner_(std::move(runner)) {}
  model::StepOutput execute(const model::StepInput& input) override { return runner_->execute(input); }

 private:
  std::unique_ptr<model::ModelRunner> runner_;
};

}  // namespace sluice::engine
