// When a sequence ends, on token grounds (openai.md 2.3). Stop strings are text and belong to the server.
#pragma once

#include <algorithm>
#include <optional>

#include "engine/sequence.h"

namespace sluice::engine {

// Looks at the newest token. Empty: go on.
inline std::optional<FinishReason> finish_reason(const Sequence& sequence, std::size_t sequence_tokens_max) {
  const GenerationRequest& request = sequence.request;
  const TokenId token = sequence.tokens.back();
  const auto contains = [&](const std::vector<TokenId>& ids) { return std::ranges::count(ids, token) > 0; };
  if (sequence.output_size() >= static_cast<std::size_t>(std::max(request.sampling.min_tokens, 0))) {
    if (!request.sampling.ignore_eos && contains(request.end_ids)) return FinishReason::kStop;
    if (contains(request.sampling.stop_token_ids)) return FinishReason::kStop;
  }
  const bool is_full = sequence.tokens.size() >= sequence_tokens_max;
  if (is_full || sequence.output_size() >= static_cast<std::size_t>(request.max_tokens))
    return FinishReason::kLength;
  return std::nullopt;
}

}  // namespace sluice::engine
