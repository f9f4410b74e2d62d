// SPDX-License-Identifier: Apache-2.0
//
// Pair rules: their meaning, the checker, and placements against all offsets of all buffers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>

#include "neap/arena/arena.h"
#include "neap/arena/arena_testing.h"
#include "neap/arena/check.h"
#include "neap/arena/pair_table.h"
#include "neap/base/bytes.h"

namespace neap::arena {
namespace {

using ::testing::HasSubstr;
using ::testing::Optional;

Limits States(std::int64_t states) {
  Limits limits;
  limits.max_states = states;
  return limits;
}

// An input of 8 bytes, an output of 6, both live in one step.
Problem InputAndOutput() { return {{{8, 0, 2, 1, {}}, {6, 1, 3, 1, {}}}, {}}; }

std::optional<std::string> At(const Problem& problem, std::int64_t input, std::int64_t output) {
  return FindViolation(problem, {{input, output}, std::max(input + 8, output + 6)});
}

TEST(PairRules, ReplaceDisjointness) {
  Problem problem = InputAndOutput();
  EXPECT_EQ(At(problem, 0, 8), std::nullopt);
  EXPECT_THAT(At(problem, 0, 7), Optional(HasSubstr("shares bytes")));
  problem.pairs = {StartsBelow(problem, 0, 1, 2)};
  EXPECT_EQ(At(problem, 2, 0), std::nullopt);
  EXPECT_THAT(At(problem, 1, 0), Optional(HasSubstr("at most -2 or at least 8")));
  EXPECT_THAT(At(problem, 0, 7), Optional(HasSubstr("starts 7 bytes above")));
  EXPECT_EQ(At(problem, 0, 8), std::nullopt);
  problem.pairs = {StartsBelow(problem, 0, 1, 0)};
  EXPECT_EQ(At(problem, 3, 3), std::nullopt);
  EXPECT_EQ(At(problem, 3, 2), std::nullopt);
  EXPECT_TRUE(At(problem, 3, 4).has_value());
  problem.pairs = {Unrelated(0, 1)};
  EXPECT_EQ(At(problem, 3, 4), std::nullopt);
  problem.pairs.clear();
  AddExactlyAt(problem, 0, 1, 2);
  EXPECT_EQ(At(problem, 3, 5), std::nullopt);
  EXPECT_TRUE(At(problem, 3, 4).has_value());
  EXPECT_TRUE(At(problem, 3, 6).has_value());
  EXPECT_EQ(At(problem, 6, 0), std::nullopt);
  EXPECT_EQ(At(problem, 6, 14), std::nullopt);
}

TEST(PairRules, ReadTheSameFromBothSides) {
  Problem problem = InputAndOutput();
  problem.pairs = {{1, 0, -8, 2}};
  EXPECT_EQ(At(problem, 2, 0), std::nullopt);
  EXPECT_TRUE(At(problem, 1, 0).has_value());
  EXPECT_TRUE(At(problem, 0, 7).has_value());
  EXPECT_EQ(At(problem, 0, 8), std::nullopt);
}

TEST(PairRules, SayNothingAboutOthers) {
  // Not live together, without bytes.
  const Problem problem{{{8, 0, 2, 1, {}}, {6, 2, 3, 1, {}}, {0, 0, 3, 1, {}}},
                        {{0, 1, -50, 50}, {0, 2, -50, 50}}};
  EXPECT_EQ(Validate(problem), std::nullopt);
  EXPECT_EQ(FindViolation(problem, {{0, 0, 3}, 8}), std::nullopt);
  EXPECT_EQ(Solve(problem, States(100)).placement.height_bytes, 8);
}

TEST(PairRules, AreValidated) {
  const auto with = [](PairRule rule) {
    Problem problem = InputAndOutput();
    problem.pairs = {rule};
    return Validate(problem);
  };
  EXPECT_EQ(with({0, 1, -3, 8}), std::nullopt);
  EXPECT_THAT(with({0, 2, -3, 8}), Optional(HasSubstr("found buffer #2, expected less than 2")));
  EXPECT_THAT(with({-1, 1, -3, 8}), Optional(HasSubstr("found buffer #-1")));
  EXPECT_THAT(with({1, 1, -3, 8}), Optional(HasSubstr("buffer #1 twice")));
  EXPECT_THAT(with({0, 1, 3, 2}), Optional(HasSubstr("low end 3 above its high end 2")));
  EXPECT_THAT(with({0, 1, INT64_MIN, 2}), Optional(HasSubstr("reaches too far")));
  EXPECT_THAT(with({0, 1, 0, INT64_MAX}), Optional(HasSubstr("reaches too far")));
  EXPECT_THAT(with({0, 1, -kMostBytes, kMostBytes}), Optional(HasSubstr("too large")));
}

TEST(PairRules, OfFixedBuffersAreValidated) {
  Problem problem{{{8, 0, 2, 1, 4}, {6, 1, 3, 1, 2}}, {}};
  EXPECT_THAT(Validate(problem), Optional(HasSubstr("overlaps")));
  problem.pairs = {StartsBelow(problem, 0, 1, 2)};
  EXPECT_EQ(Validate(problem), std::nullopt);
  problem.pairs = {StartsBelow(problem, 0, 1, 3)};
  EXPECT_THAT(Validate(problem), Optional(HasSubstr("breaks the rule")));
  Random random(17);
  int bad = 0;
  for (int round = 0; round < 3000; ++round) {
    Problem fixed;
    Placement placement;
    for (int i = 0; i < 4; ++i) {
      Buffer buffer{random.Between(0, 5), static_cast<Step>(random.Between(0, 4)), 0, 1,
                    random.Between(0, 12)};
      buffer.last = buffer.first + static_cast<Step>(random.Between(0, 4));
      placement.offsets.push_back(*buffer.fixed_offset);
      placement.height_bytes =
          std::max(placement.height_bytes, *buffer.fixed_offset + buffer.bytes);
      fixed.buffers.push_back(buffer);
    }
    for (int i = 0; i < 3; ++i) {
      const std::int64_t low = random.Between(-6, 6);
      fixed.pairs.push_back({static_cast<BufferIndex>(random.Below(2)),
                             static_cast<BufferIndex>(2 + random.Below(2)), low,
                             low + random.Between(0, 6)});
    }
    const bool wrong = FindViolation(fixed, placement).has_value();
    bad += wrong ? 1 : 0;
    ASSERT_EQ(Validate(fixed).has_value(), wrong) << round;
  }
  EXPECT_GT(bad, 300);
  EXPECT_LT(bad, 2700);
}

TEST(PairTable, MergesIntervalsThatTouch) {
  Problem problem = InputAndOutput();
  problem.pairs = {{0, 1, 4, 8}, {1, 0, -5, 3}, {0, 1, 1, 1}, {0, 1, 9, 9}};
  const PairTable table(problem);
  ASSERT_EQ(table.Of(1).size(), 1U);  // offset(1) - offset(0): (-3, 5) and (4, 8)
  EXPECT_EQ(table.Of(1)[0].low, -3);
  EXPECT_EQ(table.Of(1)[0].high, 8);
  EXPECT_EQ(table.Of(0)[0].low, -8);
  problem.pairs = {{0, 1, 5, 8}, {0, 1, -3, 5}};
  EXPECT_EQ(PairTable(problem).Of(0).size(), 2U);
}

TEST(LoadLowerBound, TakesOffWhatMayBeShared) {
  Problem problem = InputAndOutput();
  EXPECT_EQ(LoadLowerBound(problem), 14);
  problem.pairs = {StartsBelow(problem, 0, 1, 0)};
  EXPECT_EQ(LoadLowerBound(problem), 8);
  problem.pairs = {StartsBelow(problem, 0, 1, 2)};
  EXPECT_EQ(LoadLowerBound(problem), 10);
  problem.pairs = {StartsBelow(problem, 0, 1, 6)};
  EXPECT_EQ(LoadLowerBound(problem), 14);
  // An output that may be on either of two inputs is not on both.
  problem = {{{8, 0, 2, 1, {}}, {8, 0, 2, 1, {}}, {8, 1, 3, 1, {}}}, {}};
  problem.pairs = {StartsBelow(problem, 0, 2, 0), StartsBelow(problem, 1, 2, 0)};
  EXPECT_EQ(LoadLowerBound(problem), 16);
  EXPECT_EQ(Solve(problem, States(100)).placement.height_bytes, 16);
}

struct Tally {
  int optimal = 0;
  int above_load = 0;
};

Tally CompareWithAllOffsets(std::uint64_t seed, int rounds, const RandomShape& shape,
                            int pair_percent, bool wild) {
  Random random(seed);
  Tally tally;
  for (int round = 0; round < rounds; ++round) {
    Problem problem = RandomProblem(random, shape);
    AddRandomPairs(random, problem, pair_percent, wild);
    const Outcome outcome = Solve(problem, States(20'000));
    EXPECT_EQ(FindViolation(problem, outcome.placement), std::nullopt) << "round " << round;
    if (outcome.placement.height_bytes >= 64) continue;
    const std::int64_t optimum = OffsetPuzzle(problem).Least(outcome.placement.height_bytes);
    EXPECT_LE(LoadLowerBound(problem), optimum) << "round " << round;
    EXPECT_LE(outcome.lower_bound_bytes, optimum) << "round " << round;
    tally.optimal += outcome.optimal() && outcome.placement.height_bytes == optimum ? 1 : 0;
    tally.above_load += optimum > LoadLowerBound(problem) ? 1 : 0;
    if (::testing::Test::HasFailure()) break;
  }
  return tally;
}

TEST(SolveWithPairs, IsRightAboutOverlap) {
  CompareWithAllOffsets(31, 2000, {.buffers = 6, .steps = 6}, 30, false);
}

TEST(SolveWithPairs, IsRightAboutIntervalsAnywhere) {
  CompareWithAllOffsets(32, 2000, {.buffers = 5, .steps = 5, .most_bytes = 6}, 40, true);
}

}  // namespace
}  // namespace neap::arena
