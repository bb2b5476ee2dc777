#include "base/hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <string>

namespace sluice {
namespace {

BlockHash digest(const void* data, std::size_t size, std::uint64_t seed) {
  const XXH128_hash_t hash = XXH3_128bits_withSeed(data, size, seed);
  return {hash.low64, hash.high64};
}

}  // namespace

BlockHash root_hash(std::string_view tenant_salt, std::string_view model_digest,
                    std::uint32_t kv_layout_version) {
  // Lengths are part of the text, so ("a","bc") and ("ab","c") differ.
  std::string text = std::to_string(tenant_salt.size()) + ':' + std::string(tenant_salt) + '|' +
                     std::string(model_digest) + '|' + std::to_string(kv_layout_version);
  return digest(text.data(), text.size(), 0);
}

BlockHash chain_hash(const BlockHash& parent, std::span<const TokenId> block) {
  const BlockHash tokens = digest(block.data(), block.size_bytes(), parent.low);
  const std::uint64_t link[4] = {parent.low, parent.high, tokens.low, tokens.high};
  return digest(link, sizeof link, parent.high);
}

}  // namespace sluice
