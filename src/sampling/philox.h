// Counter-based random numbers: a value is a function of (seed, position, draw), so no order of calls
// matters. Source: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (Philox 4x32-10).
#pragma once

#include <array>
#include <cstdint>

namespace sluice::sampling {

inline std::array<std::uint32_t, 4> philox(std::uint64_t key, std::uint64_t high, std::uint64_t low) {
  std::array<std::uint32_t, 4> c = {static_cast<std::uint32_t>(low), static_cast<std::uint32_t>(low >> 32),
                                    static_cast<std::uint32_t>(high), static_cast<std::uint32_t>(high >> 32)};
  auto k0 = static_cast<std::uint32_t>(key);
  auto k1 = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53} * c[0];
    const std::uint64_t b = std::uint64_t{0xCD9E8D57} * c[2];
    c = {static_cast<std::uint32_t>(b >> 32) ^ c[1] ^ k0, static_cast<std::uint32_t>(b),
         static_cast<std::uint32_t>(a >> 32) ^ c[3] ^ k1, static_cast<std::uint32_t>(a)};
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return c;
}

// Uniform in [0, 1), 53 bits.
inline double uniform(std::uint64_t seed, std::uint64_t position) {
  const auto c = philox(seed, 0, position);
  const std::uint64_t bits = (std::uint64_t{c[0]} << 32 | c[1]) >> 11;
  return static_cast<double>(bits) * 0x1p-53;
}

}  // namespace sluice::sampling
