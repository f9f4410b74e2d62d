// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace neap {

// Seeded pseudo-random numbers that are the same with every compiler and standard library
// (std::uniform_int_distribution is not). Generator: splitmix64 (Steele, Lea, Flood 2014).
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t Next() {
    state_ += 0x9e3779b97f4a7c15U;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31U);
  }

  // Uniform in [0, bound), bound >= 1; by rejection, so without bias.
  std::uint64_t Below(std::uint64_t bound) {
    const std::uint64_t limit = (~std::uint64_t{0}) - (~std::uint64_t{0}) % bound;
    std::uint64_t draw = Next();
    while (draw >= limit) draw = Next();
    return draw % bound;
  }
  // Uniform in [low, high].
  std::int64_t Between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(Below(static_cast<std::uint64_t>(high - low) + 1));
  }
  // True with probability numerator / denominator.
  bool Chance(std::uint64_t numerator, std::uint64_t denominator) {
    return Below(denominator) < numerator;
  }
  // Uniform in [0, 1), 53 bits.
  double Unit() { return static_cast<double>(Next() >> 11U) * 0x1.0p-53; }

  template <typename T>
  void Shuffle(std::vector<T>& items) {
    for (std::size_t i = items.size(); i > 1; --i) {
      std::swap(items[i - 1], items[static_cast<std::size_t>(Below(i))]);
    }
  }

 private:
  std::uint64_t state_;
};

}  // namespace neap
