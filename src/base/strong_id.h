// Integers that cannot be mixed up: BlockId, SequenceId.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace sluice {

template <typename Tag, typename Int>
struct StrongId {
  Int value{};
  friend auto operator<=>(const StrongId&, const StrongId&) = default;
};

using SequenceId = StrongId<struct SequenceTag, std::uint64_t>;
using BlockId = StrongId<struct BlockTag, std::int32_t>;

// Token ids cross every layer in bulk, so they stay plain integers.
using TokenId = std::int32_t;

}  // namespace sluice

template <typename Tag, typename Int>
struct std::hash<sluice::StrongId<Tag, Int>> {
  std::size_t operator()(const sluice::StrongId<Tag, Int>& id) const noexcept {
    return std::hash<Int>{}(id.value);
  }
};
