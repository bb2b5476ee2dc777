// 128-bit chained hash of token blocks: key of the prefix cache and of prefix-aware routing.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "base/strong_id.h"

namespace sluice {

struct BlockHash {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  friend auto operator<=>(const BlockHash&, const BlockHash&) = default;
};

// Parent of a sequence's first block: separates tenants, models and KV layouts.
BlockHash root_hash(std::string_view tenant_salt, std::string_view model_digest,
                    std::uint32_t kv_layout_version);

// Hash of one full block given its parent's. Source: vLLM's hash chain; XXH3-128 instead of SHA-256, so a hit
// must also compare the tokens (kvcache/prefix_cache.h does).
BlockHash chain_hash(const BlockHash& parent, std::span<const TokenId> block);

}  // namespace sluice

template <>
struct std::hash<sluice::BlockHash> {
  std::size_t operator()(const sluice::BlockHash& hash) const noexcept { return hash.low; }
};
