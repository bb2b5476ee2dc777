// SHA-256 of a stream of bytes, as 64 hex digits.
#pragma once

#include <memory>
#include <span>
#include <string>

namespace sluice::store {

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;
  void update(std::span<const char> bytes);
  std::string hex();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::string sha256_hex(const std::string& text);

}  // namespace sluice::store
