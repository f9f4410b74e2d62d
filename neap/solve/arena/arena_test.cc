// SPDX-License-Identifier: Apache-2.0
//
// The exact search by itself: its refutations, where the load bound alone is too low.
#include <gtest/gtest.h>

#include <cstddef>
#include <optional>

#include "neap/solve/arena/arena.h"
#include "neap/solve/arena/check.h"
#include "neap/solve/arena/decision_search.h"
#include "neap/solve/arena/sections.h"
#include "testing/arena.h"
#include "testing/cases.h"

namespace neap::arena {
namespace {

TEST(Sections, KeepsMaximalSetsOnly) {
  // Steps 0 {a}, 1 {a,b}, 2 {b}, 3 {b,c}, 4 {c}; two sections.
  const Problem problem{{{4, 0, 2, 1, {}}, {6, 1, 4, 1, {}}, {8, 3, 5, 1, {}}}};
  const auto parts = SplitByTime(problem);
  ASSERT_EQ(parts.size(), 1U);
  const auto sections = Sections::Build(problem, PairTable(problem), parts[0]);
  ASSERT_TRUE(sections.has_value());
  EXPECT_EQ(sections->count, 2);
  EXPECT_EQ(sections->unit, 2);
  EXPECT_EQ(sections->items[1].first, 0);
  EXPECT_EQ(sections->items[1].last, 2);
  EXPECT_EQ(sections->items[2].first, 1);
}

TEST(Sections, SplitsWhereNothingIsLive) {
  const Problem problem{
      {{4, 4, 6, 1, {}}, {6, 0, 2, 1, {}}, {8, 2, 3, 1, {}}, {1, 5, 5, 1, {}}, {0, 0, 9, 1, {}}}};
  EXPECT_EQ(SplitByTime(problem), (std::vector<std::vector<BufferIndex>>{{1}, {2}, {0}}));
}

TEST(Sections, UnitDividesOnlyAlignmentsThatMatter) {
  const auto unit = [](std::vector<Buffer> buffers) {
    const Problem problem{std::move(buffers)};
    return Sections::Build(problem, PairTable(problem), SplitByTime(problem)[0])->unit;
  };
  EXPECT_EQ(unit({{1024, 0, 2, 16, {}}, {2048, 0, 2, 16, {}}}), 1024);
  EXPECT_EQ(unit({{1000, 0, 2, 16, {}}, {2048, 0, 2, 16, {}}}), 16);
  EXPECT_EQ(unit({{12, 0, 2, 1, {}}, {18, 0, 2, 4, {}}}), 2);
  EXPECT_EQ(unit({{12, 0, 2, 1, {}}, {12, 0, 2, 24, {}}}), 12);
  EXPECT_EQ(unit({{12, 0, 2, 1, {}}, {12, 0, 2, 1, 30}}), 6);
}

Rules RulesOf(Random& random) {
  Rules rules;
  rules.length_exponent = static_cast<std::int32_t>(random.Between(0, 1300));
  rules.size_exponent = static_cast<std::int32_t>(random.Between(0, 1300));
  rules.noise = static_cast<std::int32_t>(random.Between(0, 2000));
  rules.noise_per_node = random.Chance(1, 2);
  rules.raises = random.Chance(1, 2) ? 0 : static_cast<std::int32_t>(random.Between(1, 128));
  rules.learn = random.Chance(1, 2);
  rules.lowest_level = random.Chance(1, 3);
  return rules;
}

Verdict Decide(const Problem& problem, std::int64_t capacity, std::uint64_t seed) {
  Random random(seed);
  const Limits limits;
  Budget budget(limits);
  const auto parts = SplitByTime(problem);
  bool undecided = false;
  for (const auto& part : parts) {
    const auto sections = Sections::Build(problem, PairTable(problem), part);
    DecisionSearch search(*sections);
    const Verdict verdict = search.Run(capacity, RulesOf(random), random, 20'000, budget);
    if (verdict == Verdict::kImpossible) return verdict;
    undecided = undecided || verdict == Verdict::kUndecided;
  }
  return undecided ? Verdict::kUndecided : Verdict::kPlaced;
}

// One run of every kind of rule is exact by itself: the verdict at the optimum and just below it.
TEST(DecisionSearch, IsExactUnderEveryRule) {
  Random random(21);
  int refuted_above_load = 0;
  const int cases = Cases(2000);
  for (int round = 0; round < cases; ++round) {
    RandomShape shape{.buffers = 7, .steps = 8, .max_bytes = 7};
    shape.fixed_percent = round % 2 == 0 ? 0 : 30;
    if (round % 3 == 0) shape.alignments = {1, 2, 4};
    const Problem problem = RandomProblem(random, shape);
    const std::int64_t optimum = BruteForceHeight(problem);
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      // A buffer that is never live is no business of the search, only of the height.
      ASSERT_EQ(Decide(problem, optimum, seed), Verdict::kPlaced) << round << " " << seed;
      if (Decide(problem, optimum - 1, seed) != Verdict::kImpossible) {
        std::int64_t live_height = 0;
        Problem live = problem;
        std::erase_if(live.buffers,
                      [](const Buffer& b) { return b.bytes == 0 || b.first == b.last; });
        live_height = BruteForceHeight(live);
        ASSERT_LT(live_height, optimum) << round << " " << seed;
      } else if (LoadLowerBound(problem) < optimum) {
        ++refuted_above_load;
      }
    }
  }
  EXPECT_GT(refuted_above_load, cases / 4);
}

// One level of recursion per item: the largest part that the search is given, all live at once.
TEST(DecisionSearch, DescendsThroughThousandsOfBuffers) {
  Problem problem;
  std::int64_t load = 0;
  for (std::int64_t i = 0; i < 2800; ++i) {
    problem.buffers.push_back({1 + i % 97, 0, 1, 1, {}});
    load += 1 + i % 97;
  }
  EXPECT_EQ(Decide(problem, load, 1), Verdict::kPlaced);
  EXPECT_EQ(Decide(problem, load - 1, 1), Verdict::kImpossible);
}

// An independent answer for problems of full load. At every step all `load` bytes are in use, so
// the lowest free byte at the earliest step where there is one belongs to a buffer that starts
// there.
class FullLoadPuzzle {
 public:
  FullLoadPuzzle(const Problem& problem, std::int64_t load)
      : problem_(problem), load_(load), offsets_(problem.buffers.size(), -1) {}

  // nullopt: gave up.
  std::optional<bool> Solve(Step step, Step steps) {
    if (--looks_left_ < 0) return std::nullopt;
    while (step < steps && LowestFree(step) == load_) ++step;
    if (step == steps) return true;
    const std::int64_t offset = LowestFree(step);
    for (std::size_t i = 0; i < offsets_.size(); ++i) {
      const Buffer& buffer = problem_.buffers[i];
      if (offsets_[i] >= 0 || buffer.first != step || !IsFree(step, offset, buffer.bytes)) continue;
      offsets_[i] = offset;
      const auto solved = Solve(step, steps);
      if (!solved.has_value() || *solved) return solved;
      offsets_[i] = -1;
    }
    return false;
  }

 private:
  bool Covers(std::size_t i, Step step, std::int64_t byte) const {
    const Buffer& buffer = problem_.buffers[i];
    return offsets_[i] >= 0 && buffer.first <= step && step < buffer.last && offsets_[i] <= byte &&
           byte < offsets_[i] + buffer.bytes;
  }
  bool IsFree(Step step, std::int64_t offset, std::int64_t bytes) const {
    if (offset + bytes > load_) return false;
    for (std::int64_t byte = offset; byte < offset + bytes; ++byte) {
      for (std::size_t i = 0; i < offsets_.size(); ++i) {
        if (Covers(i, step, byte)) return false;
      }
    }
    return true;
  }
  std::int64_t LowestFree(Step step) const {
    std::int64_t byte = 0;
    while (byte < load_ && !IsFree(step, byte, 1)) ++byte;
    return byte;
  }

  const Problem& problem_;
  std::int64_t load_;
  std::vector<std::int64_t> offsets_;
  int looks_left_ = 3000;
};

// Here a bound that is too high would show. Small random problems would not show it, since their
// optimum nearly always is the load.
TEST(DecisionSearch, IsExactOnFullLoad) {
  Random random(22);
  Limits limits;
  limits.max_states = 3000;
  int impossible = 0;
  for (int round = 0; round < Cases(4000); ++round) {
    const auto steps = static_cast<int>(random.Between(8, 10));
    const std::int64_t load = random.Between(10, 16);
    const Problem problem = RandomFullLoad(random, steps, load, 12);
    ASSERT_EQ(LoadLowerBound(problem), load);
    const auto possible = FullLoadPuzzle(problem, load).Solve(0, static_cast<Step>(steps));
    if (!possible.has_value()) continue;
    impossible += *possible ? 0 : 1;
    for (std::uint64_t seed = 0; seed < 2; ++seed) {
      const Verdict verdict = Decide(problem, load, seed + 10);
      if (verdict == Verdict::kUndecided) continue;
      ASSERT_EQ(verdict == Verdict::kPlaced, *possible) << round << " " << seed;
    }
    const Outcome outcome = Solve(problem, limits);
    ASSERT_EQ(FindViolation(problem, outcome.placement), std::nullopt);
    if (*possible) {
      ASSERT_EQ(outcome.lower_bound_bytes, load) << round;
    } else {
      ASSERT_GT(outcome.placement.height_bytes, load) << round;
    }
  }
  EXPECT_GT(impossible, Cases(4000) / 300);
}

}  // namespace
}  // namespace neap::arena
