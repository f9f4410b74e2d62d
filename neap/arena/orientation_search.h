// SPDX-License-Identifier: Apache-2.0
//
// Private to this module: can one part of a problem be placed within a capacity, whatever its pair
// rules are?
//
// What a pair may not be apart is a union of open intervals, so what it may be is a few closed
// ranges, and to be in one of them is two conditions offset(j) >= offset(i) + w. A state is a set
// of such conditions. Their least solution from 0, alignments and fixed offsets included, are the
// floors: every placement that meets the conditions lies at or above them. Where the floors
// themselves break no rule they are a placement; else a pair that is broken gets one of its ranges
// at a time, which is the branching. Complete for every kind of rule, and independent of
// decision_search.h, which is far stronger where rules are regular.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "neap/arena/budget.h"
#include "neap/arena/decision_search.h"
#include "neap/arena/pair_table.h"
#include "neap/arena/problem.h"
#include "neap/base/random.h"

namespace neap::arena {

class OrientationSearch {
 public:
  static constexpr std::size_t kMostBuffers = 256;

  // `table` is that of the problem. At most kMostBuffers buffers. O(n^2) memory.
  OrientationSearch(const Problem& problem, const PairTable& table,
                    std::span<const BufferIndex> buffers);

  // Every buffer ends at or below `capacity_bytes`? At most `max_nodes` branches.
  Verdict Run(std::int64_t capacity_bytes, Random& random, std::int64_t max_nodes, Budget& budget);

  // After kPlaced, in bytes.
  std::int64_t OffsetOf(std::size_t item) const { return items_[item].floor; }

 private:
  using Index = std::int32_t;
  struct Item {
    std::int64_t bytes = 0;
    std::int64_t alignment = 1;
    std::int64_t fixed = -1;
    std::int64_t floor = 0;
    std::int64_t ceiling = 0;  // greatest offset that the conditions and the capacity allow
    std::int64_t priority = 0;
  };
  struct Range {  // closed
    std::int64_t low;
    std::int64_t high;
  };
  // offset(b) - offset(a) must lie in one of the ranges, which are sorted.
  struct Pair {
    Index a = 0;
    Index b = 0;
    std::size_t first_range = 0;
    std::size_t num_ranges = 0;
  };
  struct Condition {  // offset(other) >= offset(owner) + apart
    Index other;
    std::int64_t apart;
  };
  struct Change {
    Index item;
    std::int64_t floor;
    std::int64_t ceiling;
  };
  struct Branch {
    std::size_t pair;
    std::size_t next_range;
    bool upwards;  // ranges from the lowest to the highest
    std::size_t changes;
    std::size_t conditions;
  };

  bool Start(std::int64_t capacity_bytes);
  void AddRanges(const Problem& problem, const PairTable& table,
                 std::span<const BufferIndex> buffers, Index a, Index b);
  std::size_t Choose();
  bool IsPossible(const Pair& pair, std::size_t range) const;
  bool IsBroken(const Pair& pair) const;
  bool TakeNext(Branch& branch);
  bool Require(Index from, Index to, std::int64_t apart);
  bool MayRaise();
  bool Raise(Index item, std::int64_t floor);
  bool Lower(Index item, std::int64_t ceiling);
  bool Propagate(Index from, Index to);
  bool ExceedsLoad() const;
  void UndoTo(std::size_t changes, std::size_t conditions);

  Item& At(Index item) { return items_[static_cast<std::size_t>(item)]; }
  const Item& At(Index item) const { return items_[static_cast<std::size_t>(item)]; }

  std::vector<Item> items_;
  std::vector<Pair> pairs_;
  std::vector<Range> ranges_;
  std::vector<std::vector<Index>> cliques_;          // free of rules within, live at one step
  std::vector<std::vector<Condition>> above_;        // by item: what must be above it
  std::vector<std::vector<Condition>> below_;        // the same conditions by the other item
  std::vector<std::pair<Index, Index>> conditions_;  // in the order in which they were added
  std::vector<Change> changes_;
  std::vector<Branch> branches_;
  std::vector<Index> queue_;
  std::int64_t raises_left_ = 0;
  std::int64_t capacity_ = 0;
  bool one_alignment_ = true;
  bool gave_up_ = false;
};

}  // namespace neap::arena
