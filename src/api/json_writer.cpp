#include "api/json_writer.h"

#include <fmt/format.h>

#include <cmath>

namespace sluice::api {
namespace {

bool is_continuation(std::string_view text, std::size_t at, unsigned char low = 0x80,
                     unsigned char high = 0xBF) {
  if (at >= text.size()) return false;
  const auto byte = static_cast<unsigned char>(text[at]);
  return byte >= low && byte <= high;
}

// Bytes of the well-formed code point at `at` (Unicode table 3-7), or 0.
std::size_t code_point_bytes(std::string_view text, std::size_t at) {
  const auto lead = static_cast<unsigned char>(text[at]);
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return is_continuation(text, at + 1) ? 2 : 0;
  if (lead >= 0xE0 && lead <= 0xEF) {
    const unsigned char low = lead == 0xE0 ? 0xA0 : 0x80;   // no overlong forms
    const unsigned char high = lead == 0xED ? 0x9F : 0xBF;  // no surrogates
    return is_continuation(text, at + 1, low, high) && is_continuation(text, at + 2) ? 3 : 0;
  }
  if (lead < 0xF0 || lead > 0xF4) return 0;
  const unsigned char low = lead == 0xF0 ? 0x90 : 0x80;
  const unsigned char high = lead == 0xF4 ? 0x8F : 0xBF;
  const bool is_whole = is_continuation(text, at + 1, low, high) && is_continuation(text, at + 2) &&
                        is_continuation(text, at + 3);
  return is_whole ? 4 : 0;
}

void append_escaped(std::string& out, char c) {
  switch (c) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      fmt::format_to(std::back_inserter(out), "\\u{:04x}",
                     static_cast<unsigned>(static_cast<unsigned char>(c)));
  }
}

}  // namespace

std::string valid_utf8(std::string_view text) {
  std::string valid;
  valid.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t bytes = code_point_bytes(text, at);
    valid += bytes == 0 ? std::string_view("\xEF\xBF\xBD") : text.substr(at, bytes);
    at += bytes == 0 ? 1 : bytes;
  }
  return valid;
}

void JsonWriter::separate() {
  if (out_.empty()) return;
  // A finished value never ends with one of these: strings end with a quote.
  const char last = out_.back();
  if (last != '{' && last != '[' && last != ':') out_ += ',';
}

JsonWriter& JsonWriter::open(char bracket) {
  separate();
  out_ += bracket;
  return *this;
}

JsonWriter& JsonWriter::close(char bracket) {
  out_ += bracket;
  return *this;
}

JsonWriter& JsonWriter::key(std::string_view name) {
  string(name);
  out_ += ':';
  return *this;
}

JsonWriter& JsonWriter::string(std::string_view text) {
  separate();
  out_ += '"';
  for (std::size_t at = 0; at < text.size();) {
    const auto byte = static_cast<unsigned char>(text[at]);
    const std::size_t bytes = code_point_bytes(text, at);
    if (byte < 0x20 || byte == '"' || byte == '\\') {
      append_escaped(out_, text[at]);
    } else {
      out_ += bytes == 0 ? std::string_view("\xEF\xBF\xBD") : text.substr(at, bytes);
    }
    at += bytes == 0 ? 1 : bytes;
  }
  out_ += '"';
  return *this;
}

JsonWriter& JsonWriter::integer(std::int64_t value) {
  separate();
  fmt::format_to(std::back_inserter(out_), "{}", value);
  return *this;
}

JsonWriter& JsonWriter::boolean(bool value) { return raw(value ? "true" : "false"); }

JsonWriter& JsonWriter::null() { return raw("null"); }

JsonWriter& JsonWriter::number(float value) {
  if (std::isnan(value) || value < -9999.0F) value = -9999.0F;
  if (std::isinf(value)) value = 9999.0F;
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return raw(text);
}

JsonWriter& JsonWriter::raw(std::string_view json) {
  separate();
  out_ += json;
  return *this;
}

}  // namespace sluice::api
