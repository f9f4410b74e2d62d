// SPDX-License-Identifier: Apache-2.0
//
// Repeated decisions whether one part of a problem fits into a capacity. Private to this module.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "neap/base/random.h"
#include "neap/solve/arena/budget.h"
#include "neap/solve/arena/decision_search.h"
#include "neap/solve/arena/pair_table.h"
#include "neap/solve/arena/problem.h"

namespace neap::arena {

class CapacitySearch {
 public:
  CapacitySearch() = default;
  CapacitySearch(const CapacitySearch&) = delete;
  CapacitySearch& operator=(const CapacitySearch&) = delete;
  virtual ~CapacitySearch() = default;

  // `nodes` in all. `restarts` is the place in the sequence of restarts, for the caller to keep
  // from one attempt at a capacity to the next.
  virtual Verdict Attempt(std::int64_t capacity_bytes, std::int64_t nodes, std::int64_t& restarts,
                          Random& random, Budget& budget) = 0;
  // After kPlaced: the offset of an item, in bytes.
  virtual std::int64_t OffsetOf(std::size_t item) const = 0;
  // A placement of all items above the capacity that attempts came across, the lowest: its height,
  // INT64_MAX for none, and the offsets, in bytes.
  virtual std::int64_t completed_bytes() const = 0;
  virtual const std::vector<std::int64_t>& completed_offsets() const = 0;
  // Every height of this part is a multiple of it, so other capacities need no search. 1 where this
  // is not proven for every placement.
  virtual std::int64_t step_bytes() const = 0;
};

// The strongest search that knows the pair rules of these buffers, which are one part of the
// problem; nullptr where the part is too large for any.
std::unique_ptr<CapacitySearch> MakeCapacitySearch(const Problem& problem, const PairTable& table,
                                                   std::span<const BufferIndex> buffers);

}  // namespace neap::arena
