// POST /api/generate and /api/chat: the body to a neutral request. Field names match whatever their case, as
// in Go. Pure functions.
#pragma once

#include <chrono>
#include <optional>

#include "api/generation.h"
#include "base/json.h"

namespace sluice::api::ollama {

struct KeepAlive {
  std::chrono::seconds value{};  // parts of a second count as one; 0: unload at once
  bool forever = false;
};

struct GenerateCall {
  TextRequest request;  // without a prompt when load_only or unload
  bool stream = true;
  bool is_chat = false;
  bool raw = false;
  std::optional<KeepAlive> keep_alive;  // unset: as it was
  bool load_only = false;               // nothing to answer: the model is to be loaded
  bool unload = false;                  // the same with keep_alive 0; load_only is false then
  bool logprobs = false;
};

// Errors: kInvalidArgument, kUnimplemented, and kNotFound for /api/generate without a model, with Ollama's
// texts. A model's own SYSTEM and whether it can think are for the caller to apply.
Result<GenerateCall> parse_generate(const json::value& body);
Result<GenerateCall> parse_chat(const json::value& body);

// A number of seconds or a Go duration ("5m", "1h30m", "-1"). Errors: kInvalidArgument with Go's texts.
Result<KeepAlive> parse_keep_alive(const json::value& value);

}  // namespace sluice::api::ollama
