// Where a model's tokenizer comes from: GGUF metadata, or tokenizer.json of a folder.
#pragma once

#include "text/tokenizer/tokenizer.h"
#include "weights/checkpoint.h"

namespace sluice::server {

// Errors: kNotFound (no tokenizer.json), and what is wrong with the metadata.
Result<text::TokenizerData> read_tokenizer(const weights::Checkpoint& checkpoint);

}  // namespace sluice::server
