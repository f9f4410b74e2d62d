// SPDX-License-Identifier: Apache-2.0
//
// Private to this module: placement in the order of time, as an allocator would do that knows how
// long each buffer lives. For problems of any size without rules and without fixed buffers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "neap/solve/arena/problem.h"

namespace neap::arena {

struct BestFitOptions {
  // From the last step to the first: buffers come where they end and leave where they start.
  bool from_the_end = false;
  // A buffer that lives for more steps takes the low end of its hole, any other the high end.
  std::int64_t short_steps = 0;
};

// Each buffer in the smallest hole that it fits into, the lowest of equal ones, or on top of the
// buffers that are live. Of buffers that come at one step those that live longest are first.
// Optimal for lifetimes that are nested, as those of activations in a training graph nearly are.
// O(n log n) and O(n) bytes; with several alignments a buffer may look at further holes.
class BestFitPlacer {
 public:
  explicit BestFitPlacer(const Problem& problem);  // keeps a reference
  // Two threads may place at a time.
  Placement Place(const BestFitOptions& options) const;

 private:
  // The buffers that occupy something, sorted by the steps at which they come and leave.
  struct Direction {
    std::vector<std::size_t> coming;
    std::vector<std::size_t> leaving;
  };
  Direction Sorted(bool from_the_end) const;

  const Problem& problem_;
  std::array<Direction, 2> directions_;
};

}  // namespace neap::arena
