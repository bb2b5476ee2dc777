// Which web pages may call this server: pages of this machine and of desktop applications (ollama.md 1.2).
#pragma once

#include "http/message.h"

namespace sluice::http {

// Adds the headers that an allowed origin needs; none for others.
void add_cors_headers(const Request& request, Headers& headers);
// Answer to OPTIONS: 204 for an allowed origin or none, 403 else.
Response preflight(const Request& request);

}  // namespace sluice::http
