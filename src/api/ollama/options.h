// The `options` object of Ollama's requests.
#pragma once

#include "api/generation.h"
#include "api/validation.h"

namespace sluice::api::ollama {

// Sets sampling, limits, stops and `given` of `request`; unknown and retired options are passed over. Errors
// carry Ollama's texts: option "seed" must be of type integer.
Status read_options(const Fields& options, TextRequest& request);

}  // namespace sluice::api::ollama
