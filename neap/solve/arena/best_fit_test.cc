// SPDX-License-Identifier: Apache-2.0
#include "neap/solve/arena/best_fit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "neap/base/random.h"
#include "neap/solve/arena/arena.h"
#include "neap/solve/arena/check.h"
#include "neap/solve/arena/first_fit.h"
#include "testing/cases.h"

namespace neap::arena {
namespace {

Buffer Live(Step first, Step last, std::int64_t bytes) {
  Buffer buffer;
  buffer.bytes = bytes;
  buffer.first = first;
  buffer.last = last;
  return buffer;
}

TEST(BestFit, PlacementsAreValid) {
  Random random(41);
  for (int i = 0; i < Cases(3000); ++i) {
    Problem problem;
    const std::int64_t count = random.Between(0, 30);
    for (std::int64_t k = 0; k < count; ++k) {
      const auto first = static_cast<Step>(random.Between(0, 20));
      problem.buffers.push_back(
          Live(first, static_cast<Step>(first + random.Between(0, 9)), random.Between(0, 50)));
      problem.buffers.back().alignment = random.Between(1, 6);
    }
    BestFitOptions options;
    options.from_the_end = random.Below(2) == 1;
    options.short_steps = random.Between(0, 10);
    const Placement placement = BestFitPlacer(problem).Place(options);
    EXPECT_EQ(FindViolation(problem, placement), std::nullopt) << i;
    EXPECT_EQ(BestFitPlacer(problem).Place(options).offsets, placement.offsets);
  }
}

// Activations that live until their step of the way back, and gradients between two steps.
Problem Training(std::int64_t layers, Random* random) {
  Problem problem;
  const auto end = static_cast<Step>(2 * layers);
  for (Step layer = 0; layer < static_cast<Step>(layers); ++layer) {
    const std::int64_t bytes = random->Between(1, 1000);
    problem.buffers.push_back(Live(layer, end - layer, bytes));
    problem.buffers.push_back(Live(end - layer - 1, end - layer + 1, bytes));
  }
  return problem;
}

TEST(BestFit, NestedLifetimesHaveNoHoles) {
  Random random(43);
  for (int i = 0; i < Cases(200); ++i) {
    Problem problem = Training(random.Between(1, 50), &random);
    for (std::size_t k = 1; k < problem.buffers.size(); ++k) problem.buffers[k].bytes *= k % 2 == 0;
    EXPECT_EQ(BestFitPlacer(problem).Place({}).height_bytes, LoadLowerBound(problem));
  }
}

// The third buffer ends above two that leave one after the other; the fourth needs both holes.
TEST(BestFit, HolesJoin) {
  const Problem upper_leaves_first{{Live(0, 4, 10), Live(0, 3, 10), Live(1, 9, 5), Live(5, 8, 20)},
                                   {}};
  const Problem lower_leaves_first{{Live(0, 3, 10), Live(1, 5, 10), Live(2, 9, 5), Live(6, 8, 20)},
                                   {}};
  for (const Problem& problem : {upper_leaves_first, lower_leaves_first}) {
    EXPECT_EQ(BestFitPlacer(problem).Place({}).height_bytes, 25);
  }
}

// More than a thousand holes at a time, of each of which the smallest and lowest one is known.
TEST(BestFit, HolesAreTheSmallestOfMany) {
  Random random(48);
  constexpr Step kMany = 3'000;
  Problem problem;
  for (Step i = 0; i < kMany; ++i) {  // one on top of the other; every second one leaves
    const Step last = i % 2 == 0 ? 2 * kMany : kMany;
    problem.buffers.push_back(Live(i, last, random.Between(1, 400)));
  }
  std::vector<std::pair<std::int64_t, std::int64_t>> holes;
  std::int64_t top = 0;
  for (Step i = 0; i < kMany; ++i) {
    const std::int64_t bytes = problem.buffers[static_cast<std::size_t>(i)].bytes;
    if (i % 2 == 1) holes.emplace_back(bytes, top);
    top += bytes;
  }
  std::vector<std::int64_t> expected;
  for (Step i = 0; i < kMany / 4; ++i) {
    const std::int64_t bytes = random.Between(1, 300);
    problem.buffers.push_back(Live(kMany + i, 2 * kMany, bytes));
    const auto hole = std::min_element(holes.begin(), holes.end(), [&](auto a, auto b) {
      return std::pair(a.first < bytes, a) < std::pair(b.first < bytes, b);
    });
    ASSERT_GE(hole->first, bytes);
    expected.push_back(hole->second);
    *hole = {hole->first - bytes, hole->second + bytes};
  }
  const Placement placement = BestFitPlacer(problem).Place({});
  EXPECT_EQ(placement.height_bytes, top);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ASSERT_EQ(placement.offsets[static_cast<std::size_t>(kMany) + i], expected[i]) << i;
  }
}

// Best-fit and first-fit on two threads.
TEST(BestFit, ThreadsChangeNothing) {
  Random random(49);
  Problem problem;
  for (int i = 0; i < 4'000; ++i) {
    const auto first = static_cast<Step>(random.Below(4'000));
    problem.buffers.push_back(
        Live(first, first + static_cast<Step>(random.Between(1, 9)), random.Between(1, 5'000)));
  }
  SolveOptions options;
  options.limits.max_states = 2'000;
  const Outcome one = Solve(problem, options);
  for (const int threads : {2, 3}) {
    options.limits.threads = threads;
    const Outcome outcome = Solve(problem, options);
    EXPECT_EQ(outcome.placement.offsets, one.placement.offsets);
    EXPECT_EQ(outcome.states, one.states);
    EXPECT_EQ(outcome.lower_bound_bytes, one.lower_bound_bytes);
  }
}

// All pairs of 70,000 buffers are too many for first-fit, and buffers on top of each other are 20 %
// above the bound.
TEST(BestFit, PlacesTrainingGraphsOfAnySize) {
  Random random(47);
  Problem problem = Training(30'000, &random);
  for (int i = 0; i < 10'000; ++i) {
    const auto first = static_cast<Step>(random.Below(60'000));
    problem.buffers.push_back(
        Live(first, first + static_cast<Step>(random.Between(1, 2000)), random.Between(1, 20'000)));
  }
  SolveOptions options;
  options.limits.max_states = kStatesForAFewSeconds;
  const Outcome outcome = Solve(problem, options);
  EXPECT_EQ(outcome.placement.height_bytes, HeightOf(problem, outcome.placement.offsets));
  const std::int64_t bound = LoadLowerBound(problem);
  EXPECT_LE(outcome.placement.height_bytes, bound + bound / 50);
}

}  // namespace
}  // namespace neap::arena
