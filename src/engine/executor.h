// Runs a step on all ranks. No address space is assumed shared with them: StepInput and StepOutput are plain
// values.
#pragma once

#include "model/step_input.h"

namespace sluice::engine {

class Executor {
 public:
  virtual ~Executor() = default;
  // Throws on a device failure; the engine then fails the sequences of the step and reports itself unhealthy.
  virtual model::StepOutput execute(const model::StepInput& input) = 0;
};

}  // namespace sluice::engine
