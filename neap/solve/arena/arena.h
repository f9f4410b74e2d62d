// SPDX-License-Identifier: Apache-2.0
//
// Placement: stock runtimes' own planners, reproduced, and Neap's portfolio with a lower bound.
#pragma once

#include <cstdint>
#include <optional>

#include "neap/base/limits.h"
#include "neap/solve/arena/problem.h"

namespace neap::arena {

// All of these take a problem for which Validate() finds nothing wrong; the two stock planners know
// no pair rules (all pairs that are live together get disjoint places) and also take fixed buffers
// that overlap one another, as the real ones do. Heights are exact: max of offset + bytes. A real
// arena that rounds every buffer up is modelled by rounded bytes in the problem.

// TensorFlow Lite Micro's GreedyMemoryPlanner, bit for bit: buffers with a fixed offset first, then
// by size, largest first, ties by *larger* index first (the real list is filled from its tail);
// each at the lowest gap that fits. `buffers` must be in the order of TFLM's AddBuffer calls.
// O(n^2).
Placement PlaceLikeTflm(const Problem& problem);

// LiteRT's ArenaPlanner with its SimpleMemoryArena: buffers with first == 0 and
// last == whole_run_last first, in index order, then by size, largest first, ties by first step and
// index; each in the *best* (smallest sufficient) gap. O(n log n + pairs that are live together);
// O(n^2) where those are too many to be kept.
Placement PlaceLikeTflite(const Problem& problem, Step whole_run_last);

// A lower bound of every placement: the maximum of the live bytes over the steps, every buffer but
// one rounded up to the common divisor of all alignments, minus the largest number of bytes that
// pair rules let a buffer share with those that began before it; at least the end of every single
// buffer. O((n + r) log (n + r)).
std::int64_t LoadLowerBound(const Problem& problem);

struct SolveOptions {
  Limits limits;
  // Enough: the search ends as soon as the height is at most this, or proven to be higher.
  std::optional<std::int64_t> goal_bytes;
  std::uint64_t seed = 3;  // of all random choices
};

struct Outcome {
  Placement placement;
  std::int64_t lower_bound_bytes = 0;  // proven: no placement of this problem is lower
  std::int64_t states = 0;             // buffers placed, over all attempts
  bool optimal() const { return placement.height_bytes == lower_bound_bytes; }
};

// The best placement of a portfolio: first-fit under several priority rules, then repair (buffers
// that end too high move forward in the order), then, for every part of at most 3,000 buffers, an
// exact search whether a lower capacity suffices, restarted with random rules (decision_search.h);
// alignments and fixed offsets included. The lower bound is LoadLowerBound, or higher where the
// exact search refuted a capacity. Never above PlaceLikeTflm where no pair
// rule forbids disjoint places (above 60,000 buffers with millions of pairs, which get places on
// top of each other in O(n log n), no such promise). Stops when bound and height meet. Seeded and
// bounded by limits.max_states (counts placed buffers; with neither it nor max_seconds set, a
// default ends the search), so deterministic unless limits.max_seconds or limits.stop ends it.
Outcome Solve(const Problem& problem, const SolveOptions& options);
Outcome Solve(const Problem& problem, const Limits& limits);

}  // namespace neap::arena
