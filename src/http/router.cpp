#include "http/router.h"

#include <algorithm>
#include <cctype>

#include "base/result.h"

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
  const bool has_tail = path.ends_with("/*");
  if (has_tail) path.pop_back();
  (has_tail ? tails_ : routes_)[std::move(path)][std::move(method)] = std::move(handler);
}

const Router::Methods* Router::find_path(const std::string& path) const {
  const auto route = routes_.find(path);
  if (route != routes_.end()) return &route->second;
  const Methods* best = nullptr;
  for (const auto& [prefix, methods] : tails_)  // in order: a longer prefix of the same path comes later
    if (path.size() > prefix.size() && path.starts_with(prefix)) best = &methods;
  return best;
}

Router::Match Router::find(const std::string& method, const std::string& path) const {
  Match match;
  const Methods* methods = find_path(path);
  if (methods == nullptr) return match;
  const auto handler = methods->find(method == "HEAD" ? "GET" : method);
  if (handler != methods->end()) {
    match.handler = &handler->second;
    return match;
  }
  for (const auto& [name, ignored] : *methods) match.allowed.push_back(name);
  return match;
}

void Router::refuse_with(std::string prefix, Refusal refusal) {
  refusals_[std::move(prefix)] = std::move(refusal);
}

Response Router::refuse(const Request& request, int status) const {
  const Refusal* best = nullptr;
  for (const auto& [prefix, refusal] : refusals_)
    if (request.path.starts_with(prefix)) best = &refusal;
  if (best != nullptr) return (*best)(request, status);
  Response response;
  response.status = status;
  response.body =
      fmt::format("{{\"error\":{{\"message\":\"{}\",\"type\":\"{}\",\"param\":null,\"code\":{}}}}}",
                  status == 405 ? "this path does not take that method" : "there is no such path",
                  status == 405 ? "Method Not Allowed" : "Not Found", status);
  return response;
}

}  // namespace sluice::http
