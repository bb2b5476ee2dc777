#include "kvcache/block_pool.h"

#include "base/check.h"

namespace sluice::kvcache {

BlockPool::BlockPool(std::size_t blocks) : blocks_(blocks) {
  for (std::size_t i = 0; i < blocks; ++i) link_last(static_cast<std::int32_t>(i));
}

void BlockPool::unlink(std::int32_t index) {
  Block& block = blocks_[static_cast<std::size_t>(index)];
  (block.previous < 0 ? first_ : blocks_[static_cast<std::size_t>(block.previous)].next) = block.next;
  (block.next < 0 ? last_ : blocks_[static_cast<std::size_t>(block.next)].previous) = block.previous;
  block.previous = block.next = -1;
  --free_count_;
}

void BlockPool::link_last(std::int32_t index) {
  Block& block = blocks_[static_cast<std::size_t>(index)];
  block.previous = last_;
  block.next = -1;
  (last_ < 0 ? first_ : blocks_[static_cast<std::size_t>(last_)].next) = index;
  last_ = index;
  ++free_count_;
}

std::optional<BlockPool::Allocation> BlockPool::allocate(std::optional<BlockId> after) {
  if (free_count_ == 0) return std::nullopt;
  std::int32_t index = first_;
  if (after && static_cast<std::size_t>(after->value) + 1 < blocks_.size()) {
    const Block& neighbour = blocks_[static_cast<std::size_t>(after->value) + 1];
    // A neighbour that still holds a prefix is worth more than contiguity.
    if (neighbour.users == 0 && !neighbour.hash) index = after->value + 1;
  }
  unlink(index);
  Block& block = blocks_[static_cast<std::size_t>(index)];
  Allocation result{BlockId{index}, block.hash};
  block.hash.reset();
  block.users = 1;
  block.state = BlockState::kComputing;
  return result;
}

void BlockPool::acquire(BlockId id) {
  Block& block = at(id);
  SLUICE_CHECK(block.hash.has_value(), "only published blocks are shared");
  if (block.users == 0) unlink(id.value);
  ++block.users;
  block.state = BlockState::kReady;
}

void BlockPool::release(BlockId id) {
  Block& block = at(id);
  SLUICE_CHECK(block.users > 0, "released more often than acquired");
  if (--block.users > 0) return;
  block.state = BlockState::kFree;
  link_last(id.value);
}

void BlockPool::publish(BlockId id, const BlockHash& hash) {
  Block& block = at(id);
  SLUICE_CHECK(block.state == BlockState::kComputing, "published twice");
  block.state = BlockState::kReady;
  block.hash = hash;
}

void BlockPool::check_invariants() const {
  std::size_t listed = 0;
  std::int32_t previous = -1;
  for (std::int32_t i = first_; i >= 0; i = blocks_[static_cast<std::size_t>(i)].next) {
    const Block& block = blocks_[static_cast<std::size_t>(i)];
    SLUICE_CHECK(block.users == 0 && block.state == BlockState::kFree, "a used block is on the free list");
    SLUICE_CHECK(block.previous == previous, "the free list is torn");
    previous = i;
    SLUICE_CHECK(++listed <= blocks_.size(), "the free list is a circle");
  }
  SLUICE_CHECK(listed == free_count_ && previous == last_, "free + used must be all blocks");
  for (const Block& block : blocks_) {
    SLUICE_CHECK((block.users == 0) == (block.state == BlockState::kFree), "each block is in one state");
    SLUICE_CHECK(block.state != BlockState::kReady || block.hash.has_value(), "a ready block has a hash");
  }
}

}  // namespace sluice::kvcache
