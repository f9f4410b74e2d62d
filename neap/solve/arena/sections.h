// SPDX-License-Identifier: Apache-2.0
//
// Private to this module: a placement problem made small for the exact search.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "neap/solve/arena/neighbours.h"
#include "neap/solve/arena/pair_table.h"
#include "neap/solve/arena/problem.h"

namespace neap::arena {

// The buffers that occupy something, split where no buffer is live from one step to the next: the
// parts do not influence each other.
std::vector<std::vector<BufferIndex>> SplitByTime(const Problem& problem);

// A section is a maximal set of buffers that are live at once: a step whose live set is contained
// in that of another step adds no condition.
struct LiveSections {
  std::int32_t count = 0;
  std::vector<LiveRange> ranges;  // by place in `buffers`: of sections
};
LiveSections FindSections(const Problem& problem, std::span<const BufferIndex> buffers);

// One part of a problem, in multiples of `unit`, over sections instead of steps. A buffer is live
// in the sections [first, last).
//
// Pair rules are stored as gaps: the smallest distance by which one item starts above another one,
// if it starts above it. This is equivalent where the forbidden offsets of a pair are one interval
// around 0 (regular rules); otherwise, or where zero gaps form a cycle, there are no Sections.
//
// Unit: there is a lowest placement in which every buffer rests at 0, on a fixed place or on the
// top of another buffer (each buffer pushed down in turn until none moves). In it all offsets are
// multiples of the unit, which divides all fixed offsets, all sizes and gaps (rounded up to the
// common divisor of the alignments) and every alignment that it is not a multiple of.
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

  // The item that owns the entry and another one with which it has a rule.
  struct Gap {
    std::int32_t other = 0;
    std::int64_t above = 0;   // `other` starts that far above the owner, if above; >= 0
    std::int64_t below = 0;   // the owner starts that far above `other`, if above; >= 0
    std::int64_t shared = 0;  // most units that the two may share...
    bool charged = false;     // ... taken off the size of the owner (else of `other`)

    bool forbids() const { return above > 0 || below > 0; }
    // At equal offsets `other` counts as the lower one of the two.
    bool other_goes_first() const { return below == 0 && above > 0; }
  };

  std::int64_t unit = 1;
  std::int32_t count = 0;  // of sections
  std::vector<Item> items;
  std::vector<BufferIndex> sources;  // item -> buffer
  bool exact_units = true;           // every size is a multiple of the unit, so every height is
  Neighbours neighbours;             // of items, those with rules left out
  std::vector<Gap> gaps;             // by owner; empty: no rules
  std::vector<std::size_t> gap_begins;

  std::span<const Gap> GapsOf(std::int32_t item) const {
    if (gaps.empty()) return {};
    const auto i = static_cast<std::size_t>(item);
    return std::span(gaps).subspan(gap_begins[i], gap_begins[i + 1] - gap_begins[i]);
  }

  // Some placements that the rules allow are left out: a placement found is valid, but a refutation
  // proves nothing.
  bool tightened = false;

  // nullopt when the part is too large for the exact search (too many pairs of neighbours) or has
  // rules that are not regular. `table` is that of the problem. With kTighten, pairs with several
  // forbidden intervals get the one from the lowest to the highest end instead.
  enum class Irregular { kRefuse, kTighten };
  static std::optional<Sections> Build(const Problem& problem, const PairTable& table,
                                       std::span<const BufferIndex> buffers,
                                       Irregular irregular = Irregular::kRefuse);
};

}  // namespace neap::arena
