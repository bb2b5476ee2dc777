// Plan to StepInput: flattens the planned tokens of all sequences.
#pragma once

#include <cstddef>

#include "engine/scheduler.h"
#include "model/step_input.h"

namespace sluice::engine {

// `vocabulary`: size of constraint masks.
model::StepInput build_step(const StepPlan& plan, std::size_t block_tokens, std::size_t vocabulary);

}  // namespace sluice::engine
