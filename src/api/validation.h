// Bounded readers of fields of an untrusted JSON object. A field that is absent or null leaves the default;
// one of the wrong type or out of range is an error that names it. Nothing here throws.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "base/strong_id.h"

namespace sluice::api {

inline constexpr std::size_t kStopStringsMax = 64;
inline constexpr std::size_t kStopBytesMax = 4096;
inline constexpr std::size_t kNamedIdsMax = 4096;  // entries of logit_bias and stop_token_ids

// kInvalidArgument about one field, `param` set.
tl::unexpected<Error> bad_field(std::string_view field, std::string message);
// kUnimplemented about one field: the request asks for what this server does not do, and must not get less.
tl::unexpected<Error> unsupported_field(std::string_view field, std::string message);

// "a string", "an object": what a client sent, for messages.
std::string_view describe(const json::value& value);

struct IntegerRange {
  std::int64_t low = INT64_MIN;
  std::int64_t high = INT64_MAX;
};

class Fields {
 public:
  enum class Match { kExact, kAnyCase };  // kAnyCase: Go's decoder, which Ollama's clients may rely on

  // `path` stands before names in messages: "stream_options.". The object outlives this.
  explicit Fields(const json::object& object, std::string path = {}, Match match = Match::kExact)
      : object_(object), path_(std::move(path)), match_(match) {}
  // Error when `value` is not an object.
  static Result<Fields> of(const json::value& value, std::string path = {}, Match match = Match::kExact);

  const json::value* find(std::string_view name) const;  // null: absent or JSON null
  std::string full_name(std::string_view name) const { return path_ + std::string(name); }

  Status read(std::string_view name, bool& out) const;
  Status read(std::string_view name, std::string& out) const;
  Status read(std::string_view name, std::int32_t& out, IntegerRange range = {INT32_MIN, INT32_MAX}) const;
  // Finite numbers. `given` becomes true when the field is there.
  Status read(std::string_view name, float& out, bool& given) const;
  Status read(std::string_view name, float& out) const;
  Status read(std::string_view name, std::optional<std::int64_t>& out, IntegerRange range = {}) const;
  // Null when absent.
  Result<const json::array*> array(std::string_view name) const;
  Result<const json::object*> object(std::string_view name) const;
  // Error when there are more than `count_max`.
  Result<std::vector<TokenId>> token_ids(std::string_view name, std::size_t count_max) const;

 private:
  tl::unexpected<Error> wrong_type(std::string_view name, std::string_view wanted,
                                   const json::value& value) const;

  const json::object& object_;
  std::string path_;
  Match match_;
};

// A whole number that fits: integers, and floats without a fraction.
std::optional<std::int64_t> as_integer(const json::value& value);
// A finite number.
std::optional<double> as_number(const json::value& value);
std::string_view view(const json::string& text);

// A string or a list of strings, bounded; an empty string is an error.
Result<std::vector<std::string>> read_stop(const Fields& fields);
// [int, ...] of token ids >= 0.
Result<std::vector<TokenId>> read_token_ids(std::string_view field, const json::array& list);

}  // namespace sluice::api
