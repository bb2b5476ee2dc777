#include "store/sha256.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include "base/check.h"

namespace sluice::store {

struct Sha256::State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  ~State() { EVP_MD_CTX_free(context); }
};

Sha256::Sha256() : state_(std::make_unique<State>()) {
  SLUICE_CHECK(EVP_DigestInit_ex(state_->context, EVP_sha256(), nullptr) == 1, "OpenSSL has SHA-256");
}
Sha256::~Sha256() = default;

void Sha256::update(std::span<const char> bytes) {
  EVP_DigestUpdate(state_->context, bytes.data(), bytes.size());
}

std::string Sha256::hex() {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  EVP_DigestFinal_ex(state_->context, digest, &size);
  std::string text;
  for (unsigned i = 0; i < size; ++i) text += fmt::format("{:02x}", digest[i]);
  return text;
}

std::string sha256_hex(const std::string& text) {
  Sha256 hash;
  hash.update(text);
  return hash.hex();
}

}  // namespace sluice::store
