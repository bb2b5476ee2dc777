// Times as Ollama writes them.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace sluice::api::ollama {

// RFC 3339 in UTC with up to nine digits of a second, zeros at the end cut, and Z.
std::string utc_nanoseconds(std::chrono::system_clock::time_point time);

// RFC 3339 with a numeric offset, +00:00: what Python before 3.11 can read.
std::string utc_seconds(std::int64_t unix_seconds);

}  // namespace sluice::api::ollama
