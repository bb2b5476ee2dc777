// The scheduler's one door to blocks: finds reusable prefixes, grows and frees sequences' block tables,
// publishes full blocks after they were computed (field report F035). Bookkeeping only; no tensor here. One
// thread.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/hash.h"
#include "base/strong_id.h"
#include "kvcache/block_pool.h"

namespace sluice::kvcache {

// Blocks of one sequence, in order, with what is known of their content.
struct BlockTable {
  std::vector<BlockId> blocks;
  std::vector<BlockHash> hashes;     // of the full blocks known so far; chained
  BlockHash root;                    // parent of the first block
  std::size_t published_blocks = 0;  // leading blocks that others may share
};

class KVCacheManager {
 public:
  using Hasher = std::function<BlockHash(const BlockHash& parent, std::span<const TokenId> block)>;
  // `hasher` is replaced in tests only.
  KVCacheManager(std::size_t blocks, std::size_t block_tokens, Hasher hasher = chain_hash);

  std::size_t block_tokens() const { return block_tokens_; }
  std::size_t total_blocks() const { return pool_.size(); }
  std::size_t free_blocks() const { return pool_.free_count(); }
  // 1 - free / total.
  double usage() const;

  // Takes the longest published prefix of `tokens` into an empty table; at least the last token is left to
  // compute (field report F036). Returns the number of tokens found. Tokens are compared, not only hashes.
  std::size_t reuse_prefix(BlockTable& table, std::span<const TokenId> tokens);

  // Makes room for `tokens` tokens in all. False: not enough free blocks, nothing changed.
  bool grow(BlockTable& table, std::size_t tokens);

  // Publishes blocks that are full now: the first `computed` of `tokens` have keys and values.
  void commit(BlockTable& table, std::span<const TokenId> tokens, std::size_t computed);

  // Gives back blocks beyond `tokens` tokens (a rejected draft); never into a published block, which others
  // may read.
  void truncate(BlockTable& table, std::size_t tokens);
  // Gives back all blocks, the last first, so that a prefix outlives its tail.
  void release(BlockTable& table);

  void check_invariants() const;

 private:
  struct Entry {
    BlockId block;
    BlockHash parent;
    std::vector<TokenId> tokens;
  };
  const Entry* find(const BlockHash& hash, const BlockHash& parent, std::span<const TokenId> tokens) const;

  std::size_t block_tokens_;
  Hasher hasher_;
  BlockPool pool_;
  std::unordered_map<BlockHash, Entry> prefixes_;
};

}  // namespace sluice::kvcache
