// SPDX-License-Identifier: Apache-2.0
#include "neap/solve/arena/ejection.h"

#include <gtest/gtest.h>

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

Problem RandomProblem(Random* random, std::int64_t buffers, std::int64_t longest,
                      std::int64_t largest) {
  Problem problem;
  for (std::int64_t i = 0; i < buffers; ++i) {
    Buffer buffer;
    buffer.bytes = random->Between(0, largest);
    buffer.first = static_cast<Step>(random->Between(0, buffers));
    buffer.last = static_cast<Step>(buffer.first + random->Between(0, longest));
    buffer.alignment = std::int64_t{1} << random->Below(4);
    problem.buffers.push_back(buffer);
  }
  return problem;
}

TEST(Ejection, PlacementsStayValid) {
  Random random(31);
  int lowered = 0;
  for (int i = 0; i < Cases(3000); ++i) {
    const Problem problem = RandomProblem(&random, random.Between(1, 40), 12, 100);
    FirstFit first_fit(problem);
    Placement placement = first_fit.Place(FreeBuffers(problem));
    const std::int64_t before = placement.height_bytes;
    const std::int64_t bound = LoadLowerBound(problem);
    const std::int64_t capacity = random.Between(bound / 2, before);
    const std::vector<std::int64_t> given = placement.offsets;
    Ejection ejection(problem, *first_fit.neighbours(), static_cast<std::uint64_t>(i), 1'000'000);
    const Limits limits;
    Budget budget(limits);
    if (!ejection.Run(capacity, 500, placement.offsets, budget)) {
      EXPECT_EQ(placement.offsets, given) << i;
      continue;
    }
    placement.height_bytes = HeightOf(problem, placement.offsets);
    EXPECT_EQ(FindViolation(problem, placement), std::nullopt) << i;
    for (std::size_t b = 0; b < problem.buffers.size(); ++b) {
      if (!problem.buffers[b].occupies()) continue;
      EXPECT_LE(placement.offsets[b] + problem.buffers[b].bytes, capacity) << i;
    }
    EXPECT_GE(capacity, bound) << i;
    lowered += capacity < before ? 1 : 0;
  }
  EXPECT_GT(lowered, Cases(3000) / 10);
}

// First-fit alone is more than 4 % above the bound, ejections without moves of the buffers that
// stay 1 %.
TEST(Ejection, LargeProblemsComeCloseToTheirLoad) {
  Random random(37);
  const Problem problem = RandomProblem(&random, 4000, 60, 10'000);
  const std::int64_t bound = LoadLowerBound(problem);
  EXPECT_GT(PlaceLikeTflm(problem).height_bytes, bound + bound / 25);
  SolveOptions options;
  options.limits.max_states = 60'000;
  const Outcome outcome = Solve(problem, options);
  EXPECT_EQ(FindViolation(problem, outcome.placement), std::nullopt);
  EXPECT_LT(outcome.placement.height_bytes, bound + bound / 200);
  EXPECT_EQ(Solve(problem, options).placement.offsets, outcome.placement.offsets);
}

}  // namespace
}  // namespace neap::arena
