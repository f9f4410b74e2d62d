// SPDX-License-Identifier: Apache-2.0
#include "neap/solve/partition/simulate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "neap/solve/partition/cut.h"
#include "testing/partition.h"

namespace neap::partition {
namespace {

// Three operators in three stages: 5 + 2 out, 2 in + 10 + 3 out, 3 in + 4.
Problem Three() {
  Problem problem;
  problem.num_ops = 3;
  problem.num_stages = 3;
  problem.compute_cost = {5, 10, 4};
  problem.parameter_bytes = {0, 0, 0};
  problem.machine.link_cost_per_byte = 1;
  problem.tensors = {{2, 0, {1}, false}, {3, 1, {2}, false}};
  return problem;
}
constexpr std::array<Stage, 3> kThree = {0, 1, 2};

TEST(Simulate, OneItemTakesTheSumOfItsStages) {
  const Simulation one = Simulate(Three(), kThree, {.items = 1});
  EXPECT_EQ(one.first_done, 7 + 15 + 7);
  EXPECT_EQ(one.all_done, one.first_done);
  EXPECT_EQ(one.busy, (std::vector<std::int64_t>{7, 15, 7}));
}

TEST(Simulate, ManyItemsTakeTheSlowestStageEach) {
  const Simulation many = Simulate(Three(), kThree, {.items = 100});
  EXPECT_EQ(many.last_interval, 15);
  EXPECT_EQ(many.all_done, many.first_done + 99 * 15);
}

TEST(Simulate, OfASharedLinkTakesAllTransfersOneAfterTheOther) {
  Problem problem = Three();
  problem.machine.link_cost_per_byte = 10;
  // Transfers of 20, 20, 30, 30 alone take 100 an item.
  const Simulation shared = Simulate(problem, kThree, {.items = 200, .shared_link = true});
  EXPECT_GE(shared.all_done, 200 * 100);
  const Simulation apart = Simulate(problem, kThree, {.items = 200});
  EXPECT_EQ(apart.last_interval, 20 + 10 + 30);
}

// No item leaves before the link has carried all that came before it.
TEST(Simulate, IsNeverFasterThanASharedLink) {
  Random random(13);
  int waits = 0;
  for (int i = 0; i < 1000; ++i) {
    Problem problem = RandomProblem(&random, static_cast<OpIndex>(random.Between(1, 9)), false);
    problem.machine.shared_link = true;
    const auto cut = CutOrder(problem, RandomOrder(problem, random.Next()));
    if (!cut) continue;
    const Evaluation evaluation = Evaluate(problem, cut->stage_of);
    const SimulationOptions options = {.items = 60, .queue_items = 2, .shared_link = true};
    const Simulation run = Simulate(problem, cut->stage_of, options);
    ASSERT_GE(run.all_done, 60 * evaluation.bottleneck) << i;
    if (run.all_done > run.first_done + 59 * evaluation.bottleneck) ++waits;
  }
  EXPECT_GT(waits, 10);  // for the link, between two transfers of one stage
}

TEST(Simulate, OfParametersBeyondTheCacheStreams) {
  Problem problem = Three();
  problem.parameter_bytes = {0, 9, 0};
  problem.machine.cache_bytes = 4;
  problem.machine.stream_cost_per_byte = 2;
  EXPECT_EQ(Simulate(problem, kThree, {.items = 50}).last_interval, 15 + 10);
}

TEST(Simulate, OfNothingAndOfStagesThatTakeNoTime) {
  EXPECT_EQ(Simulate(Problem(), {}, {}).all_done, 0);
  Problem free = Three();
  free.compute_cost = {0, 0, 0};
  free.machine.link_cost_per_byte = 0;
  const Simulation run = Simulate(free, kThree, {.items = kMaxItems});
  EXPECT_EQ(run.all_done, 0);
}

// Separate links: in the end an item leaves every max of the stages, for queues of any length.
TEST(Simulate, SteadyThroughputIsThatOfTheSlowestStage) {
  Random random(12);
  for (int i = 0; i < 1000; ++i) {
    const Problem problem =
        RandomProblem(&random, static_cast<OpIndex>(random.Between(1, 9)), false);
    const auto cut = CutOrder(problem, RandomOrder(problem, random.Next()));
    if (!cut) continue;
    const Evaluation evaluation = Evaluate(problem, cut->stage_of);
    const Simulation run =
        Simulate(problem, cut->stage_of, {.items = 60, .queue_items = random.Between(1, 4)});
    ASSERT_EQ(run.last_interval, evaluation.bottleneck) << i;
    ASSERT_EQ(run.all_done, run.first_done + 59 * evaluation.bottleneck) << i;
    std::int64_t sum = 0;
    std::size_t busy = 0;
    for (const StageCost& stage : evaluation.stages) {
      sum += stage.cost;
      if (stage.operators == 0) continue;
      ASSERT_EQ(run.busy[busy++], 60 * stage.cost) << i;
    }
    ASSERT_EQ(run.first_done, sum) << i;
    // A shared link never makes it faster.
    const Simulation shared = Simulate(problem, cut->stage_of, {.items = 60, .shared_link = true});
    ASSERT_GE(shared.all_done, run.all_done) << i;
  }
}

}  // namespace
}  // namespace neap::partition
