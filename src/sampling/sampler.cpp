#include "sampling/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <unordered_map>

#include "sampling/philox.h"

namespace sluice::sampling {
namespace {

constexpr float kMasked = -std::numeric_limits<float>::infinity();
constexpr float kLowestTemperature = 0.01F;

void apply_mask(std::span<float> logits, std::span<const std::uint32_t> allowed) {
  if (allowed.empty()) return;
  for (std::size_t i = 0; i < logits.size(); ++i)
    if ((allowed[i / 32] >> (i % 32) & 1U) == 0) logits[i] = kMasked;
}

// Lowest id among the largest: the same winner on every path. NaN never wins.
TokenId best(std::span<const float> logits) {
  std::size_t winner = 0;
  float top = kMasked;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (logits[i] > top) {
      top = logits[i];
      winner = i;
    }
  }
  return static_cast<TokenId>(winner);
}

// Descending by logit, then ascending by id.
struct Better {
  std::span<const float> logits;
  bool operator()(TokenId a, TokenId b) const {
    const float x = logits[static_cast<std::size_t>(a)];
    const float y = logits[static_cast<std::size_t>(b)];
    return x != y ? x > y : a < b;
  }
};

// Log-probabilities of the raw distribution, kept until the token is known.
struct RawDistribution {
  std::vector<float> logits;
  float log_sum = 0;

  explicit RawDistribution(std::span<const float> from) : logits(from.begin(), from.end()) {
    const float top = *std::max_element(logits.begin(), logits.end());
    double sum = 0;
    for (const float logit : logits) sum += std::exp(static_cast<double>(logit - top));
    log_sum = top + static_cast<float>(std::log(sum));
  }

  TokenLogprob of(TokenId token) const {
    const float logit = logits[static_cast<std::size_t>(token)];
    const auto greater =
        std::count_if(logits.begin(), logits.end(), [&](float other) { return other > logit; });
    return {token, logit - log_sum, static_cast<std::int32_t>(greater) + 1};
  }

  std::vector<TokenLogprob> report(TokenId chosen, std::size_t alternatives) const {
    std::vector<TokenLogprob> list = {of(chosen)};
    alternatives = std::min(alternatives, logits.size());
    std::vector<TokenId> ids(alternatives == 0 ? 0 : logits.size());
    std::iota(ids.begin(), ids.end(), 0);
    const auto middle = ids.begin() + static_cast<std::ptrdiff_t>(alternatives);
    std::partial_sort(ids.begin(), middle, ids.end(), Better{logits});
    for (auto id = ids.begin(); id != middle; ++id) {
      const auto rank = static_cast<std::int32_t>(id - ids.begin()) + 1;
      list.push_back({*id, logits[static_cast<std::size_t>(*id)] - log_sum, rank});
    }
    return list;
  }
};

void apply_penalties(std::span<float> logits, const SamplingRow& row) {
  const SamplingParams& p = *row.params;
  if (p.repetition_penalty != 1.0F) {
    const std::size_t known = row.prompt.size() + row.output.size();
    const std::size_t window =
        p.repetition_window < 0 ? known : std::min(known, static_cast<std::size_t>(p.repetition_window));
    std::unordered_map<TokenId, bool> seen;
    for (std::size_t i = known - window; i < known; ++i) {
      const TokenId id = i < row.prompt.size() ? row.prompt[i] : row.output[i - row.prompt.size()];
      if (!seen.emplace(id, true).second || static_cast<std::size_t>(id) >= logits.size()) continue;
      float& logit = logits[static_cast<std::size_t>(id)];
      logit = logit > 0 ? logit / p.repetition_penalty : logit * p.repetition_penalty;
    }
  }
  if (p.presence_penalty != 0 || p.frequency_penalty != 0) {
    std::unordered_map<TokenId, int> counts;
    for (const TokenId id : row.output) ++counts[id];
    for (const auto& [id, count] : counts) {
      logits[static_cast<std::size_t>(id)] -=
          p.presence_penalty + p.frequency_penalty * static_cast<float>(count);
    }
  }
}

void apply_biases(std::span<float> logits, const SamplingRow& row) {
  const SamplingParams& p = *row.params;
  if (row.output.size() < static_cast<std::size_t>(std::max(p.min_tokens, 0))) {
    for (const TokenId id : row.end_ids) logits[static_cast<std::size_t>(id)] = kMasked;
    for (const TokenId id : p.stop_token_ids) logits[static_cast<std::size_t>(id)] = kMasked;
  }
  for (const auto& [id, bias] : p.logit_bias)
    logits[static_cast<std::size_t>(id)] += std::clamp(bias, -100.0F, 100.0F);
}

// Candidates in descending order whose logits may matter: all, or the top_k with ties.
std::vector<TokenId> candidates(std::span<const float> logits, const SamplingParams& p, float lowest) {
  std::vector<TokenId> ids;
  for (std::size_t i = 0; i < logits.size(); ++i)
    if (logits[i] >= lowest && logits[i] > kMasked) ids.push_back(static_cast<TokenId>(i));
  const Better better{logits};
  if (p.top_k <= 0 || static_cast<std::size_t>(p.top_k) >= ids.size()) {
    if (p.top_p < 1) std::sort(ids.begin(), ids.end(), better);
    return ids;
  }
  const auto last = ids.begin() + p.top_k - 1;
  std::nth_element(ids.begin(), last, ids.end(), better);
  const float threshold = logits[static_cast<std::size_t>(*last)];
  std::erase_if(ids, [&](TokenId id) { return logits[static_cast<std::size_t>(id)] < threshold; });
  std::sort(ids.begin(), ids.end(), better);
  return ids;
}

TokenId draw(std::span<float> logits, const SamplingRow& row) {
  const SamplingParams& p = *row.params;
  const float temperature = std::max(p.temperature, kLowestTemperature);
  const float top = logits[static_cast<std::size_t>(best(logits))];
  if (!std::isfinite(top)) return best(logits);
  for (float& logit : logits) logit = (logit - top) / temperature;
  // prob < min_p * max prob, as a bound on the shifted logit.
  const float lowest = p.min_p > 0 ? std::log(p.min_p) : kMasked;
  std::vector<TokenId> ids = candidates(logits, p, lowest);
  std::vector<double> weights;
  double total = 0;
  for (const TokenId id : ids) {
    weights.push_back(std::exp(static_cast<double>(logits[static_cast<std::size_t>(id)])));
    total += weights.back();
  }
  if (p.top_p < 1) {
    double mass = 0;
    std::size_t kept = 0;
    while (kept < ids.size() && (kept == 0 || mass < static_cast<double>(p.top_p) * total))
      mass += weights[kept++];
    ids.resize(kept);
    total = mass;
  }
  double left = uniform(p.seed, row.position) * total;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    left -= weights[i];
    if (left < 0) return ids[i];
  }
  return ids.back();
}

}  // namespace

SampledToken sample_row(std::span<float> logits, const SamplingRow& row) {
  const SamplingParams& p = *row.params;
  apply_mask(logits, row.allowed);
  const bool wants_logprobs = p.logprobs >= 0;
  std::optional<RawDistribution> raw;
  if (wants_logprobs) raw.emplace(logits);
  apply_biases(logits, row);
  apply_penalties(logits, row);
  SampledToken sampled;
  sampled.token = p.is_greedy() ? best(logits) : draw(logits, row);
  if (raw) sampled.logprobs = raw->report(sampled.token, static_cast<std::size_t>(p.logprobs));
  return sampled;
}

}  // namespace sluice::sampling
