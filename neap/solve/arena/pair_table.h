// SPDX-License-Identifier: Apache-2.0
//
// Private to this module: the pair rules of a problem, by buffer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "neap/solve/arena/problem.h"

namespace neap::arena {

class PairTable {
 public:
  // offset(self) - offset(other) must not be in the open interval (low, high). low == high means
  // that the pair has rules that forbid nothing, so the default does not apply either.
  struct Entry {
    BufferIndex other = 0;
    std::int64_t low = 0;
    std::int64_t high = 0;
  };

  // Only rules for pairs that occupy something and are live together. Intervals of a pair are
  // merged until an offset is allowed between any two. O(r log r).
  explicit PairTable(const Problem& problem);

  bool empty() const { return entries_.empty(); }
  // Sorted by `other`, then `low`.
  std::span<const Entry> Of(BufferIndex self) const {
    if (entries_.empty()) return {};
    const auto i = static_cast<std::size_t>(self);
    return std::span(entries_).subspan(begins_[i], begins_[i + 1] - begins_[i]);
  }
  // The entries of one pair; none: disjoint.
  std::span<const Entry> Between(BufferIndex self, BufferIndex other) const;
  // The most bytes that the pair, live together and extents of these sizes, can share. The sizes
  // may be larger than those of the buffers, but not than offsets of pairs without rules allow.
  std::int64_t MostShared(BufferIndex self, std::int64_t self_bytes, BufferIndex other,
                          std::int64_t other_bytes) const;
  // Whether the pair, live together, must not have the distance `apart` = offset(self) -
  // offset(other).
  bool Forbids(const Problem& problem, BufferIndex self, BufferIndex other,
               std::int64_t apart) const;

 private:
  std::vector<std::size_t> begins_;
  std::vector<Entry> entries_;
};

}  // namespace neap::arena
