// Method and path to a handler. HEAD is answered by GET's handler without its body.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "http/message.h"

namespace sluice::http {

class Router {
 public:
  // A path that ends in "/" and "*" takes every path with at least one byte more than what stands before the
  // star (the longest wins, an exact path before all); the handler reads the rest from Request::path.
  void add(std::string method, std::string path, Handler handler);

  // Shapes 404 and 405 of paths that begin with `prefix`, the longest prefix first: each dialect its own.
  using Refusal = std::function<Response(const Request& request, int status)>;
  void refuse_with(std::string prefix, Refusal refusal);
  // Without a fitting prefix: OpenAI's shape.
  Response refuse(const Request& request, int status) const;

  struct Match {
    const Handler* handler = nullptr;  // null: no such route
    std::vector<std::string> allowed;  // methods of the path, when the path is known but the method is not
  };
  Match find(const std::string& method, const std::string& path) const;

 private:
  using Methods = std::map<std::string, Handler>;
  const Methods* find_path(const std::string& path) const;

  std::map<std::string, Methods> routes_;    // by path
  std::map<std::string, Methods> tails_;     // by what stands before the star
  std::map<std::string, Refusal> refusals_;  // by prefix
};

}  // namespace sluice::http
