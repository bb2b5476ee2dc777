#include "api/validation.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/string.hpp>
#include <cctype>
#include <cmath>

namespace sluice::api {
namespace {

bool equals_any_case(std::string_view a, std::string_view b) {
  return std::ranges::equal(
      a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

Status check_stop(const Fields& fields, std::string_view text) {
  const std::string name = fields.full_name("stop");
  if (text.empty()) return bad_field(name, name + ": a stop string must not be empty");
  if (text.size() <= kStopBytesMax) return {};
  return bad_field(name, fmt::format("{}: a stop string has {} bytes, at most {} are allowed", name,
                                     text.size(), kStopBytesMax));
}

}  // namespace

tl::unexpected<Error> bad_field(std::string_view field, std::string message) {
  return tl::unexpected(Error{ErrorCode::kInvalidArgument, std::move(message), std::string(field)});
}

tl::unexpected<Error> unsupported_field(std::string_view field, std::string message) {
  return tl::unexpected(Error{ErrorCode::kUnimplemented, std::move(message), std::string(field)});
}

std::string_view view(const json::string& text) { return {text.data(), text.size()}; }

std::string_view describe(const json::value& value) {
  switch (value.kind()) {
    case boost::json::kind::null:
      return "null";
    case boost::json::kind::bool_:
      return "a boolean";
    case boost::json::kind::string:
      return "a string";
    case boost::json::kind::array:
      return "a list";
    case boost::json::kind::object:
      return "an object";
    default:
      return "a number";
  }
}

std::optional<std::int64_t> as_integer(const json::value& value) {
  if (value.is_int64()) return value.get_int64();
  if (!value.is_double()) return std::nullopt;  // also: unsigned beyond int64
  const double number = value.get_double();
  constexpr double kLimit = 9007199254740992.0;  // 2^53: beyond it a double is not one integer
  if (!(std::abs(number) <= kLimit) || number != std::trunc(number)) return std::nullopt;
  return static_cast<std::int64_t>(number);
}

std::optional<double> as_number(const json::value& value) {
  if (value.is_int64()) return static_cast<double>(value.get_int64());
  if (value.is_uint64()) return static_cast<double>(value.get_uint64());
  if (value.is_double() && std::isfinite(value.get_double())) return value.get_double();
  return std::nullopt;
}

Result<Fields> Fields::of(const json::value& value, std::string path, Match match) {
  if (const json::object* object = value.if_object()) return Fields(*object, std::move(path), match);
  if (path.ends_with('.')) path.pop_back();
  const std::string name = path.empty() ? "the body" : path;
  return bad_field(path, fmt::format("{} must be a JSON object, not {}", name, describe(value)));
}

const json::value* Fields::find(std::string_view name) const {
  const json::value* found = object_.if_contains(name);
  if (found == nullptr && match_ == Match::kAnyCase) {
    const auto entry =
        std::ranges::find_if(object_, [&](const auto& pair) { return equals_any_case(pair.key(), name); });
    if (entry != object_.end()) found = &entry->value();
  }
  return found == nullptr || found->is_null() ? nullptr : found;
}

tl::unexpected<Error> Fields::wrong_type(std::string_view name, std::string_view wanted,
                                         const json::value& value) const {
  const std::string full = full_name(name);
  return bad_field(full, fmt::format("{} must be {}, not {}", full, wanted, describe(value)));
}

Status Fields::read(std::string_view name, bool& out) const {
  const json::value* value = find(name);
  if (value == nullptr) return {};
  if (!value->is_bool()) return wrong_type(name, "a boolean", *value);
  out = value->get_bool();
  return {};
}

Status Fields::read(std::string_view name, std::string& out) const {
  const json::value* value = find(name);
  if (value == nullptr) return {};
  if (!value->is_string()) return wrong_type(name, "a string", *value);
  out = view(value->get_string());
  return {};
}

Status Fields::read(std::string_view name, std::optional<std::int64_t>& out, IntegerRange range) const {
  const json::value* value = find(name);
  if (value == nullptr) return {};
  const std::optional<std::int64_t> integer = as_integer(*value);
  if (!integer) return wrong_type(name, "an integer of 64 bits", *value);
  if (*integer < range.low || *integer > range.high) {
    const std::string full = full_name(name);
    return bad_field(full,
                     fmt::format("{} must be in [{}, {}], got {}", full, range.low, range.high, *integer));
  }
  out = integer;
  return {};
}

Status Fields::read(std::string_view name, std::int32_t& out, IntegerRange range) const {
  std::optional<std::int64_t> wide;
  SLUICE_TRY_STATUS(read(name, wide, range));
  if (wide) out = static_cast<std::int32_t>(*wide);
  return {};
}

Status Fields::read(std::string_view name, float& out, bool& given) const {
  const json::value* value = find(name);
  if (value == nullptr) return {};
  const std::optional<double> number = as_number(*value);
  if (!number) return wrong_type(name, "a finite number", *value);
  constexpr double kLimit = 1e30;
  out = static_cast<float>(std::clamp(*number, -kLimit, kLimit));  // ranges are checked by the sampler
  given = true;
  return {};
}

Status Fields::read(std::string_view name, float& out) const {
  bool given = false;
  return read(name, out, given);
}

Result<const json::array*> Fields::array(std::string_view name) const {
  const json::value* value = find(name);
  if (value == nullptr) return nullptr;
  if (!value->is_array()) return wrong_type(name, "a list", *value);
  return &value->get_array();
}

Result<const json::object*> Fields::object(std::string_view name) const {
  const json::value* value = find(name);
  if (value == nullptr) return nullptr;
  if (!value->is_object()) return wrong_type(name, "an object", *value);
  return &value->get_object();
}

Result<std::vector<TokenId>> Fields::token_ids(std::string_view name, std::size_t count_max) const {
  SLUICE_TRY(const json::array* list, array(name));
  if (list == nullptr) return std::vector<TokenId>{};
  const std::string full = full_name(name);
  if (list->size() > count_max) {
    return bad_field(full,
                     fmt::format("{} has {} entries, at most {} are allowed", full, list->size(), count_max));
  }
  return read_token_ids(full, *list);
}

Result<std::vector<TokenId>> read_token_ids(std::string_view field, const json::array& list) {
  std::vector<TokenId> ids;
  ids.reserve(list.size());
  for (const json::value& entry : list) {
    const std::optional<std::int64_t> id = as_integer(entry);
    if (!id || *id < 0 || *id > INT32_MAX) {
      return bad_field(field, fmt::format("{}[{}] must be a token id >= 0", field, ids.size()));
    }
    ids.push_back(static_cast<TokenId>(*id));
  }
  return ids;
}

Result<std::vector<std::string>> read_stop(const Fields& fields) {
  const std::string name = fields.full_name("stop");
  const json::value* value = fields.find("stop");
  std::vector<std::string> stops;
  if (value == nullptr) return stops;
  if (value->is_string()) {
    stops.emplace_back(view(value->get_string()));
    SLUICE_TRY_STATUS(check_stop(fields, stops.back()));
    return stops;
  }
  if (!value->is_array()) return bad_field(name, name + " must be a string or a list of strings");
  if (value->get_array().size() > kStopStringsMax) {
    return bad_field(name, fmt::format("{} has {} strings, at most {} are allowed", name,
                                       value->get_array().size(), kStopStringsMax));
  }
  for (const json::value& entry : value->get_array()) {
    if (!entry.is_string()) return bad_field(name, name + " must be a string or a list of strings");
    stops.emplace_back(view(entry.get_string()));
    SLUICE_TRY_STATUS(check_stop(fields, stops.back()));
  }
  return stops;
}

}  // namespace sluice::api
