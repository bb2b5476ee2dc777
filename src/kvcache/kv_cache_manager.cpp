#include "kvcache/kv_cache_manager.h"

#include <algorithm>

#include "base/check.h"

namespace sluice::kvcache {

KVCacheManager::KVCacheManager(std::size_t blocks, std::size_t block_tokens, Hasher hasher)
    : block_tokens_(block_tokens), hasher_(std::move(hasher)), pool_(blocks) {}

double KVCacheManager::usage() const {
  if (pool_.size() == 0) return 0;
  return 1.0 - static_cast<double>(pool_.free_count()) / static_cast<double>(pool_.size());
}

const KVCacheManager::Entry* KVCacheManager::find(const BlockHash& hash, const BlockHash& parent,
                                                  std::span<const TokenId> tokens) const {
  const auto found = prefixes_.find(hash);
  if (found == prefixes_.end() || found->second.parent != parent) return nullptr;
  return std::ranges::equal(found->second.tokens, tokens) ? &found->second : nullptr;
}

std::size_t KVCacheManager::reuse_prefix(BlockTable& table, std::span<const TokenId> tokens) {
  SLUICE_CHECK(table.blocks.empty(), "a prefix goes into an empty table");
  table.hashes.clear();
  BlockHash parent = table.root;
  while ((table.blocks.size() + 1) * block_tokens_ < tokens.size()) {
    const auto block = tokens.subspan(table.blocks.size() * block_tokens_, block_tokens_);
    const BlockHash hash = hasher_(parent, block);
    const Entry* entry = find(hash, parent, block);
    if (entry == nullptr) break;
    pool_.acquire(entry->block);
    table.blocks.push_back(entry->block);
    table.hashes.push_back(hash);
    parent = hash;
  }
  table.published_blocks = table.blocks.size();
  return table.blocks.size() * block_tokens_;
}

bool KVCacheManager::grow(BlockTable& table, std::size_t tokens) {
  const std::size_t needed = (tokens + block_tokens_ - 1) / block_tokens_;
  if (needed <= table.blocks.size()) return true;
  if (needed - table.blocks.size() > pool_.free_count()) return false;
  while (table.blocks.size() < needed) {
    const auto after = table.blocks.empty() ? std::nullopt : std::optional(table.blocks.back());
    const auto allocation = pool_.allocate(after);
    SLUICE_CHECK(allocation.has_value(), "counted free blocks must exist");
    if (allocation->evicted) prefixes_.erase(*allocation->evicted);
    table.blocks.push_back(allocation->block);
  }
  return true;
}

void KVCacheManager::commit(BlockTable& table, std::span<const TokenId> tokens, std::size_t computed) {
  const std::size_t full = std::min(computed, tokens.size()) / block_tokens_;
  for (std::size_t i = table.hashes.size(); i < full; ++i) {
    const auto block = tokens.subspan(i * block_tokens_, block_tokens_);
    const BlockHash parent = i == 0 ? table.root : table.hashes[i - 1];
    const BlockHash hash = hasher_(parent, block);
    table.hashes.push_back(hash);
    // Another sequence may have published the same content meanwhile: both keep their copies, the first stays
    // found.
    const bool is_new = prefixes_.count(hash) == 0;
    if (is_new && table.published_blocks == i) {
      pool_.publish(table.blocks[i], hash);
      prefixes_.emplace(hash, Entry{table.blocks[i], parent, {block.begin(), block.end()}});
      table.published_blocks = i + 1;
    }
    if (!is_new && table.published_blocks == i) table.published_blocks = i + 1;
  }
}

void KVCacheManager::truncate(BlockTable& table, std::size_t tokens) {
  SLUICE_CHECK(tokens == 0 || tokens >= table.published_blocks * block_tokens_,
               "a shared block must not be rewritten");
  const std::size_t kept = (tokens + block_tokens_ - 1) / block_tokens_;
  while (table.blocks.size() > kept) {
    pool_.release(table.blocks.back());
    table.blocks.pop_back();
  }
  table.hashes.resize(std::min(table.hashes.size(), tokens / block_tokens_));
  table.published_blocks = std::min(table.published_blocks, table.hashes.size());
}

void KVCacheManager::release(BlockTable& table) { truncate(table, 0); }

void KVCacheManager::check_invariants() const {
  pool_.check_invariants();
  for (const auto& [hash, entry] : prefixes_) {
    SLUICE_CHECK(pool_.hash(entry.block) == hash, "a prefix points at a block with other content");
    SLUICE_CHECK(entry.tokens.size() == block_tokens_, "a prefix is one full block");
  }
}

}  // namespace sluice::kvcache
