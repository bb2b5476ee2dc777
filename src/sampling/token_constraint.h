// A grammar or thinking budget attached to a sequence. Implemented by grammar/ later; the engine only calls
// it.
#pragma once

#include <cstdint>
#include <span>

#include "base/strong_id.h"

namespace sluice::sampling {

class TokenConstraint {
 public:
  virtual ~TokenConstraint() = default;
  // Sets bit t of `mask` (ceil(V / 32) words) for every token that may come next.
  virtual void fill_mask(std::span<std::uint32_t> mask) = 0;
  virtual bool accept(TokenId token) = 0;          // false: not allowed; the sequence ends with an error
  virtual void roll_back(std::size_t tokens) = 0;  // undo the last accepts (speculation)
  virtual std::span<const TokenId> forced() const { return {}; }  // tokens that are certain to come
};

}  // namespace sluice::sampling
