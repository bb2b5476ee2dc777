#include "api/ollama/errors.h"

#include "api/json_writer.h"

namespace sluice::api::ollama {
namespace {

int status_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return 400;
    case ErrorCode::kNotFound:
      return 404;
    case ErrorCode::kResourceExhausted:
    case ErrorCode::kUnavailable:
      return 503;
    case ErrorCode::kDeadlineExceeded:
      return 504;
    case ErrorCode::kCancelled:
      return 499;
    case ErrorCode::kUnimplemented:
      return 501;
    case ErrorCode::kInternal:
      break;
  }
  return 500;
}

}  // namespace

HttpError error_reply(const Error& error) {
  JsonWriter json;
  json.begin_object().field("error", error.message).end_object();
  return {status_of(error.code), json.take()};
}

std::string error_line(const Error& error) { return error_reply(error).body + "\n"; }

}  // namespace sluice::api::ollama
