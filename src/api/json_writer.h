// Writes compact JSON text without a tree: replies are made of many small fields, once per token. The output
// is valid UTF-8 JSON whatever goes in: broken bytes become U+FFFD, and a number JSON lacks a finite one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::api {

class JsonWriter {
 public:
  JsonWriter& begin_object() { return open('{'); }
  JsonWriter& end_object() { return close('}'); }
  JsonWriter& begin_array() { return open('['); }
  JsonWriter& end_array() { return close(']'); }
  JsonWriter& key(std::string_view name);

  JsonWriter& string(std::string_view text);
  JsonWriter& integer(std::int64_t value);
  JsonWriter& boolean(bool value);
  JsonWriter& null();
  JsonWriter& number(float value);         // NaN, -inf and below: -9999.0, as vLLM has it; +inf: 9999.0
  JsonWriter& raw(std::string_view json);  // JSON text already

  JsonWriter& field(std::string_view name, std::string_view text) { return key(name).string(text); }
  JsonWriter& field(std::string_view name, const char* text) { return key(name).string(text); }
  JsonWriter& field(std::string_view name, std::int64_t value) { return key(name).integer(value); }
  JsonWriter& field(std::string_view name, std::int32_t value) { return key(name).integer(value); }
  JsonWriter& field(std::string_view name, bool value) { return key(name).boolean(value); }
  JsonWriter& null_field(std::string_view name) { return key(name).null(); }

  std::string take() { return std::move(out_); }

 private:
  JsonWriter& open(char bracket);
  JsonWriter& close(char bracket);
  void separate();  // the comma before a key or value that is not the first

  std::string out_;
};

// `text` with every byte that is not part of a well-formed code point replaced by U+FFFD (field report F044).
std::string valid_utf8(std::string_view text);

}  // namespace sluice::api
