// SPDX-License-Identifier: Apache-2.0
//
// The memory of a planned run. Private to neap/execute.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "neap/execute/run.h"

namespace neap::execute {

// A byte that is seldom what a network computes: as a float a large negative number.
inline constexpr std::byte kPoison{0xcb};

// One memory of exactly `bytes` between two guards, poisoned at first. It remembers what it looked
// like at the last Remember().
class Arena {
 public:
  explicit Arena(std::int64_t bytes);

  std::int64_t bytes() const { return bytes_; }
  std::span<std::byte> At(std::int64_t offset, std::int64_t bytes) {
    return std::span(storage_).subspan(static_cast<std::size_t>(kGuard + offset),
                                       static_cast<std::size_t>(bytes));
  }
  std::span<const std::byte> At(std::int64_t offset, std::int64_t bytes) const {
    return std::span(storage_).subspan(static_cast<std::size_t>(kGuard + offset),
                                       static_cast<std::size_t>(bytes));
  }
  void Poison(std::int64_t offset, std::int64_t bytes);

  void Remember() { before_ = storage_; }
  // Whether any byte has changed since Remember(), the guards included, that is in none of
  // `allowed`.
  bool ChangedOutside(std::vector<ArenaRange> allowed) const;

 private:
  static constexpr std::int64_t kGuard = 64;

  std::int64_t bytes_;
  std::vector<std::byte> storage_;
  std::vector<std::byte> before_;
};

inline bool Intersect(std::int64_t a, std::int64_t a_bytes, std::int64_t b, std::int64_t b_bytes) {
  return a < b + b_bytes && b < a + a_bytes && a_bytes > 0 && b_bytes > 0;
}

}  // namespace neap::execute
