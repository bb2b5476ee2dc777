// Value or expected failure. Start-up code may throw; whatever a request, a file or a peer can cause is a
// Result.
#pragma once

#include <fmt/format.h>

#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace sluice {

// Protocol-neutral reason. Each dialect maps it to a status in one table (api/openai/errors.cpp,
// api/ollama/errors.cpp).
enum class ErrorCode {
  kInvalidArgument,    // the caller's input is wrong; retrying cannot help
  kNotFound,           // named thing does not exist
  kResourceExhausted,  // a bounded queue, pool or memory is full; retry later
  kUnavailable,        // not ready, shutting down, peer down
  kDeadlineExceeded,
  kCancelled,
  kUnimplemented,
  kInternal,
};

// `message` is a sentence for an operator: what, where, limit, remedy. `param` names the offending field, if
// any.
struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;
  std::string param;
};

template <typename T>
using Result = tl::expected<T, Error>;
using Status = Result<void>;

template <typename... Args>
[[nodiscard]] tl::unexpected<Error> fail(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
  return tl::unexpected(Error{code, fmt::format(format, std::forward<Args>(args)...), {}});
}

}  // namespace sluice

#define SLUICE_CONCAT_(a, b) a##b
#define SLUICE_CONCAT(a, b) SLUICE_CONCAT_(a, b)

// NOLINTBEGIN(bugprone-macro-parentheses): a declaration cannot stand in parentheses
// SLUICE_TRY(auto x, f()): binds the value of a Result, or returns its error from the enclosing function.
#define SLUICE_TRY(declaration, expression)                              \
  auto SLUICE_CONCAT(sluice_try_, __LINE__) = (expression);              \
  if (!SLUICE_CONCAT(sluice_try_, __LINE__))                             \
    return tl::unexpected(SLUICE_CONCAT(sluice_try_, __LINE__).error()); \
  declaration = std::move(*SLUICE_CONCAT(sluice_try_, __LINE__))
// NOLINTEND(bugprone-macro-parentheses)

// SLUICE_TRY_STATUS(f()): the same for Status, which carries no value.
#define SLUICE_TRY_STATUS(expression)                                                                  \
  if (auto SLUICE_CONCAT(sluice_try_, __LINE__) = (expression); !SLUICE_CONCAT(sluice_try_, __LINE__)) \
  return tl::unexpected(SLUICE_CONCAT(sluice_try_, __LINE__).error())
