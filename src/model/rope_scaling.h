// Rotary frequencies with the context extensions that published models use.
#pragma once

#include <cstddef>
#include <string>

#include "backend/backend.h"
#include "base/result.h"

namespace sluice::model {

struct RopeScaling {
  std::string type = "default";  // default, linear, llama3, yarn
  double factor = 1;
  double original_context = 0;
  double low_freq_factor = 1, high_freq_factor = 4;  // llama3
  double beta_fast = 32, beta_slow = 1;              // yarn
  double attention_factor = 0;                       // yarn; 0: derived from factor
};

// Source: transformers' modeling_rope_utils. Errors: kUnimplemented for another type.
Result<backend::Rope> make_rope(double base, std::size_t head_dim, const RopeScaling& scaling);

}  // namespace sluice::model
