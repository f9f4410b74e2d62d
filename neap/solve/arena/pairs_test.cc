// SPDX-License-Identifier: Apache-2.0
//
// Pair rules: their meaning, the checker, and placements against all offsets of all buffers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "neap/base/bytes.h"
#include "neap/solve/arena/arena.h"
#include "neap/solve/arena/check.h"
#include "neap/solve/arena/clause_search.h"
#include "neap/solve/arena/pair_table.h"
#include "neap/solve/arena/sections.h"
#include "testing/arena.h"
#include "testing/cases.h"

namespace neap::arena {
namespace {

using ::testing::HasSubstr;
using ::testing::Optional;

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
  EXPECT_THAT(with({0, 1, -kMaxBytes, kMaxBytes}), Optional(HasSubstr("too large")));
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
  for (int round = 0; round < Cases(3000); ++round) {
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
  EXPECT_GT(bad, Cases(3000) / 10);
  EXPECT_LT(bad, Cases(3000) * 9 / 10);
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

struct PairTally {
  int optimal = 0;
  int above_load = 0;
};

PairTally CompareWithAllOffsets(std::uint64_t seed, int rounds, const RandomShape& shape,
                                int pair_percent, bool wild) {
  Random random(seed);
  PairTally tally;
  for (int round = 0; round < rounds; ++round) {
    Problem problem = RandomProblem(random, shape);
    AddRandomPairs(random, problem, pair_percent, wild);
    const Outcome outcome = Solve(problem, States(40'000));
    EXPECT_EQ(FindViolation(problem, outcome.placement), std::nullopt) << "round " << round;
    if (outcome.placement.height_bytes >= 64) {
      ++tally.optimal;
      continue;
    }
    const std::int64_t optimum = OffsetPuzzle(problem).Least(outcome.placement.height_bytes);
    EXPECT_LE(LoadLowerBound(problem), optimum) << "round " << round;
    EXPECT_LE(outcome.lower_bound_bytes, optimum) << "round " << round;
    tally.optimal += outcome.optimal() && outcome.placement.height_bytes == optimum ? 1 : 0;
    EXPECT_TRUE(outcome.optimal()) << "round " << round << ": " << outcome.placement.height_bytes
                                   << " " << outcome.lower_bound_bytes << " " << optimum;
    tally.above_load += optimum > LoadLowerBound(problem) ? 1 : 0;
    if (::testing::Test::HasFailure()) break;
  }
  return tally;
}

TEST(SolveWithPairs, EqualsAllOffsets) {
  const int rounds = Cases(3000);
  const PairTally tally = CompareWithAllOffsets(31, rounds, {.buffers = 7, .steps = 6}, 25, false);
  EXPECT_EQ(tally.optimal, rounds);
  EXPECT_GT(tally.above_load, rounds / 20);
}

TEST(SolveWithPairs, EqualsAllOffsetsWithAlignments) {
  const int rounds = Cases(2000);
  const PairTally tally = CompareWithAllOffsets(
      32, rounds, {.buffers = 6, .max_bytes = 12, .alignments = {1, 4, 8}}, 30, false);
  EXPECT_EQ(tally.optimal, rounds);
  EXPECT_GT(tally.above_load, rounds / 20);
}

TEST(SolveWithPairs, EqualsAllOffsetsWithFixedOffsets) {
  const int rounds = Cases(3000);
  const PairTally tally = CompareWithAllOffsets(
      33, rounds,
      {.buffers = 7, .steps = 6, .max_bytes = 9, .alignments = {1, 2}, .fixed_percent = 25}, 25,
      false);
  EXPECT_EQ(tally.optimal, rounds);
  EXPECT_GT(tally.above_load, rounds / 20);
}

TEST(SolveWithPairs, EqualsAllOffsetsWithIntervalsAnywhere) {
  const int rounds = Cases(2000);
  const PairTally tally =
      CompareWithAllOffsets(34, rounds, {.buffers = 6, .steps = 5, .max_bytes = 6}, 30, true);
  EXPECT_EQ(tally.optimal, rounds);
  EXPECT_GT(tally.above_load, rounds / 20);
}

TEST(SolveWithPairs, EqualsAllOffsetsWithEverything) {
  const int rounds = Cases(2000);
  const PairTally tally = CompareWithAllOffsets(
      35, rounds,
      {.buffers = 5, .steps = 4, .max_bytes = 8, .alignments = {1, 2, 3}, .fixed_percent = 20}, 40,
      true);
  EXPECT_EQ(tally.optimal, rounds);
}

Verdict DecideBySections(const Problem& problem, std::int64_t capacity, std::uint64_t seed) {
  Random random(seed);
  const Limits limits;
  Budget budget(limits);
  const PairTable table(problem);
  bool undecided = false;
  for (const auto& part : SplitByTime(problem)) {
    const auto sections = Sections::Build(problem, table, part);
    if (!sections) return Verdict::kUndecided;
    Rules rules;
    rules.length_exponent = static_cast<std::int32_t>(random.Between(0, 1300));
    rules.size_exponent = static_cast<std::int32_t>(random.Between(0, 1300));
    rules.noise = static_cast<std::int32_t>(random.Between(0, 2000));
    rules.raises = seed % 2 == 0 ? 128 : 0;
    rules.learn = seed % 4 < 2;
    rules.lowest_level = random.Chance(1, 2);
    DecisionSearch search(*sections);
    const Verdict verdict = search.Run(capacity, rules, random, 1500, budget);
    if (verdict == Verdict::kImpossible) return verdict;
    undecided = undecided || verdict == Verdict::kUndecided;
  }
  return undecided ? Verdict::kUndecided : Verdict::kPlaced;
}

Verdict DecideByClauses(const Problem& problem, std::int64_t capacity, std::int64_t nodes) {
  Random random(6);
  const Limits limits;
  Budget budget(limits);
  const PairTable table(problem);
  bool undecided = false;
  for (const auto& part : SplitByTime(problem)) {
    ClauseSearch search(problem, table, part);
    const Verdict verdict = search.Run(capacity, random, nodes, budget);
    if (verdict == Verdict::kImpossible) return verdict;
    undecided = undecided || verdict == Verdict::kUndecided;
  }
  return undecided ? Verdict::kUndecided : Verdict::kPlaced;
}

struct Agreement {
  int possible = 0;
  int impossible = 0;
};

// Several independent configurations at one capacity; none may contradict another.
void Compare(const Problem& problem, std::int64_t capacity, int round, Agreement& agreement) {
  std::vector<Verdict> verdicts = {DecideByClauses(problem, capacity, 5000)};
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    verdicts.push_back(DecideBySections(problem, capacity, seed + 100));
  }
  const auto count = [&](Verdict verdict) {
    return std::count(verdicts.begin(), verdicts.end(), verdict);
  };
  const auto placed = count(Verdict::kPlaced);
  const auto impossible = count(Verdict::kImpossible);
  ASSERT_TRUE(placed == 0 || impossible == 0)
      << "round " << round << " capacity " << capacity << ": " << placed << " " << impossible;
  agreement.possible += placed >= 2 ? 1 : 0;
  agreement.impossible += impossible >= 2 ? 1 : 0;
}

// Full load is where a bound that is too high shows: placing at the load is a puzzle, and some have
// no solution.
TEST(IndependentSearches, AgreeOnFullLoad) {
  Random random(41);
  Agreement agreement;
  const int rounds = ManyCases(2500);
  for (int round = 0; round < rounds && !HasFatalFailure(); ++round) {
    const auto steps = static_cast<int>(random.Between(4, 12));
    const std::int64_t load = random.Between(8, 24);
    const Problem problem = RandomFullLoad(random, steps, load, random.Between(4, load));
    if (problem.buffers.size() < 6 || problem.buffers.size() > 40) continue;
    Compare(problem, load, round, agreement);
  }
  EXPECT_GT(agreement.possible, rounds / 4);
  EXPECT_GT(agreement.impossible, rounds / 400);
}

TEST(IndependentSearches, AgreeOnFullLoadWithOverlaps) {
  Random random(42);
  Agreement agreement;
  const int rounds = Cases(1000);
  for (int round = 0; round < rounds && !HasFatalFailure(); ++round) {
    const auto steps = static_cast<int>(random.Between(3, 9));
    const std::int64_t load = random.Between(8, 24);
    Problem problem = RandomFullLoad(random, steps, load, random.Between(4, load));
    // Inputs live one step longer, into the step of their outputs.
    for (Buffer& buffer : problem.buffers) buffer.last += random.Chance(1, 2) ? 1 : 0;
    AddOverlaps(random, problem, 70);
    if (problem.buffers.size() < 6 || problem.buffers.size() > 40) continue;
    const std::int64_t bound = LoadLowerBound(problem);
    for (const std::int64_t more : {0, 1, 2}) Compare(problem, bound + more, round, agreement);
  }
  EXPECT_GT(agreement.possible, rounds / 4);
  EXPECT_GT(agreement.impossible, rounds / 40);
}

// Larger problems of all kinds: the placement is right, the bound is one.
TEST(SolveWithPairs, PassesTheCheckerOnLargerProblems) {
  Random random(43);
  const int rounds = Cases(1000);
  int optimal = 0;
  for (int round = 0; round < rounds; ++round) {
    RandomShape shape{.buffers = static_cast<int>(random.Between(10, 80)), .steps = 25};
    shape.max_bytes = random.Chance(1, 2) ? 40 : 100'000;
    if (round % 3 == 0) shape.alignments = {1, 16, 64};
    if (round % 5 == 0) shape.fixed_percent = 10;
    Problem problem = RandomProblem(random, shape);
    if (round % 2 == 0) AddOverlaps(random, problem, 60);
    if (round % 7 == 0) AddRandomPairs(random, problem, 3, round % 14 == 0);
    const Outcome outcome = Solve(problem, States(300));
    ASSERT_EQ(FindViolation(problem, outcome.placement), std::nullopt) << round;
    ASSERT_LE(outcome.lower_bound_bytes, outcome.placement.height_bytes) << round;
    ASSERT_GE(outcome.lower_bound_bytes, LoadLowerBound(problem)) << round;
    optimal += outcome.optimal() ? 1 : 0;
  }
  EXPECT_GT(optimal, rounds / 3);
}

}  // namespace
}  // namespace neap::arena
