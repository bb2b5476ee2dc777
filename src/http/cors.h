// Which web pages may call this server: pages of this machine, of desktop applications, and its own
// (ollama.md 1.2).
#pragma once

#include "http/message.h"

namespace sluice::http {

// Adds the headers that an allowed origin needs; none for others.
void add_cors_headers(const Request& request, Headers& headers);
// Whether to answer at all. A request of a web page must come from an allowed or the same origin; when the
// server `is_loopback`, also by a local name, or a page could point its own name at this machine (F045).
bool admits(const Request& request, bool is_loopback);
// Answer to OPTIONS of an admitted request: 204.
Response preflight(const Request& request);

}  // namespace sluice::http
