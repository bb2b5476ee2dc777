// A TextRequest to prompt tokens, with every limit that can be checked before the engine is asked.
#pragma once

#include <vector>

#include "api/generation.h"
#include "server/local_model.h"
#include "text/reasoning_parser.h"

namespace sluice::server {

struct Prompt {
  std::vector<TokenId> ids;
  std::int32_t max_tokens = 0;  // what may be generated
  text::ReasoningState reasoning = text::ReasoningState::kContent;
};

// Errors: kInvalidArgument with `param` (too long, unknown ids, no template, a template's own refusal).
Result<Prompt> build_prompt(const LocalModel& model, const api::TextRequest& request);

}  // namespace sluice::server
