// SPDX-License-Identifier: Apache-2.0
#include "neap/compile/placement_memo.h"

#include <gtest/gtest.h>

#include "neap/base/random.h"
#include "neap/solve/arena/check.h"

namespace neap::compile {
namespace {

arena::Problem RandomProblem(Random* random) {
  arena::Problem problem;
  for (int i = 0; i < 30; ++i) {
    const auto first = static_cast<arena::Step>(random->Below(20));
    const auto last = first + static_cast<arena::Step>(random->Between(1, 8));
    problem.buffers.push_back({random->Between(1, 40) * 16, first, last, 16, std::nullopt});
  }
  problem.pairs.push_back(arena::StartsBelow(problem, 0, 1, 16));
  return problem;
}

TEST(PlacementMemoTest, SaysWhatTheSearchSaysAndNeverMore) {
  Random random(31);
  PlacementMemo memo;
  for (int round = 0; round < 60; ++round) {
    const arena::Problem problem = RandomProblem(&random);
    arena::SolveOptions options;
    options.limits.max_states = 500;
    const arena::Outcome plain = arena::Solve(problem, options);
    const arena::Outcome first = memo.Solve(problem, options);
    EXPECT_EQ(first.placement.offsets, plain.placement.offsets);
    EXPECT_EQ(first.lower_bound_bytes, plain.lower_bound_bytes);
    const std::int64_t hits = memo.hits();
    const arena::Outcome again = memo.Solve(problem, options);
    EXPECT_EQ(memo.hits(), hits + 1);
    EXPECT_EQ(again.placement.offsets, plain.placement.offsets);
    EXPECT_EQ(again.states, plain.states);
    // With less effort nothing that is known is forgotten.
    arena::SolveOptions poor = options;
    poor.limits.max_states = 1;
    const arena::Outcome kept = memo.Solve(problem, poor);
    EXPECT_LE(kept.placement.height_bytes, plain.placement.height_bytes);
    EXPECT_GE(kept.lower_bound_bytes, plain.lower_bound_bytes);
    EXPECT_FALSE(arena::FindViolation(problem, kept.placement));
    // One byte makes another problem.
    arena::Problem other = problem;
    other.pairs[0].low -= 1;
    EXPECT_EQ(memo.Solve(other, options).placement.offsets,
              arena::Solve(other, options).placement.offsets);
  }
}

TEST(PlacementMemoTest, WhatAClockMayEndIsNotKept) {
  Random random(32);
  const arena::Problem problem = RandomProblem(&random);
  PlacementMemo memo;
  arena::SolveOptions options;
  options.limits.max_states = 500;
  options.limits.max_seconds = 100;
  memo.Solve(problem, options);
  memo.Solve(problem, options);
  EXPECT_EQ(memo.hits(), 0);
}

}  // namespace
}  // namespace neap::compile
