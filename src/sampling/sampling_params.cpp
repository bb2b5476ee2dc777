#include "sampling/sampling_params.h"

#include <cmath>

namespace sluice::sampling {
namespace {

Status bad(const char* param, std::string message) {
  return tl::unexpected(Error{ErrorCode::kInvalidArgument, std::move(message), param});
}

Status check_id(const char* param, TokenId id, std::int32_t vocabulary) {
  if (id >= 0 && id < vocabulary) return {};
  return bad(param, fmt::format("{}: token id {} is outside the vocabulary of {}", param, id, vocabulary));
}

}  // namespace

Status validate(const SamplingParams& p, std::int32_t vocabulary) {
  const struct {
    const char* name;
    float value, low, high;
    bool low_is_open;
  } ranges[] = {{"temperature", p.temperature, 0, 1e6F, false},
                {"top_p", p.top_p, 0, 1, true},
                {"min_p", p.min_p, 0, 1, false},
                {"repetition_penalty", p.repetition_penalty, 0, 1e6F, true},
                {"presence_penalty", p.presence_penalty, -2, 2, false},
                {"frequency_penalty", p.frequency_penalty, -2, 2, false}};
  for (const auto& range : ranges) {
    const bool above = range.low_is_open ? range.value > range.low : range.value >= range.low;
    if (above && range.value <= range.high) continue;  // false for NaN
    return bad(range.name, fmt::format("{} must be in {}{}, {}], got {}", range.name,
                                       range.low_is_open ? "(" : "[", range.low, range.high, range.value));
  }
  if (p.logprobs > 1024)
    return bad("logprobs", fmt::format("logprobs must be at most 1024, got {}", p.logprobs));
  if (p.min_tokens < 0)
    return bad("min_tokens", fmt::format("min_tokens must be >= 0, got {}", p.min_tokens));
  for (const auto& [id, bias] : p.logit_bias) {
    SLUICE_TRY_STATUS(check_id("logit_bias", id, vocabulary));
    if (std::isnan(bias)) return bad("logit_bias", fmt::format("logit_bias of token {} is not a number", id));
  }
  for (const TokenId id : p.stop_token_ids) SLUICE_TRY_STATUS(check_id("stop_token_ids", id, vocabulary));
  return {};
}

}  // namespace sluice::sampling
