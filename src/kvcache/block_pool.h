// A fixed set of KV blocks with reference counts. The only writer of block states.
//
// A block is free (count 0, on the LRU list, maybe still holding a reusable prefix), computing (in use, its
// content not complete yet) or ready (in use or free, content complete and published). `loading` is for tiers
// that fill blocks from elsewhere.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/hash.h"
#include "base/strong_id.h"

namespace sluice::kvcache {

enum class BlockState : std::uint8_t { kFree, kComputing, kReady, kLoading };

class BlockPool {
 public:
  explicit BlockPool(std::size_t blocks);

  std::size_t size() const { return blocks_.size(); }
  std::size_t free_count() const { return free_count_; }

  // The block that was freed longest ago, preferring the successor of `after` while that is free, so that
  // neighbours in a sequence are neighbours in memory. Its old content is forgotten: `evicted` tells the hash
  // it had. Empty: none free.
  struct Allocation {
    BlockId block;
    std::optional<BlockHash> evicted;
  };
  std::optional<Allocation> allocate(std::optional<BlockId> after);

  void acquire(BlockId block);  // one more user; takes a free block off the list
  void release(BlockId block);  // one user less; at zero the block joins the list as the last to be reused
  // Content is complete: state ready, found by `hash` from now on.
  void publish(BlockId block, const BlockHash& hash);

  BlockState state(BlockId block) const { return at(block).state; }
  const std::optional<BlockHash>& hash(BlockId block) const { return at(block).hash; }
  std::uint32_t users(BlockId block) const { return at(block).users; }

  // Aborts when a count or the list disagrees with the states.
  void check_invariants() const;

 private:
  struct Block {
    std::uint32_t users = 0;
    BlockState state = BlockState::kFree;
    std::optional<BlockHash> hash;
    std::int32_t previous = -1;  // on the free list
    std::int32_t next = -1;
  };
  const Block& at(BlockId block) const { return blocks_[static_cast<std::size_t>(block.value)]; }
  Block& at(BlockId block) { return blocks_[static_cast<std::size_t>(block.value)]; }
  void unlink(std::int32_t index);
  void link_last(std::int32_t index);

  std::vector<Block> blocks_;
  std::int32_t first_ = -1;
  std::int32_t last_ = -1;
  std::size_t free_count_ = 0;
};

}  // namespace sluice::kvcache
