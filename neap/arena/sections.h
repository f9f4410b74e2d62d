// SPDX-License-Identifier: Apache-2.0
//
// Private to this module: a placement problem made small for the exact search.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "neap/arena/neighbours.h"
#include "neap/arena/problem.h"

namespace neap::arena {

// The buffers that occupy something, split where no buffer is live from one step to the next: the
// parts do not influence each other.
std::vector<std::vector<BufferIndex>> SplitByTime(const Problem& problem);

// One part of a problem, in multiples of `unit`, over sections instead of steps.
//
// A section is a maximal set of buffers that are live at once: a step whose live set is contained
// in that of another step adds no condition. A buffer is live in the sections [first, last).
//
// Unit: there is a lowest placement in which every buffer rests at 0, on a fixed place or on the
// top of another buffer (each buffer pushed down in turn until none moves). In it all offsets are
// multiples of the unit, which divides all fixed offsets, all sizes (rounded up to the common
// divisor of the alignments) and every alignment that it is not a multiple of.
struct Sections {
  struct Item {
    std::int64_t units = 0;      // size, >= 1
    std::int64_t alignment = 1;  // in units
    std::int64_t fixed = -1;     // in units; -1: free
    std::int64_t bytes = 0;      // the exact size
    std::int32_t first = 0;
    std::int32_t last = 0;
    std::int32_t twin = -1;  // the next item that differs from this one by its index only
  };

  std::int64_t unit = 1;
  std::int32_t count = 0;  // of sections
  std::vector<Item> items;
  std::vector<BufferIndex> sources;  // item -> buffer
  bool exact_units = true;           // every size is a multiple of the unit, so every height is
  Neighbours neighbours;             // of items

  // nullopt when the part is too large for the exact search (too many pairs of neighbours).
  static std::optional<Sections> Build(const Problem& problem,
                                       std::span<const BufferIndex> buffers);
};

}  // namespace neap::arena
