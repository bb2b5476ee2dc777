// Errors as vllm serve shapes them (openai.md 1.3).
#pragma once

#include <string>

#include "base/result.h"

namespace sluice::api::openai {

struct HttpError {
  int status = 500;
  std::string body;
};

// Before the first byte. Text that looks like an address is taken out of the message.
HttpError error_reply(const Error& error);
// The event that ends a stream which had begun, [DONE] included.
std::string error_frame(const Error& error);

}  // namespace sluice::api::openai
