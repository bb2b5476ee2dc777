// Programmer errors: always on, abort with place and text. Never for user input.
#pragma once

namespace sluice {
[[noreturn]] void check_failed(const char* file, int line, const char* condition, const char* message);
}

#define SLUICE_CHECK(condition, message) \
  ((condition) ? (void)0 : ::sluice::check_failed(__FILE__, __LINE__, #condition, message))

#ifdef NDEBUG
#define SLUICE_DCHECK(condition, message) ((void)0)
#else
#define SLUICE_DCHECK(condition, message) SLUICE_CHECK(condition, message)
#endif
