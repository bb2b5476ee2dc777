// A request body of any bytes, in every call of both dialects: a neutral request, or an error with a body of
// that dialect.
#include "api/ollama/calls.h"
#include "api/ollama/errors.h"
#include "api/openai/chat.h"
#include "api/openai/completions.h"
#include "api/openai/errors.h"
#include "base/check.h"
#include "base/json.h"

namespace {

template <typename Call, typename Reply>
void check(const sluice::Result<Call>& call, Reply reply) {
  if (call) return;
  const auto shaped = reply(call.error());
  SLUICE_CHECK(shaped.status >= 400 && shaped.status < 600, "an error without its status");
  SLUICE_CHECK(sluice::json::parse(shaped.body).has_value(), "an error body that is no JSON");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sluice;
  const auto body = json::parse({reinterpret_cast<const char*>(data), size});
  if (!body) return 0;
  check(api::openai::parse_chat(*body), api::openai::error_reply);
  check(api::openai::parse_completion(*body), api::openai::error_reply);
  check(api::ollama::parse_generate(*body), api::ollama::error_reply);
  check(api::ollama::parse_chat(*body), api::ollama::error_reply);
  return 0;
}
