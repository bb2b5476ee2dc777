#include "http/cors.h"

namespace sluice::http {
namespace {

bool is_allowed(std::string_view origin) {
  for (const std::string_view scheme :
       {"app://", "file://", "tauri://", "vscode-webview://", "vscode-file://"})
    if (origin.starts_with(scheme)) return true;
  const std::size_t begin = origin.find("://");
  if (begin == std::string_view::npos ||
      (origin.substr(0, begin) != "http" && origin.substr(0, begin) != "https")) {
    return false;
  }
  std::string_view host = origin.substr(begin + 3);
  if (host.starts_with("[::1]")) return host.size() == 5 || host[5] == ':';
  host = host.substr(0, host.find(':'));
  return host == "localhost" || host == "127.0.0.1" || host == "0.0.0.0";
}

}  // namespace

void add_cors_headers(const Request& request, Headers& headers) {
  const std::string_view origin = find_header(request.headers, "Origin");
  if (origin.empty() || !is_allowed(origin)) return;
  headers.emplace_back("Access-Control-Allow-Origin", origin);
  headers.emplace_back("Vary", "Origin");
}

Response preflight(const Request& request) {
  Response response;
  response.content_type.clear();
  const std::string_view origin = find_header(request.headers, "Origin");
  response.status = origin.empty() || is_allowed(origin) ? 204 : 403;
  if (response.status == 403) return response;
  response.headers.emplace_back("Access-Control-Allow-Methods",
                                "GET, POST, PUT, PATCH, DELETE, HEAD, OPTIONS");
  const std::string_view wanted = find_header(request.headers, "Access-Control-Request-Headers");
  response.headers.emplace_back("Access-Control-Allow-Headers",
                                wanted.empty() ? "Authorization, Content-Type, User-Agent, Accept" : wanted);
  response.headers.emplace_back("Access-Control-Max-Age", "43200");
  return response;
}

}  // namespace sluice::http
