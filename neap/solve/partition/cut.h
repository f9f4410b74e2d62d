// SPDX-License-Identifier: Apache-2.0
//
// From an order to stages: the best cut of a given order, and the repair of a predicted order or
// assignment. Problems have passed Validate().
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "neap/solve/partition/problem.h"

namespace neap::partition {

// The best assignment whose stages are consecutive parts of `order` (a topological order), by
// dynamic programming over the places to cut. Groups that have to be together count as one
// operator, at the place of their first member, and later where something before them is. nullopt:
// the limit of parameters per stage cannot be kept. O(n^2 (degree + stages)) at most; places that a
// greedy cut proves to be too late are skipped; with a shared link a few dozen times that at most.
std::optional<Assignment> CutOrder(const Problem& problem, std::span<const OpIndex> order);

// The order that runs the operators of `sequence` (a permutation, in any order) as early as it
// names them: an operator that is named before one it depends on waits until that has run.
// O(size log size).
std::vector<OpIndex> RepairOrder(const Problem& problem, std::span<const OpIndex> sequence);

// The assignment nearest to `predicted` (a stage for every operator, clamped into range) by the two
// rules that RL schedulers use after inference: a group goes to the earliest stage predicted for
// any of its members, and an operator in an earlier stage than one before it is pushed forward to
// that one's stage. The limit of parameters is not looked at. O(size log size).
Assignment RepairStages(const Problem& problem, std::span<const Stage> predicted);

// Topological orders to cut: least index first; by longest distance from an input, then index (as
// soon as possible); by longest distance to an output, largest first, then index (height).
std::vector<OpIndex> IndexOrder(const Problem& problem);
std::vector<OpIndex> AsapOrder(const Problem& problem);
std::vector<OpIndex> HeightOrder(const Problem& problem);
// Depth first from the inputs: a branch is finished before the next one begins.
std::vector<OpIndex> DepthFirstOrder(const Problem& problem);
// Any one, by the seed.
std::vector<OpIndex> RandomOrder(const Problem& problem, std::uint64_t seed);
// Longest distance from an operator without predecessors, in edges.
std::vector<OpIndex> Levels(const Problem& problem);

// Moves one operator at a time to the stage before or after its own as long as the costs of the
// stages, largest first, become less: first improvement, in the order of the index, until nothing
// helps or `max_steps` moves were tried. Groups move as one. O(max_steps * size).
Assignment Improve(const Problem& problem, const Assignment& start, std::int64_t max_steps);

}  // namespace neap::partition
