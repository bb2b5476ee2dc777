// keep_alive: a number of seconds, or a duration as Go writes it.
#include <boost/json/string.hpp>
#include <charconv>
#include <cmath>

#include "api/ollama/calls.h"
#include "api/validation.h"

namespace sluice::api::ollama {
namespace {

constexpr double kForeverSeconds = 9.2e9;  // what Go's int64 nanoseconds hold

struct Unit {
  std::string_view name;
  double seconds;
};
constexpr Unit kUnits[] = {{"ns", 1e-9}, {"us", 1e-6}, {"\xC2\xB5s", 1e-6}, {"\xCE\xBCs", 1e-6},
                           {"ms", 1e-3}, {"s", 1},     {"m", 60},           {"h", 3600}};

KeepAlive from_seconds(double seconds) {
  if (seconds < 0 || seconds >= kForeverSeconds) return {std::chrono::seconds(0), true};
  return {std::chrono::seconds(static_cast<std::int64_t>(std::ceil(seconds))), false};
}

tl::unexpected<Error> invalid(std::string_view text) {
  return bad_field("keep_alive", fmt::format("time: invalid duration \"{}\"", text));
}

// One "1.5h" of a duration: takes it off the front of `rest`.
Result<double> take_part(std::string_view text, std::string_view& rest) {
  const std::size_t digits = rest.find_first_not_of("0123456789.");
  const std::string_view number = rest.substr(0, digits);
  double value = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (number.empty() || error != std::errc() || end != number.data() + number.size()) return invalid(text);
  rest.remove_prefix(number.size());
  const std::string_view unit = rest.substr(0, rest.find_first_of("0123456789."));
  if (unit.empty()) {
    return bad_field("keep_alive", fmt::format("time: missing unit in duration \"{}\"", text));
  }
  for (const Unit& known : kUnits) {
    if (unit != known.name) continue;
    rest.remove_prefix(unit.size());
    return value * known.seconds;
  }
  return bad_field("keep_alive", fmt::format("time: unknown unit \"{}\" in duration \"{}\"", unit, text));
}

Result<double> parse_duration(std::string_view text) {
  std::string_view rest = text;
  const bool is_negative = rest.starts_with('-');
  if (is_negative || rest.starts_with('+')) rest.remove_prefix(1);
  if (rest == "0") return 0.0;
  if (rest.empty() || text.size() > 64) return invalid(text.substr(0, 64));
  double seconds = 0;
  while (!rest.empty()) {
    SLUICE_TRY(const double part, take_part(text, rest));
    seconds += part;
  }
  return is_negative ? -seconds : seconds;
}

}  // namespace

Result<KeepAlive> parse_keep_alive(const json::value& value) {
  if (const std::optional<double> number = as_number(value)) return from_seconds(*number);
  if (value.is_string()) {
    SLUICE_TRY(const double seconds, parse_duration(view(value.get_string())));
    return from_seconds(seconds);
  }
  const char* type = value.is_bool()    ? "bool"
                     : value.is_array() ? "[]interface {}"
                                        : "map[string]interface {}";
  return bad_field("keep_alive", fmt::format("Unsupported type: '{}'", type));
}

}  // namespace sluice::api::ollama
