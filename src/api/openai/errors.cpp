#include "api/openai/errors.h"

#include <cctype>
#include <string_view>

#include "api/json_writer.h"

namespace sluice::api::openai {
namespace {

struct Shape {
  int status;
  const char* type;
};

Shape shape_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return {400, "BadRequestError"};
    case ErrorCode::kNotFound:
      return {404, "NotFoundError"};
    case ErrorCode::kResourceExhausted:
    case ErrorCode::kUnavailable:
      return {503, "ServiceUnavailableError"};
    case ErrorCode::kDeadlineExceeded:
      return {504, "GatewayTimeoutError"};
    case ErrorCode::kCancelled:
      return {499, "RequestCancelledError"};
    case ErrorCode::kUnimplemented:
      return {501, "NotImplementedError"};
    case ErrorCode::kInternal:
      break;
  }
  return {500, "InternalServerError"};
}

// An address is of no use to a client, and tells an attacker where things are.
std::string scrub_addresses(std::string_view message) {
  constexpr std::string_view kMark = " at 0x";
  std::string clean;
  while (true) {
    const std::size_t at = message.find(kMark);
    clean += message.substr(0, at);
    if (at == std::string_view::npos) return clean;
    message.remove_prefix(at + kMark.size());
    while (!message.empty() && std::isxdigit(static_cast<unsigned char>(message.front())) != 0) {
      message.remove_prefix(1);
    }
  }
}

}  // namespace

HttpError error_reply(const Error& error) {
  const Shape shape = shape_of(error.code);
  JsonWriter json;
  json.begin_object().key("error").begin_object();
  json.field("message", scrub_addresses(error.message)).field("type", shape.type);
  error.param.empty() ? json.null_field("param") : json.field("param", error.param);
  json.field("code", shape.status).end_object().end_object();
  return {shape.status, json.take()};
}

std::string error_frame(const Error& error) {
  return "data: " + error_reply(error).body + "\n\ndata: [DONE]\n\n";
}

}  // namespace sluice::api::openai
