#include "http/router.h"

#include <algorithm>
#include <cctype>

namespace sluice::http {

std::string_view find_header(const Headers& headers, std::string_view name) {
  const auto same = [](char a, char b) {
    return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
  };
  for (const auto& [key, value] : headers)
    if (std::ranges::equal(key, name, same)) return value;
  return {};
}

void Router::add(std::string method, std::string path, Handler handler) {
  routes_[std::move(path)][std::move(method)] = std::move(handler);
}

Router::Match Router::find(const std::string& method, const std::string& path) const {
  Match match;
  const auto route = routes_.find(path);
  if (route == routes_.end()) return match;
  const auto handler = route->second.find(method == "HEAD" ? "GET" : method);
  if (handler != route->second.end()) {
    match.handler = &handler->second;
    return match;
  }
  for (const auto& [name, ignored] : route->second) match.allowed.push_back(name);
  return match;
}

}  // namespace sluice::http
