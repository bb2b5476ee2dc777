#include "model/rope_scaling.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace sluice::model {
namespace {

constexpr double kTurn = 2 * std::numbers::pi;

// Llama 3: long wavelengths are stretched, short ones kept, those between blended.
double llama3(double frequency, const RopeScaling& s) {
  const double wavelength = kTurn / frequency;
  if (wavelength < s.original_context / s.high_freq_factor) return frequency;
  if (wavelength > s.original_context / s.low_freq_factor) return frequency / s.factor;
  const double blend =
      (s.original_context / wavelength - s.low_freq_factor) / (s.high_freq_factor - s.low_freq_factor);
  return (1 - blend) * frequency / s.factor + blend * frequency;
}

// YaRN: dimension whose wavelength makes `rotations` turns over the original context.
double correction(double rotations, double base, double dim, double context) {
  return dim * std::log(context / (rotations * kTurn)) / (2 * std::log(base));
}

}  // namespace

Result<backend::Rope> make_rope(double base, std::size_t head_dim, const RopeScaling& scaling) {
  const std::string& type = scaling.type;
  if (type != "default" && type != "linear" && type != "llama3" && type != "yarn") {
    return fail(ErrorCode::kUnimplemented,
                "rope scaling \"{}\" is not supported: default, linear, llama3, yarn are", type);
  }
  const bool needs_context = type == "llama3" || type == "yarn";
  if (!(base > 1) || !(scaling.factor >= 1) || (needs_context && !(scaling.original_context > 0))) {
    return fail(ErrorCode::kInvalidArgument, "rope: base {}, factor {}, original context {} make no sense",
                base, scaling.factor, scaling.original_context);
  }
  const auto dim = static_cast<double>(head_dim);
  backend::Rope rope;
  double low = 0;
  double high = 0;
  if (type == "yarn") {
    low = std::max(std::floor(correction(scaling.beta_fast, base, dim, scaling.original_context)), 0.0);
    high = std::min(std::ceil(correction(scaling.beta_slow, base, dim, scaling.original_context)), dim - 1);
    if (low == high) high += 0.001;
    rope.attention_factor = static_cast<float>(
        scaling.attention_factor > 0 ? scaling.attention_factor : 0.1 * std::log(scaling.factor) + 1.0);
  }
  for (std::size_t i = 0; i < head_dim / 2; ++i) {
    double frequency = 1.0 / std::pow(base, 2 * static_cast<double>(i) / dim);
    if (type == "linear") frequency /= scaling.factor;
    if (type == "llama3") frequency = llama3(frequency, scaling);
    if (type == "yarn") {
      const double ramp = std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
      frequency = frequency / scaling.factor * ramp + frequency * (1 - ramp);
    }
    rope.inverse_frequency.push_back(static_cast<float>(frequency));
  }
  return rope;
}

}  // namespace sluice::model
