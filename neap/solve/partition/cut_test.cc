// SPDX-License-Identifier: Apache-2.0
#include "neap/solve/partition/cut.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "testing/partition.h"

namespace neap::partition {
namespace {

Problem Chain(const std::vector<std::int64_t>& costs, Stage stages) {
  Problem problem;
  problem.num_ops = static_cast<OpIndex>(costs.size());
  problem.compute_cost = costs;
  problem.parameter_bytes.assign(costs.size(), 0);
  problem.num_stages = stages;
  for (OpIndex op = 0; op + 1 < problem.num_ops; ++op) {
    problem.tensors.push_back({10, op, {op + 1}, false});
  }
  return problem;
}

// The cheapest assignment whose stages are consecutive in `order`, by trying all.
std::optional<std::int64_t> BestOfOrder(const Problem& problem, const std::vector<OpIndex>& order) {
  std::optional<std::int64_t> best;
  Assignment trial;
  trial.stage_of.assign(order.size(), 0);
  std::vector<Stage> along(order.size(), 0);
  while (true) {
    if (std::is_sorted(along.begin(), along.end())) {
      for (std::size_t i = 0; i < order.size(); ++i) {
        trial.stage_of[static_cast<std::size_t>(order[i])] = along[i];
      }
      trial.bottleneck = Evaluate(problem, trial.stage_of).bottleneck;
      if (!FindViolation(problem, trial)) {
        best = std::min(best.value_or(trial.bottleneck), trial.bottleneck);
      }
    }
    std::size_t at = 0;
    while (at < along.size() && ++along[at] == problem.num_stages) along[at++] = 0;
    if (at == along.size()) return best;
  }
}

TEST(CutOrder, BalancesAChain) {
  const Problem problem = Chain({5, 1, 1, 1, 5, 2}, 3);
  const auto cut = CutOrder(problem, IndexOrder(problem));
  ASSERT_TRUE(cut);
  EXPECT_EQ(cut->bottleneck, 7);
  EXPECT_EQ(FindViolation(problem, *cut), std::nullopt);
}

TEST(CutOrder, LeavesStagesEmptyWhereTransfersCostMore) {
  Problem problem = Chain({5, 5}, 2);
  problem.machine.link_cost_per_byte = 1;
  const auto cut = CutOrder(problem, IndexOrder(problem));
  ASSERT_TRUE(cut);
  EXPECT_EQ(cut->bottleneck, 10);
  EXPECT_EQ(cut->stage_of, (std::vector<Stage>{0, 0}));
}

TEST(CutOrder, IsTheBestOfItsOrder) {
  Random random(7);
  int impossible = 0;
  for (int i = 0; i < 3000; ++i) {
    Problem problem = RandomProblem(&random, static_cast<OpIndex>(random.Between(1, 6)), false);
    problem.machine.shared_link = i % 2 == 1;
    ASSERT_EQ(Validate(problem), std::nullopt);
    const std::vector<OpIndex> order = RandomOrder(problem, random.Next());
    const auto cut = CutOrder(problem, order);
    const auto best = BestOfOrder(problem, order);
    ASSERT_EQ(cut.has_value(), best.has_value()) << i;
    if (!cut) {
      ++impossible;
      continue;
    }
    ASSERT_EQ(cut->bottleneck, *best) << i;
    ASSERT_EQ(FindViolation(problem, *cut), std::nullopt) << i;
  }
  EXPECT_GT(impossible, 5);
}

TEST(CutOrder, KeepsGroupsTogether) {
  Random random(8);
  for (int i = 0; i < 500; ++i) {
    const Problem problem = RandomProblem(&random, 6, true);
    const auto cut = CutOrder(problem, IndexOrder(problem));
    if (!cut) continue;
    ASSERT_EQ(FindViolation(problem, *cut), std::nullopt) << i;
  }
}

TEST(Orders, AreTopologicalAndWhatTheySay) {
  Random random(9);
  for (int i = 0; i < 300; ++i) {
    const Problem problem = RandomProblem(&random, 12, false);
    const Relations relations(problem);
    for (const auto& order : {IndexOrder(problem), AsapOrder(problem), HeightOrder(problem),
                              DepthFirstOrder(problem), RandomOrder(problem, 3)}) {
      ASSERT_EQ(order.size(), 12U);
      std::vector<bool> done(order.size(), false);
      for (const OpIndex op : order) {
        for (const OpIndex before : relations.before[static_cast<std::size_t>(op)]) {
          ASSERT_TRUE(done[static_cast<std::size_t>(before)]);
        }
        done[static_cast<std::size_t>(op)] = true;
      }
    }
    const auto levels = Levels(problem);
    const auto asap = AsapOrder(problem);
    ASSERT_TRUE(std::is_sorted(asap.begin(), asap.end(), [&](OpIndex a, OpIndex b) {
      return levels[static_cast<std::size_t>(a)] < levels[static_cast<std::size_t>(b)];
    }));
  }
}

TEST(RepairOrder, OnlyMovesWhatWasTooEarly) {
  Problem problem = Chain({1, 1, 1}, 2);
  problem.num_ops = 4;
  problem.compute_cost.push_back(1);
  problem.parameter_bytes.push_back(0);
  const std::vector<OpIndex> predicted = {2, 3, 0, 1};
  EXPECT_EQ(RepairOrder(problem, predicted), (std::vector<OpIndex>{3, 0, 1, 2}));
}

TEST(RepairStages, PushesForwardAndJoinsChildren) {
  Problem problem = Chain({1, 1, 1, 1}, 3);
  const auto pushed = RepairStages(problem, std::vector<Stage>{1, 0, 2, 9});
  EXPECT_EQ(pushed.stage_of, (std::vector<Stage>{1, 1, 2, 2}));
  problem.together = {{1, 3}};
  const auto joined = RepairStages(problem, std::vector<Stage>{0, 1, 2, 2});
  EXPECT_EQ(joined.stage_of, (std::vector<Stage>{0, 1, 1, 1}));
  EXPECT_EQ(FindViolation(problem, joined), std::nullopt);
}

TEST(Validate, RefusesWhatIsNoProblem) {
  const auto is_bad = [](const auto& change) {
    Problem problem = Chain({1, 1, 1}, 2);
    change(&problem);
    return Validate(problem).has_value();
  };
  EXPECT_FALSE(is_bad([](Problem* /*p*/) {}));
  EXPECT_TRUE(is_bad([](Problem* p) { p->num_stages = 0; }));
  EXPECT_TRUE(is_bad([](Problem* p) { p->precedences.emplace_back(2, 0); }));
  EXPECT_TRUE(is_bad([](Problem* p) { p->precedences.emplace_back(1, 1); }));
  EXPECT_TRUE(is_bad([](Problem* p) { p->precedences.emplace_back(1, 3); }));
  EXPECT_TRUE(is_bad([](Problem* p) { p->compute_cost[1] = -1; }));
  EXPECT_TRUE(is_bad([](Problem* p) { p->compute_cost.pop_back(); }));
  EXPECT_TRUE(is_bad([](Problem* p) { p->tensors[0].bytes = -1; }));
  EXPECT_TRUE(is_bad([](Problem* p) { p->tensors[0].consumers = {2, 1}; }));
  EXPECT_TRUE(is_bad([](Problem* p) { p->tensors[0].consumers = {0}; }));
  EXPECT_TRUE(is_bad([](Problem* p) { p->tensors[0].producer = 7; }));
  EXPECT_TRUE(is_bad([](Problem* p) { p->shared.push_back({1, {0, 5}}); }));
  EXPECT_TRUE(is_bad([](Problem* p) { p->together.push_back({0, 0}); }));
  EXPECT_TRUE(is_bad([](Problem* p) {
    p->tensors[0].bytes = kMaxCost / 2;
    p->machine.link_cost_per_byte = std::numeric_limits<std::int64_t>::max();
  }));
}

}  // namespace
}  // namespace neap::partition
