#include "http/cors.h"

#include <algorithm>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/host_name.hpp>
#include <cctype>

namespace sluice::http {
namespace {

// In lower case, without the brackets of an IPv6 address.
std::string without_port(std::string_view host) {
  if (host.starts_with('[')) {
    const std::size_t end = host.find(']');
    const std::string_view rest = end == std::string_view::npos ? "?" : host.substr(end + 1);
    host = rest.empty() || rest.starts_with(':') ? host.substr(1, end - 1) : "?";  // "?" is nobody's name
  } else {
    host = host.substr(0, host.find(':'));
  }
  std::string lower(host);
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char byte) { return static_cast<char>(std::tolower(byte)); });
  return lower;
}

bool is_allowed(std::string_view origin) {
  for (const std::string_view scheme :
       {"app://", "file://", "tauri://", "vscode-webview://", "vscode-file://"})
    if (origin.starts_with(scheme)) return true;
  const std::size_t begin = origin.find("://");
  if (begin == std::string_view::npos ||
      (origin.substr(0, begin) != "http" && origin.substr(0, begin) != "https")) {
    return false;
  }
  const std::string host = without_port(origin.substr(begin + 3));
  return host == "localhost" || host == "127.0.0.1" || host == "0.0.0.0" || host == "::1";
}

bool is_same_origin(std::string_view origin, std::string_view host) {
  const std::size_t begin = origin.find("://");
  return begin != std::string_view::npos && !host.empty() && origin.substr(begin + 3) == host;
}

bool is_private(const boost::asio::ip::address& address) {
  if (address.is_loopback() || address.is_unspecified()) return true;
  if (address.is_v6()) return (address.to_v6().to_bytes()[0] & 0xFE) == 0xFC;
  const auto bytes = address.to_v4().to_bytes();
  return bytes[0] == 10 || (bytes[0] == 172 && (bytes[1] & 0xF0) == 16) ||
         (bytes[0] == 192 && bytes[1] == 168);
}

bool is_local_name(std::string_view host_header) {
  const std::string host = without_port(host_header);
  boost::system::error_code error;
  const auto address = boost::asio::ip::make_address(host, error);
  if (!error) return is_private(address);
  if (host.empty() || host == "localhost" || host.ends_with(".localhost") || host.ends_with(".local") ||
      host.ends_with(".internal")) {
    return true;
  }
  const std::string machine = boost::asio::ip::host_name(error);
  return !error && host == without_port(machine);
}

}  // namespace

void add_cors_headers(const Request& request, Headers& headers) {
  const std::string_view origin = find_header(request.headers, "Origin");
  if (origin.empty() || !is_allowed(origin)) return;
  headers.emplace_back("Access-Control-Allow-Origin", origin);
  headers.emplace_back("Vary", "Origin");
}

bool admits(const Request& request, bool is_loopback) {
  const std::string_view origin = find_header(request.headers, "Origin");
  if (origin.empty()) return true;
  const std::string_view host = find_header(request.headers, "Host");
  if (is_loopback && !is_local_name(host)) return false;
  return is_allowed(origin) || is_same_origin(origin, host);
}

Response preflight(const Request& request) {
  Response response;
  response.content_type.clear();
  response.status = 204;
  response.headers.emplace_back("Access-Control-Allow-Methods",
                                "GET, POST, PUT, PATCH, DELETE, HEAD, OPTIONS");
  const std::string_view wanted = find_header(request.headers, "Access-Control-Request-Headers");
  response.headers.emplace_back("Access-Control-Allow-Headers",
                                wanted.empty() ? "Authorization, Content-Type, User-Agent, Accept" : wanted);
  response.headers.emplace_back("Access-Control-Max-Age", "43200");
  return response;
}

}  // namespace sluice::http
