// SPDX-License-Identifier: Apache-2.0
#include "neap/solve/arena/memories.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>

#include "neap/base/check.h"
#include "testing/arena.h"
#include "testing/cases.h"

namespace neap::arena {
namespace {

using ::testing::HasSubstr;
using ::testing::Optional;

constexpr std::int64_t kNot = MemoryProblem::kNotAllowed;

// Three buffers of 8 live at once, 16 bytes of fast memory and enough slow memory.
MemoryProblem Three() {
  return {
      {{{8, 0, 2, 1, {}}, {8, 0, 2, 1, {}}, {8, 1, 2, 1, {}}}, {}}, {16, 100}, {1, 10, 1, 4, 1, 7}};
}

TEST(Memories, MovesTheCheapestBytes) {
  const MemoryOutcome outcome = SolveMemories(Three(), States(1000));
  ASSERT_TRUE(outcome.optimal());
  EXPECT_EQ(outcome.best->cost, 6);
  EXPECT_EQ(outcome.best->memories, (std::vector<MemoryIndex>{0, 1, 0}));
  EXPECT_EQ(FindViolation(Three(), *outcome.best), std::nullopt);
}

TEST(Memories, SaysWhatIsImpossible) {
  MemoryProblem problem = Three();
  problem.capacities_bytes = {16, 4};
  EXPECT_TRUE(SolveMemories(problem, States(1000)).impossible);
  problem.capacities_bytes = {16, 8};
  EXPECT_FALSE(SolveMemories(problem, States(1000)).impossible);
  problem.costs[2] = kNot;
  problem.costs[4] = kNot;
  EXPECT_TRUE(SolveMemories(problem, States(1000)).impossible);
  EXPECT_TRUE(SolveMemories({{}, {0}, {}}, States(10)).optimal());
}

TEST(Memories, ValidatesProblems) {
  EXPECT_EQ(Validate(Three()), std::nullopt);
  const auto with = [](auto change) {
    MemoryProblem problem = Three();
    change(problem);
    return Validate(problem);
  };
  EXPECT_THAT(with([](auto& p) { p.capacities_bytes.clear(); }), Optional(HasSubstr("no memory")));
  EXPECT_THAT(with([](auto& p) { p.capacities_bytes[1] = -1; }),
              Optional(HasSubstr("memory #1: found capacity -1")));
  EXPECT_THAT(with([](auto& p) { p.costs.pop_back(); }),
              Optional(HasSubstr("found 5 costs, expected 6")));
  EXPECT_THAT(with([](auto& p) { p.costs[3] = -2; }), Optional(HasSubstr("buffer #1: found cost")));
  EXPECT_THAT(with([](auto& p) { p.costs = {INT64_MAX, 1, 0, 0, 0, 0}; }),
              Optional(HasSubstr("found cost 1")));
  EXPECT_THAT(with([](auto& p) { p.problem.buffers[0].bytes = -1; }),
              Optional(HasSubstr("buffer #0")));
  EXPECT_THROW(SolveMemories({{}, {}, {}}, States(1)), InternalError);
}

TEST(Memories, ChecksPlacements) {
  const MemoryProblem problem = Three();
  const MemoryPlacement right{{0, 1, 0}, {0, 0, 8}, {16, 8}, 6};
  EXPECT_EQ(FindViolation(problem, right), std::nullopt);
  const auto with = [&](auto change) {
    MemoryPlacement placement = right;
    change(placement);
    return FindViolation(problem, placement);
  };
  EXPECT_THAT(with([](auto& p) { p.memories[0] = 2; }), Optional(HasSubstr("found memory #2")));
  EXPECT_THAT(with([](auto& p) { p.cost = 5; }), Optional(HasSubstr("expected 6")));
  EXPECT_THAT(with([](auto& p) { p.offsets[2] = 7; }), Optional(HasSubstr("memory #0: ")));
  EXPECT_THAT(with([](auto& p) { p.offsets[2] = 9, p.heights_bytes[0] = 17; }),
              Optional(HasSubstr("above its capacity 16")));
  EXPECT_THAT(with([](auto& p) { p.heights_bytes[1] = 9; }), Optional(HasSubstr("expected 8")));
  EXPECT_THAT(with([](auto& p) { p.offsets.pop_back(); }), Optional(HasSubstr("another size")));
}

// The minimum cost over all assignments, each memory tried with all offsets; nullopt: none fits.
std::optional<std::int64_t> LeastCost(const MemoryProblem& problem) {
  const std::size_t num_buffers = problem.problem.buffers.size();
  const std::size_t num_memories = problem.capacities_bytes.size();
  std::vector<std::size_t> memories(num_buffers, 0);
  std::optional<std::int64_t> best;
  while (true) {
    std::int64_t cost = 0;
    bool allowed = true;
    for (std::size_t i = 0; i < num_buffers; ++i) {
      const std::int64_t here = problem.CostOf(i, memories[i]);
      allowed = allowed && here != kNot;
      cost += here;
    }
    for (std::size_t m = 0; m < num_memories && allowed && (!best || cost < *best); ++m) {
      Problem here = problem.problem;
      for (std::size_t i = 0; i < num_buffers; ++i) {
        if (memories[i] != m) here.buffers[i] = {};
      }
      allowed = OffsetPuzzle(here).Fits(problem.capacities_bytes[m]);
    }
    if (allowed && (!best || cost < *best)) best = cost;
    std::size_t next = 0;
    while (next < num_buffers && ++memories[next] == num_memories) memories[next++] = 0;
    if (next == num_buffers) return best;
  }
}

TEST(Memories, EqualAllAssignments) {
  Random random(51);
  const int rounds = Cases(1500);
  int impossible = 0;
  int above_relaxed = 0;
  for (int round = 0; round < rounds; ++round) {
    RandomShape shape{.buffers = 5, .steps = 4, .max_bytes = 7};
    if (round % 3 == 0) shape.alignments = {1, 2, 4};
    if (round % 4 == 0) shape.fixed_percent = 15;
    MemoryProblem problem{RandomProblem(random, shape), {}, {}};
    if (round % 2 == 0) AddRandomPairs(random, problem.problem, 20, round % 4 == 0);
    const std::size_t num_memories = 2 + random.Below(2);
    std::int64_t least = 0;
    for (std::size_t m = 0; m < num_memories; ++m) {
      problem.capacities_bytes.push_back(random.Between(2, 14));
    }
    for (std::size_t i = 0; i < problem.problem.buffers.size(); ++i) {
      std::int64_t cheapest = 20;
      for (std::size_t m = 0; m < num_memories; ++m) {
        const std::int64_t cost = random.Chance(1, 12) ? kNot : random.Between(0, 19);
        problem.costs.push_back(cost);
        if (cost != kNot) cheapest = std::min(cheapest, cost);
      }
      least += cheapest;
    }
    const auto expected = LeastCost(problem);
    const MemoryOutcome outcome = SolveMemories(problem, States(200'000));
    ASSERT_EQ(outcome.impossible, !expected.has_value()) << round;
    impossible += outcome.impossible ? 1 : 0;
    if (!expected) continue;
    ASSERT_TRUE(outcome.best.has_value()) << round;
    ASSERT_EQ(FindViolation(problem, *outcome.best), std::nullopt) << round;
    ASSERT_EQ(outcome.best->cost, *expected) << round;
    ASSERT_EQ(outcome.lower_bound_cost, *expected) << round;
    above_relaxed += *expected > least ? 1 : 0;
    const MemoryOutcome early = SolveMemories(problem, States(1 + round % 9));
    ASSERT_LE(early.lower_bound_cost, *expected) << round;
    ASSERT_FALSE(early.impossible) << round;
    if (early.best) {
      ASSERT_EQ(FindViolation(problem, *early.best), std::nullopt) << round;
    }
  }
  EXPECT_GT(impossible, rounds / 50);
  EXPECT_GT(above_relaxed, rounds / 5);
}

// A network of a hundred operators in a fast and a slow memory.
TEST(Memories, BoundIsNearOnNetworks) {
  Random random(52);
  for (int round = 0; round < 10; ++round) {
    MemoryProblem problem;
    std::int64_t all_fast = 0;
    for (Step op = 0; op < 100; ++op) {
      const std::int64_t bytes = 16 * random.Between(1, 1 << random.Between(2, 10));
      const auto reach = static_cast<Step>(random.Chance(1, 4) ? random.Between(2, 10) : 1);
      problem.problem.buffers.push_back({bytes, op, op + 1 + reach, 16, {}});
      problem.costs.push_back(bytes / 8);
      all_fast += bytes / 8;
      problem.costs.push_back(bytes);
    }
    problem.capacities_bytes = {10'240, 1 << 20};
    const MemoryOutcome outcome = SolveMemories(problem, States(20'000));
    ASSERT_TRUE(outcome.best.has_value());
    ASSERT_EQ(FindViolation(problem, *outcome.best), std::nullopt);
    EXPECT_LE(outcome.lower_bound_cost, outcome.best->cost);
    EXPECT_LE(outcome.best->cost, outcome.lower_bound_cost * 11 / 10) << round;
    EXPECT_GT(outcome.best->cost, all_fast) << round;  // not all of it fits into the fast one
  }
}

}  // namespace
}  // namespace neap::arena
