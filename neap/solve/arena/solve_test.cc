// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>

#include "neap/base/check.h"
#include "neap/solve/arena/arena.h"
#include "neap/solve/arena/check.h"
#include "testing/arena.h"
#include "testing/cases.h"
#include "testing/limits.h"

namespace neap::arena {
namespace {

// Invariants of every outcome.
void ExpectSound(const Problem& problem, const Outcome& outcome) {
  ASSERT_EQ(FindViolation(problem, outcome.placement), std::nullopt);
  EXPECT_LE(outcome.placement.height_bytes, PlaceLikeTflm(problem).height_bytes);
  EXPECT_LE(outcome.lower_bound_bytes, outcome.placement.height_bytes);
  EXPECT_GE(outcome.lower_bound_bytes, LoadLowerBound(problem));
}

struct Tally {
  int rounds = 0;
  int optimal = 0;
  int above_load = 0;  // the optimum is higher than the load: a capacity has to be refuted
};

Tally CompareWithBruteForce(std::uint64_t seed, int ordinary_rounds, const RandomShape& shape) {
  Random random(seed);
  Tally tally;
  tally.rounds = Cases(ordinary_rounds);
  for (int round = 0; round < tally.rounds; ++round) {
    const Problem problem = RandomProblem(random, shape);
    const std::int64_t optimum = BruteForceHeight(problem);
    const Outcome outcome = Solve(problem, States(20'000));
    ExpectSound(problem, outcome);
    EXPECT_GE(outcome.placement.height_bytes, optimum) << "round " << round;
    EXPECT_LE(outcome.lower_bound_bytes, optimum) << "round " << round;
    EXPECT_LE(LoadLowerBound(problem), optimum) << "round " << round;
    if (outcome.optimal()) {
      ++tally.optimal;
      EXPECT_EQ(outcome.placement.height_bytes, optimum) << "round " << round;
    }
    tally.above_load += optimum > LoadLowerBound(problem) ? 1 : 0;
    if (::testing::Test::HasFailure()) break;
  }
  return tally;
}

TEST(Solve, EqualsBruteForce) {
  const Tally tally = CompareWithBruteForce(1, 3000, {.buffers = 6, .steps = 7});
  EXPECT_EQ(tally.optimal, tally.rounds);
}

TEST(Solve, EqualsBruteForceWithOneAlignment) {
  const Tally tally =
      CompareWithBruteForce(2, 2000, {.buffers = 6, .max_bytes = 40, .alignments = {16}});
  EXPECT_EQ(tally.optimal, tally.rounds);
}

TEST(Solve, EqualsBruteForceWithMixedAlignments) {
  const Tally tally =
      CompareWithBruteForce(3, 2000, {.buffers = 6, .max_bytes = 20, .alignments = {1, 4, 16}});
  EXPECT_EQ(tally.optimal, tally.rounds);
  EXPECT_GT(tally.above_load, tally.rounds / 40);
}

TEST(Solve, EqualsBruteForceWithOddAlignments) {
  const Tally tally =
      CompareWithBruteForce(4, 2000, {.buffers = 6, .max_bytes = 12, .alignments = {2, 3, 6, 4}});
  EXPECT_EQ(tally.optimal, tally.rounds);
  EXPECT_GT(tally.above_load, tally.rounds / 40);
}

TEST(Solve, EqualsBruteForceWithFixedOffsets) {
  const Tally tally =
      CompareWithBruteForce(5, 3000, {.buffers = 7, .max_bytes = 9, .fixed_percent = 30});
  EXPECT_EQ(tally.optimal, tally.rounds);
  EXPECT_GT(tally.above_load, tally.rounds / 10);
}

TEST(Solve, EqualsBruteForceWithFixedOffsetsAndAlignments) {
  const Tally tally = CompareWithBruteForce(
      6, 2000, {.buffers = 6, .max_bytes = 30, .alignments = {1, 4, 8}, .fixed_percent = 30});
  EXPECT_EQ(tally.optimal, tally.rounds);
  EXPECT_GT(tally.above_load, tally.rounds / 10);
}

TEST(Solve, EqualsBruteForceWithManyTwins) {
  const Tally tally = CompareWithBruteForce(
      7, 2000, {.buffers = 7, .steps = 3, .max_bytes = 2, .fixed_percent = 15});
  EXPECT_EQ(tally.optimal, tally.rounds);
}

TEST(Solve, IsTheSameEveryTime) {
  Random random(9);
  const Problem problem = RandomProblem(random, {.buffers = 120, .steps = 60, .max_bytes = 5000});
  const Outcome a = Solve(problem, States(30'000));
  const Outcome b = Solve(problem, States(30'000));
  EXPECT_EQ(a.placement.offsets, b.placement.offsets);
  EXPECT_EQ(a.states, b.states);
}

TEST(Solve, TakesEmptyProblems) {
  const Outcome outcome = Solve({}, States(10));
  EXPECT_EQ(outcome.placement.height_bytes, 0);
  EXPECT_TRUE(outcome.optimal());
  EXPECT_TRUE(Solve({{{0, 0, 4, 1, {}}, {7, 2, 2, 1, {}}}}, States(10)).optimal());
}

TEST(Solve, RefusesInvalidProblems) {
  EXPECT_THROW(Solve({{{-1, 0, 1, 1, {}}}}, States(10)), InternalError);
}

TEST(Solve, HonoursStopAndStates) {
  Random random(10);
  const Problem problem = RandomFullLoad(random, 60, 1'000'003, 400'000);
  const std::atomic<bool> stop = true;
  Limits limits;
  limits.stop = &stop;
  const Outcome stopped = Solve(problem, limits);
  ExpectSound(problem, stopped);
  EXPECT_LT(stopped.states, 2000);
  const Outcome limited = Solve(problem, States(5000));
  ExpectSound(problem, limited);
  EXPECT_LE(limited.states, 5000 + static_cast<std::int64_t>(problem.buffers.size()));
}

TEST(Solve, HonoursTheClock) {
  Random random(12);
  const Problem problem = RandomFullLoad(random, 400, 1'000'003, 300'000);
  const CountedClock clock;
  Limits limits;
  limits.max_seconds = 2;  // 2,000 looks
  int reports = 0;
  limits.observer = [&](const Progress&) { ++reports; };
  ExpectSound(problem, Solve(problem, limits));
  EXPECT_LE(CountedClock::looks(), 2010);
  EXPECT_GT(reports, 2);
}

// Where first-fit by size leaves a hole, the search does not.
TEST(Solve, ReachesTheLoadOnNetworks) {
  Random random(13);
  int first_fit = 0;
  for (int round = 0; round < 60; ++round) {
    Problem problem;
    for (Step op = 0; op < 100; ++op) {
      const std::int64_t bytes = 16 * random.Between(1, 1 << random.Between(0, 12));
      const auto users = static_cast<Step>(random.Chance(1, 4) ? random.Between(2, 12) : 1);
      problem.buffers.push_back({bytes, op, op + 1 + users, 16, {}});
    }
    const Outcome outcome = Solve(problem, States(200'000));
    ExpectSound(problem, outcome);
    EXPECT_TRUE(outcome.optimal()) << round;
    first_fit += PlaceLikeTflm(problem).height_bytes == outcome.lower_bound_bytes ? 1 : 0;
  }
  EXPECT_LT(first_fit, 60);
}

TEST(Solve, ReachesTheLoadOfLongChainsWithLittleWork) {
  Random random(14);
  Problem problem;
  for (Step op = 0; op <= 20'000; ++op) {
    problem.buffers.push_back({16 * random.Between(1, 4000), op, op + 2, 16, {}});
  }
  const std::int64_t before = WorkDone();
  const Outcome outcome = Solve(problem, States(200'000));
  EXPECT_EQ(outcome.placement.height_bytes, LoadLowerBound(problem));
  EXPECT_LT(WorkDone() - before, 2'000'000'000);
}

// No pass over all pairs, in the solver or the checker.
TEST(Solve, TakesHugeProblems) {
  Random random(15);
  Problem problem;
  for (int i = 0; i < 200'000; ++i) {
    const auto first = static_cast<Step>(random.Between(0, 1000));
    problem.buffers.push_back({random.Between(1, 1000),
                               first,
                               first + static_cast<Step>(random.Between(1, 1000)),
                               16,
                               {}});
  }
  problem.buffers[7].fixed_offset = 4096;
  const Outcome outcome = Solve(problem, States(100));
  EXPECT_EQ(FindViolation(problem, outcome.placement), std::nullopt);
  EXPECT_LT(outcome.placement.height_bytes, 2 * outcome.lower_bound_bytes);
  std::vector<std::int64_t> offsets = outcome.placement.offsets;
  offsets[100'000] = offsets[100'001];
  problem.buffers[100'000] = problem.buffers[100'001];
  EXPECT_TRUE(FindCollisionBySweep(problem, offsets).has_value());
}

}  // namespace
}  // namespace neap::arena
