// SPDX-License-Identifier: Apache-2.0
//
// Every search of addresses ends soon after a deadline, whenever that is, with a valid placement.
#include <gtest/gtest.h>

#include <string>

#include "neap/solve/arena/arena.h"
#include "neap/solve/arena/check.h"
#include "neap/solve/arena/memories.h"
#include "testing/arena.h"
#include "testing/limits.h"

namespace neap::arena {
namespace {

// One part for the exact search; one that is too large for it; pairs that may share bytes.
std::vector<Problem> Problems() {
  Random random(41);
  std::vector<Problem> problems = {RandomFullLoad(random, 100, 1'000'003, 300'000),
                                   RandomFullLoad(random, 1500, 1'000'003, 300'000),
                                   RandomFullLoad(random, 40, 1'000'003, 300'000)};
  AddRandomPairs(random, problems.back(), 10, false);
  return problems;
}

TEST(ArenaLimits, ThePortfolioStopsAtTheDeadline) {
  constexpr std::int64_t kLooksBehind = 8;
  for (const Problem& problem : Problems()) {
    for (const std::int64_t looks : {1, 2, 3, 10, 100, 400}) {
      SCOPED_TRACE(std::to_string(problem.buffers.size()) + ", " + std::to_string(looks));
      const CountedClock clock;
      SolveOptions options;
      options.limits = CountedClock::DeadlineAfter(looks);
      const Outcome outcome = Solve(problem, options);
      EXPECT_EQ(FindViolation(problem, outcome.placement), std::nullopt);
      EXPECT_LE(outcome.lower_bound_bytes, outcome.placement.height_bytes);
      EXPECT_LE(CountedClock::looks(), looks + kLooksBehind);
    }
  }
}

TEST(ArenaLimits, ThePortfolioStopsAtTheEndOfTheWork) {
  constexpr std::int64_t kWorkBehind = 200'000'000;
  for (const Problem& problem : Problems()) {
    for (const std::int64_t work : {1, 1'000'000, 300'000'000}) {
      SCOPED_TRACE(std::to_string(problem.buffers.size()) + ", " + std::to_string(work));
      const WorkScope scope(work);
      const std::int64_t before = WorkDone();
      const Outcome outcome = Solve(problem, Limits{});
      EXPECT_EQ(FindViolation(problem, outcome.placement), std::nullopt);
      EXPECT_LE(WorkDone() - before, work + kWorkBehind);
    }
  }
}

TEST(ArenaLimits, MemoriesStopAtTheDeadline) {
  Random random(42);
  MemoryProblem problem;
  problem.problem = RandomFullLoad(random, 30, 10'000, 3'000);
  problem.capacities_bytes = {5'000, 1'000'000};
  for (std::size_t i = 0; i < problem.problem.buffers.size(); ++i) {
    const std::int64_t cost = random.Between(1, 100);
    problem.costs.insert(problem.costs.end(), {cost, 3 * cost});
  }
  constexpr std::int64_t kLooksBehind = 16;
  for (const std::int64_t looks : {1, 2, 10, 100, 400}) {
    SCOPED_TRACE(looks);
    const CountedClock clock;
    const Limits limits = CountedClock::DeadlineAfter(looks);
    const MemoryOutcome outcome = SolveMemories(problem, limits);
    EXPECT_LE(CountedClock::looks(), looks + kLooksBehind);
    if (!outcome.best) continue;
    EXPECT_EQ(FindViolation(problem, *outcome.best), std::nullopt);
    EXPECT_LE(outcome.lower_bound_cost, outcome.best->cost);
  }
}

}  // namespace
}  // namespace neap::arena
