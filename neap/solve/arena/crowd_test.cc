// SPDX-License-Identifier: Apache-2.0
#include "neap/solve/arena/crowd.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "neap/base/random.h"
#include "neap/solve/arena/arena.h"
#include "neap/solve/arena/check.h"
#include "neap/solve/arena/first_fit.h"
#include "testing/cases.h"

namespace neap::arena {
namespace {

void Add(Step step, std::int64_t bytes, Problem* problem) {
  Buffer buffer;
  buffer.bytes = bytes;
  buffer.first = step;
  buffer.last = step + 1;
  problem->buffers.push_back(buffer);
}

void AddBuffers(Random* random, std::int64_t count, std::int64_t begin, std::int64_t end,
                std::int64_t longest, std::int64_t largest, Problem* problem) {
  for (std::int64_t i = 0; i < count; ++i) {
    Buffer buffer;
    buffer.bytes = random->Between(1, largest);
    buffer.first = static_cast<Step>(random->Between(begin, end - 1));
    const std::int64_t steps = random->Between(1, longest);
    buffer.last = static_cast<Step>(std::min(buffer.first + steps, end));
    problem->buffers.push_back(buffer);
  }
}

// Buffers everywhere, and as many again at a few steps.
Problem Crowded(Random* random, std::int64_t buffers, std::int64_t crowd) {
  Problem problem;
  AddBuffers(random, buffers, 0, buffers, 5, 100, &problem);
  AddBuffers(random, crowd, buffers / 2, buffers / 2 + crowd / 2, 8, 100, &problem);
  return problem;
}

TEST(Crowd, IsWhereManyStepsAreHigh) {
  Problem problem;
  for (Step step = 0; step < 100; ++step) {
    const bool high = step == 20 || (step >= 50 && step < 60);
    Add(step, high ? 100 : 50, &problem);
  }
  const auto crowd = FindCrowd(problem, 100);
  ASSERT_TRUE(crowd.has_value());
  EXPECT_EQ(crowd->first, 48);
  EXPECT_EQ(crowd->last, 62);
  ASSERT_EQ(crowd->buffers.size(), 14U);
  EXPECT_EQ(crowd->buffers.front(), 48);
  EXPECT_EQ(crowd->buffers.back(), 61);
}

TEST(Crowd, IsNotMostOfTheProblem) {
  Problem problem;
  EXPECT_FALSE(FindCrowd(problem, 100).has_value());
  for (Step step = 0; step < 100; ++step) {
    Add(step, 100, &problem);
  }
  EXPECT_FALSE(FindCrowd(problem, 100).has_value());
  EXPECT_FALSE(FindCrowd(problem, 1'000).has_value());
}

TEST(Crowd, PlacementsStayValid) {
  Random random(43);
  int placed = 0;
  int crowds = 0;
  for (int i = 0; i < Cases(300); ++i) {
    const Problem problem = Crowded(&random, random.Between(40, 80), random.Between(10, 20));
    FirstFit first_fit(problem);
    Placement placement = first_fit.Place(FreeBuffers(problem));
    const std::int64_t bound = LoadLowerBound(problem);
    const auto crowd = FindCrowd(problem, bound);
    if (!crowd) continue;
    ++crowds;
    const std::int64_t capacity = random.Between(bound - 2, bound + bound / 8);
    const std::vector<std::int64_t> given = placement.offsets;
    const Limits limits;
    Budget budget(limits);
    if (!PlaceCrowdFirst(problem, *first_fit.neighbours(), *crowd, capacity,
                         static_cast<std::uint64_t>(i), placement.offsets, budget)) {
      EXPECT_EQ(placement.offsets, given) << i;
      continue;
    }
    ++placed;
    placement.height_bytes = HeightOf(problem, placement.offsets);
    EXPECT_EQ(FindViolation(problem, placement), std::nullopt) << i;
    EXPECT_LE(placement.height_bytes, capacity) << i;
    EXPECT_GE(capacity, bound) << i;
  }
  EXPECT_GT(crowds, Cases(300) / 10);
  EXPECT_GT(placed, crowds / 4);
}

// Cuts [begin, end) x bytes into so many buffers.
void Cut(Random* random, Step begin, Step end, std::int64_t bytes, std::int64_t pieces,
         Problem* problem) {
  if (pieces == 1 || (bytes < 2 && end - begin < 2)) {
    Add(begin, bytes, problem);
    problem->buffers.back().last = end;
    return;
  }
  const std::int64_t part = random->Between(1, pieces - 1);
  const bool in_time = end - begin > 1 && (bytes < 2 || random->Chance(1, 2));
  if (in_time) {
    const auto middle = static_cast<Step>(
        std::clamp<std::int64_t>(begin + (end - begin) * part / pieces, begin + 1, end - 1));
    Cut(random, begin, middle, bytes, part, problem);
    Cut(random, middle, end, bytes, pieces - part, problem);
  } else {
    const std::int64_t low = std::clamp<std::int64_t>(bytes * part / pieces, 1, bytes - 1);
    Cut(random, begin, end, low, part, problem);
    Cut(random, begin, end, bytes - low, pieces - part, problem);
  }
}

// First-fit is more than 30 % above the bound.
TEST(Crowd, FillsItsSteps) {
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    Random random(seed);
    Problem problem;
    AddBuffers(&random, 1'000, 0, 1'000, 12, 50'000, &problem);
    std::erase_if(problem.buffers,
                  [](const Buffer& buffer) { return buffer.first < 600 && buffer.last > 500; });
    Cut(&random, 500, 600, 1'000'000, 50, &problem);
    random.Shuffle(problem.buffers);
    const std::int64_t bound = LoadLowerBound(problem);
    EXPECT_EQ(bound, 1'000'000) << seed;
    FirstFit first_fit(problem);
    Placement placement = first_fit.Place(FreeBuffers(problem));
    EXPECT_GT(placement.height_bytes, bound + bound / 10 * 3) << seed;
    const auto crowd = FindCrowd(problem, bound);
    ASSERT_TRUE(crowd.has_value()) << seed;
    const Limits limits;
    Budget budget(limits);
    EXPECT_TRUE(PlaceCrowdFirst(problem, *first_fit.neighbours(), *crowd, bound + bound / 100, seed,
                                placement.offsets, budget))
        << seed;
    placement.height_bytes = HeightOf(problem, placement.offsets);
    EXPECT_EQ(FindViolation(problem, placement), std::nullopt) << seed;
    EXPECT_LE(placement.height_bytes, bound + bound / 100) << seed;
  }
}

// Ejections and first-fit, with as many states, leave this arena 1.10 % above the bound. One buffer
// is live at all steps, so that the crowd is no problem of its own.
TEST(Crowd, IsPlacedFirstWhereEjectionsEndAboveTheBound) {
  Random random(1);
  Problem problem;
  AddBuffers(&random, 3'600, 0, 3'600, 8, 50'000, &problem);
  std::erase_if(problem.buffers,
                [](const Buffer& buffer) { return buffer.first < 2'150 && buffer.last > 2'000; });
  Cut(&random, 2'000, 2'150, 1'000'000, 90, &problem);
  Add(0, 1, &problem);
  problem.buffers.back().last = 3'600;
  random.Shuffle(problem.buffers);
  const std::int64_t bound = LoadLowerBound(problem);
  EXPECT_EQ(bound, 1'000'001);
  SolveOptions options;
  options.limits.max_states = 400'000;
  const Outcome outcome = Solve(problem, options);
  EXPECT_EQ(FindViolation(problem, outcome.placement), std::nullopt);
  EXPECT_LE(outcome.placement.height_bytes, bound + bound / 100);
}

}  // namespace
}  // namespace neap::arena
