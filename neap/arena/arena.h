// SPDX-License-Identifier: Apache-2.0
//
// Placement: stock runtimes' own planners, reproduced, and Neap's portfolio with a lower bound.
#pragma once

#include <cstdint>
#include <span>

#include "neap/arena/problem.h"
#include "neap/base/limits.h"

namespace neap::arena {

// TensorFlow Lite Micro's GreedyMemoryPlanner, bit for bit: buffers with a fixed offset first, then
// by size, largest first, ties by *larger* index first (the real list is filled from its tail);
// each at the lowest gap that fits. `buffers` must be in the order of TFLM's AddBuffer calls. O(n^2).
Placement PlaceLikeTflm(const Problem& problem);

// LiteRT's ArenaPlanner with its SimpleMemoryArena: buffers with first == 0 and
// last == whole_run_last first, in index order, then by size, largest first, ties by first step;
// each in the *best* (smallest sufficient) gap. O(n^2).
Placement PlaceLikeTflite(const Problem& problem, Step whole_run_last);

// The most bytes, each rounded up to its alignment as in the real arena, that are live at one step,
// and at least the largest single buffer: no placement is lower. O(n log n).
std::int64_t LoadLowerBound(const Problem& problem);

struct Outcome {
  Placement placement;
  std::int64_t lower_bound_bytes = 0;  // proven: no placement of this problem is lower
  std::int64_t states = 0;             // buffers placed, over all attempts
  bool optimal() const { return placement.height_bytes == lower_bound_bytes; }
};

// The best placement of a portfolio: first-fit under several priority rules, then randomised
// repair (buffers that end too high move forward), seeded and bounded by limits.max_states; stops at
// the lower bound. Never above PlaceLikeTflm. Deterministic unless limits.max_seconds ends it.
Outcome Solve(const Problem& problem, const Limits& limits);

}  // namespace neap::arena
