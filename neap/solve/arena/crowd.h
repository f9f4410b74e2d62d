// SPDX-License-Identifier: Apache-2.0
//
// Private to this module: the steps at which a large problem is hardest to place, placed first.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "neap/solve/arena/budget.h"
#include "neap/solve/arena/neighbours.h"
#include "neap/solve/arena/problem.h"

namespace neap::arena {

// The steps [first, last), and the buffers that are live and take bytes at some of them.
struct Crowd {
  Step first = 0;
  Step last = 0;
  std::vector<BufferIndex> buffers;
};

// Steps of more than nine tenths of `bound_bytes` belong together where less than four lifetimes of
// an average byte are between them. The crowd is the group of most steps at which buffers begin or
// end, with two such lifetimes on either side. None where more than half of the buffers are live in
// it. O(n log n).
std::optional<Crowd> FindCrowd(const Problem& problem, std::int64_t bound_bytes);

// Places the crowd alone below the capacity by ejections, from nothing and several times with other
// random numbers, then the other buffers around it. False, with `offsets` unchanged, where that
// fails. The problem has no pair rules and no fixed buffers; `neighbours` are those of the buffers
// that occupy something.
bool PlaceCrowdFirst(const Problem& problem, const Neighbours& neighbours, const Crowd& crowd,
                     std::int64_t capacity_bytes, std::uint64_t seed,
                     std::vector<std::int64_t>& offsets, Budget& budget);

}  // namespace neap::arena
