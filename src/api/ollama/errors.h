// Errors in Ollama's shape: {"error": "text"}.
#pragma once

#include <string>

#include "base/result.h"

namespace sluice::api::ollama {

struct HttpError {
  int status = 500;
  std::string body;  // JSON, no newline
};

HttpError error_reply(const Error& error);

// The last line of a stream that has begun.
std::string error_line(const Error& error);

}  // namespace sluice::api::ollama
