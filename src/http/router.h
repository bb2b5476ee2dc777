// Method and exact path to a handler. HEAD is answered by GET's handler without its body.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "http/message.h"

namespace sluice::http {

class Router {
 public:
  void add(std::string method, std::string path, Handler handler);

  struct Match {
    const Handler* handler = nullptr;  // null: no such route
    std::vector<std::string> allowed;  // methods of the path, when the path is known but the method is not
  };
  Match find(const std::string& method, const std::string& path) const;

 private:
  std::map<std::string, std::map<std::string, Handler>> routes_;  // path, method
};

}  // namespace sluice::http
