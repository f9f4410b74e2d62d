// SPDX-License-Identifier: Apache-2.0
//
// Sequences of small peak in which operators run again. Method and proofs:
// docs/algorithms/rematerialise.md. Thread-safe: no global state; deterministic: the same problem
// and effort give the same outcome unless a limit of time or an interrupt ends the search.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "neap/base/limits.h"
#include "neap/solve/rematerialise/problem.h"

namespace neap::rematerialise {

struct Effort {
  // Of the exact search, which looks at problems of at most 64 operators and 64 values; 0: none.
  std::int64_t max_states = 100'000;
  // Of the search by moves.
  std::int64_t max_moves = 20'000;
  Limits limits;  // deadline and stop alone count
};

struct Point {
  std::vector<OpIndex> sequence;
  std::int64_t peak_bytes = 0;
  std::int64_t cost = 0;
  // No sequence of a smaller cost has this peak or a smaller one.
  bool least_cost = false;
};

struct Outcome {
  // Smaller and smaller peaks at larger and larger costs; the first one repeats nothing.
  std::vector<Point> points;
  // No sequence whose cost is at most `max_cost` has a smaller peak.
  std::int64_t lower_bound_bytes = 0;
  std::int64_t states = 0;  // of the exact search
  std::int64_t moves = 0;
  bool interrupted = false;
  bool optimal() const { return points.back().peak_bytes == lower_bound_bytes; }
};

// The points that are found at a cost of at most `max_cost`, which is at least the base cost.
// `start` is a valid sequence without repetitions; the first point is no higher. A larger
// `max_cost` gives the same points and more of them. `problem` must pass Validate().
// ReplaySequence() has confirmed every point.
Outcome Solve(const Problem& problem, std::span<const OpIndex> start, std::int64_t max_cost,
              const Effort& effort);

}  // namespace neap::rematerialise
