#include "api/ollama/timestamps.h"

#include <fmt/format.h>

namespace sluice::api::ollama {
namespace {

// 2026-12-01T09:08:57
std::string date_and_time(std::chrono::sys_seconds time) {
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(time - day);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     clock.hours().count(), clock.minutes().count(), clock.seconds().count());
}

}  // namespace

std::string utc_nanoseconds(std::chrono::system_clock::time_point time) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
  const auto rest = std::chrono::duration_cast<std::chrono::nanoseconds>(time - seconds);
  std::string text = date_and_time(seconds);
  if (rest.count() == 0) return text + "Z";
  std::string digits = fmt::format("{:09}", rest.count());
  digits.erase(digits.find_last_not_of('0') + 1);
  return text + "." + digits + "Z";
}

std::string utc_seconds(std::int64_t unix_seconds) {
  return date_and_time(std::chrono::sys_seconds(std::chrono::seconds(unix_seconds))) + "+00:00";
}

}  // namespace sluice::api::ollama
