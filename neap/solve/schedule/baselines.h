// SPDX-License-Identifier: Apache-2.0
//
// Inexpensive orders without proofs, and the result of a strategy that a limit ended. Memory linear
// in the problem; `file_order` is a valid order of all operators. Private to neap/schedule.
#pragma once

#include <cstdint>
#include <vector>

#include "neap/base/limits.h"
#include "neap/solve/schedule/problem.h"
#include "neap/solve/schedule/schedule.h"

namespace neap::schedule {

// Per operator, its place in `order`.
std::vector<OpIndex> PositionsIn(const std::vector<OpIndex>& order);

// First ready operator of the file order first (Kahn 1962): breadth-first.
std::vector<OpIndex> KahnOrder(const Problem& problem, const std::vector<OpIndex>& file_order);

// Post-order of a depth-first walk over predecessors, from the operators without successors on.
std::vector<OpIndex> DepthFirstOrder(const Problem& problem,
                                     const std::vector<OpIndex>& file_order);

// A random ready operator at every step; the same for the same seed everywhere.
std::vector<OpIndex> RandomOrder(const Problem& problem, const std::vector<OpIndex>& file_order,
                                 std::uint64_t seed);

// The ready operator that leaves the fewest bytes live, ties by the file order. Ends early (with an
// empty vector) when `limits.stop` is set.
std::vector<OpIndex> GreedyOrder(const Problem& problem, const std::vector<OpIndex>& file_order,
                                 const Limits& limits);

// 0, 1, 2, ... where `given` is empty: a topological order of that preference.
std::vector<OpIndex> FileOrder(const Problem& problem, const std::vector<OpIndex>& given);

// Peak of a valid order, by the independent replay (check.h).
std::int64_t PeakOfOrder(const Problem& problem, const std::vector<OpIndex>& order);

// An outcome without order or peak, whose bound is the largest single operator.
Outcome SingleOpOutcome(const Problem& problem);

// SingleOpOutcome with the best of the file's order, Kahn's and the greedy one: the result when a
// limit ends a search that has no order yet.
Outcome FallbackOutcome(const Problem& problem, const Limits& limits,
                        const std::vector<OpIndex>& file_order);

// Whether the bit rows of Instance for `problem` leave at least half of the memory limit free, and
// work and time are left to fill them; then that work is charged.
bool TakeInstance(const Problem& problem, const Limits& limits);

// Stores `order` with `peak_bytes` as the minimum peak of all orders, by an exhausted search.
void SetProven(std::vector<OpIndex> order, std::int64_t peak_bytes, Outcome* outcome);

// Takes over a bound that a search has proven. No effect when it is no better.
void RaiseBound(std::int64_t lower_bound_bytes, Outcome* outcome);

}  // namespace neap::schedule
