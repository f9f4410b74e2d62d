// SPDX-License-Identifier: Apache-2.0
#include "neap/solve/partition/baselines.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "neap/solve/partition/cut.h"
#include "neap/solve/partition/partition.h"
#include "testing/partition.h"

namespace neap::partition {
namespace {

Problem ChainOf(const std::vector<std::int64_t>& parameters, Stage stages) {
  Problem problem;
  problem.num_ops = static_cast<OpIndex>(parameters.size());
  problem.compute_cost.assign(parameters.size(), 1);
  problem.parameter_bytes = parameters;
  problem.num_stages = stages;
  for (OpIndex op = 0; op + 1 < problem.num_ops; ++op) {
    problem.tensors.push_back({1, op, {op + 1}, false});
  }
  return problem;
}

TEST(ParameterCount, CutsBeforeTheAverageAndLeavesTheRestToTheLast) {
  // Average 30 / 3 + 1 = 11.
  const Problem problem = ChainOf({6, 4, 3, 7, 5, 5}, 3);
  const auto cut = CutByParameterCount(problem, IndexOrder(problem));
  EXPECT_EQ(cut.stage_of, (std::vector<Stage>{0, 0, 1, 1, 2, 2}));
  // An operator larger than the average gets a stage of its own; no stage is empty.
  const Problem skewed = ChainOf({100, 1, 1, 1}, 3);
  EXPECT_EQ(CutByParameterCount(skewed, IndexOrder(skewed)).stage_of,
            (std::vector<Stage>{0, 1, 1, 2}));
  const Problem small = ChainOf({1, 1}, 4);
  EXPECT_EQ(CutByParameterCount(small, IndexOrder(small)).stage_of, (std::vector<Stage>{0, 1}));
}

// An output half way ends the stages before the last one.
TEST(ParameterCount, LeavesAllOutputsToTheLastStage) {
  Problem problem = ChainOf({4, 4, 0, 4, 4}, 2);
  problem.tensors[1].consumers = {2, 3};  // operator 2 is an output, 3 and 4 go on
  problem.tensors.erase(problem.tensors.begin() + 2);
  EXPECT_EQ(CutByParameterCount(problem, IndexOrder(problem)).stage_of,
            (std::vector<Stage>{0, 0, 1, 1, 1}));
  // Without it the first stage takes the operator of no parameters, too.
  const Problem chain = ChainOf({4, 4, 0, 4, 4}, 2);
  EXPECT_EQ(CutByParameterCount(chain, IndexOrder(chain)).stage_of,
            (std::vector<Stage>{0, 0, 0, 1, 1}));
  problem.num_stages = 5;
  EXPECT_EQ(CutByParameterCount(problem, IndexOrder(problem)).stage_of,
            (std::vector<Stage>{0, 1, 2, 2, 2}));
}

TEST(Profiling, FindsTheBestOfAChainWithoutTransfers) {
  Problem problem = ChainOf({0, 0, 0, 0, 0, 0}, 3);
  problem.compute_cost = {50, 10, 10, 10, 50, 20};
  const auto cut = CutByProfiling(problem, IndexOrder(problem), 1);
  EXPECT_EQ(cut.bottleneck, 70);
  // A coarse threshold leaves the start.
  EXPECT_EQ(CutByProfiling(problem, IndexOrder(problem), 1000).stage_of,
            CutByParameterCount(problem, IndexOrder(problem)).stage_of);
}

TEST(Levels, BalanceParametersByDepth) {
  // Two branches of one depth each are never apart.
  Problem problem = ChainOf({4, 4, 4, 4}, 2);
  problem.tensors = {{1, 0, {1, 2}, false}, {1, 1, {3}, false}, {1, 2, {3}, false}};
  const auto cut = CutByLevels(problem);
  EXPECT_EQ(cut.stage_of[1], cut.stage_of[2]);
  EXPECT_EQ(FindViolation(problem, cut), std::nullopt);
}

TEST(Baselines, AreAssignmentsAndNeverBetterThanTheOptimum) {
  Random random(11);
  for (int i = 0; i < 2000; ++i) {
    Problem problem =
        RandomProblem(&random, static_cast<OpIndex>(random.Between(0, 8)), random.Chance(1, 3));
    problem.machine.parameter_limit_bytes = -1;
    problem.forbidden.clear();
    const auto outcome = Solve(problem, {});
    ASSERT_TRUE(outcome);
    const auto order = IndexOrder(problem);
    for (const Assignment& cut : {CutByParameterCount(problem, order),
                                  CutByProfiling(problem, order, 1), CutByLevels(problem)}) {
      ASSERT_EQ(FindViolation(problem, cut), std::nullopt) << i;
      ASSERT_GE(cut.bottleneck, outcome->best.bottleneck) << i;
    }
  }
}

}  // namespace
}  // namespace neap::partition
