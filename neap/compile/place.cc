// SPDX-License-Identifier: Apache-2.0
#include "neap/compile/place.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "neap/base/bytes.h"
#include "neap/base/check.h"
#include "neap/compile/placement_memo.h"
#include "neap/compile/placement_problem.h"
#include "neap/solve/arena/arena.h"
#include "neap/solve/arena/check.h"
#include "neap/solve/arena/memories.h"

namespace neap::compile {
namespace {

using graph::SubgraphId;

PlacementProblem ProblemOf(const graph::Graph& graph, SubgraphId entry, const Timeline& timeline,
                           const AllSizes& sizes, const plan::Profile& profile,
                           const OverlapOptions& overlap) {
  PlacementProblem problem(graph, timeline, sizes, profile);
  problem.Allow(AllowedOverlaps(graph, entry, timeline, overlap));
  return problem;
}

// --- one memory ---

// More than any placement takes.
std::int64_t SideBySide(const arena::Problem& problem, std::int64_t alignment) {
  std::int64_t bytes = 0;
  for (const arena::Buffer& buffer : problem.buffers) bytes += AlignUp(buffer.bytes, alignment);
  return bytes;
}

// The largest accepted arena, in steps of the alignment: `accepted` is one, `rejected` is not.
std::int64_t LargestAccepted(const PlaceEffort& effort, std::int64_t accepted,
                             std::int64_t rejected, std::int64_t alignment) {
  std::int64_t low = accepted / alignment;
  std::int64_t high = rejected / alignment;
  while (low < high) {
    const std::int64_t middle = low + (high - low + 1) / 2;
    if (effort.accepts(middle * alignment)) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low * alignment;
}

// nullopt: every arena is rejected.
std::optional<arena::Outcome> Solve(const arena::Problem& problem, const PlaceEffort& effort,
                                    std::int64_t alignment) {
  arena::SolveOptions options;
  options.limits = effort.limits;
  const auto solve = [&] {
    return effort.memo != nullptr ? effort.memo->Solve(problem, options)
                                  : arena::Solve(problem, options);
  };
  if (!effort.accepts) return solve();
  const std::int64_t least = AlignUp(arena::LoadLowerBound(problem), alignment);
  if (!effort.accepts(least)) return std::nullopt;
  const std::int64_t side_by_side = SideBySide(problem, alignment);
  if (!effort.aims || effort.accepts(side_by_side)) return solve();
  options.goal_bytes = LargestAccepted(effort, least, side_by_side, alignment);
  arena::Outcome outcome = solve();
  if (outcome.placement.height_bytes > *options.goal_bytes || outcome.optimal()) return outcome;
  // Accepted but not minimal: search again without the goal.
  options.goal_bytes.reset();
  arena::Outcome lower = solve();
  if (lower.placement.height_bytes < outcome.placement.height_bytes) outcome = std::move(lower);
  return outcome;
}

// --- several memories ---

// Units of time in a kilocycle, so that a byte takes a whole number of them in every memory.
Result<std::int64_t> UnitOf(const std::vector<plan::Memory>& memories) {
  constexpr std::int64_t kMaxUnit = 1'000'000'000'000;
  std::int64_t unit = 1;
  for (const plan::Memory& memory : memories) {
    const std::int64_t shared = std::gcd(unit, memory.bytes_per_kilocycle);
    const auto both = CheckedMultiply(unit, memory.bytes_per_kilocycle / shared);
    if (!both || *both > kMaxUnit) {
      return Fail(UsageError("the bandwidths of the memories have too many decimals to compare"));
    }
    unit = *both;
  }
  return unit;
}

// Costs are in those units.
Result<arena::MemoryProblem> InMemories(const graph::Graph& graph,
                                        const PlacementProblem& placement,
                                        const std::vector<plan::Memory>& memories,
                                        std::int64_t unit) {
  arena::MemoryProblem problem;
  problem.problem = placement.problem();
  for (const plan::Memory& memory : memories) {
    problem.capacities_bytes.push_back(memory.capacity_bytes);
  }
  const auto buffers = static_cast<std::int64_t>(problem.problem.buffers.size());
  for (const std::int64_t accessed : placement.AccessedBytes(graph)) {
    for (const plan::Memory& memory : memories) {
      const auto cost = CheckedMultiply(accessed, unit / memory.bytes_per_kilocycle);
      if (!cost || *cost > kMaxBytes / (buffers + 1)) {
        return Fail(BadInput("the bytes that operators access are out of range"));
      }
      problem.costs.push_back(*cost);
    }
  }
  if (const auto wrong = arena::Validate(problem)) return Fail(BadInput(*wrong));
  return problem;
}

// Rounded up.
std::int64_t CyclesOf(std::int64_t cost, std::int64_t unit) {
  constexpr std::int64_t kKilo = 1000;
  return cost / unit * kKilo + (cost % unit * kKilo + unit - 1) / unit;
}

}  // namespace

std::optional<Placed> PlaceIfAccepted(const graph::Graph& graph, SubgraphId entry,
                                      const Timeline& timeline, const AllSizes& sizes,
                                      const plan::Profile& profile, const OverlapOptions& overlap,
                                      const PlaceEffort& effort) {
  const PlacementProblem problem = ProblemOf(graph, entry, timeline, sizes, profile, overlap);
  const auto outcome = Solve(problem.problem(), effort, profile.alignment);
  if (!outcome) return std::nullopt;
  const auto violation = arena::FindViolation(problem.problem(), outcome->placement);
  NEAP_CHECK(!violation, "the placement is wrong: " + violation.value_or(""));
  Placed placed = problem.PlacesAt(outcome->placement.offsets, {});
  placed.arena_bytes = outcome->placement.height_bytes;
  // All heights are multiples of the alignment.
  placed.lower_bound_bytes = AlignUp(outcome->lower_bound_bytes, profile.alignment);
  return placed;
}

Placed PlaceTimeline(const graph::Graph& graph, SubgraphId entry, const Timeline& timeline,
                     const AllSizes& sizes, const plan::Profile& profile,
                     const OverlapOptions& overlap, const Limits& limits, PlacementMemo* memo) {
  return PlaceIfAccepted(graph, entry, timeline, sizes, profile, overlap, {limits, memo, {}, true})
      .value();
}

Result<Placed> PlaceInMemories(const graph::Graph& graph, SubgraphId entry,
                               const Timeline& timeline, const AllSizes& sizes,
                               const plan::Profile& profile, const OverlapOptions& overlap,
                               const std::vector<plan::Memory>& memories, const Limits& limits) {
  const PlacementProblem placement = ProblemOf(graph, entry, timeline, sizes, profile, overlap);
  NEAP_TRY(const std::int64_t unit, UnitOf(memories));
  NEAP_TRY(const arena::MemoryProblem problem, InMemories(graph, placement, memories, unit));
  const arena::MemoryOutcome outcome = arena::SolveMemories(problem, limits);
  if (!outcome.best) {
    return Fail(OverBudget(outcome.impossible
                               ? "no placement fits into the memories"
                               : "no placement that fits into the memories was found"));
  }
  const auto violation = arena::FindViolation(problem, *outcome.best);
  NEAP_CHECK(!violation, "the placement is wrong: " + violation.value_or(""));
  Placed placed = placement.PlacesAt(outcome.best->offsets, outcome.best->memories);
  placed.memory_bytes = outcome.best->heights_bytes;
  placed.arena_bytes =
      std::accumulate(placed.memory_bytes.begin(), placed.memory_bytes.end(), std::int64_t{0});
  placed.lower_bound_bytes = std::min(
      placed.arena_bytes, AlignUp(arena::LoadLowerBound(placement.problem()), profile.alignment));
  placed.access_cycles = CyclesOf(outcome.best->cost, unit);
  placed.access_cycles_lower_bound = CyclesOf(outcome.lower_bound_cost, unit);
  return placed;
}

}  // namespace neap::compile
