// SPDX-License-Identifier: Apache-2.0
//
// Graphs, labels, repair, embedding and the ordering problem of the learned scheduler.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "neap/base/index.h"
#include "neap/learn/labels.h"
#include "neap/learn/network.h"
#include "neap/learn/peak.h"
#include "neap/learn/repair.h"
#include "neap/learn/sampler.h"
#include "neap/solve/schedule/check.h"

namespace neap::learn {
namespace {

using testing::ElementsAre;

// 0 -> 1 -> 3, 0 -> 2 -> 3
Dag Diamond() {
  Dag dag;
  dag.parents = {{}, {0}, {0}, {1, 2}};
  for (auto& channel : dag.weights) channel = {1, 2, 3, 4};
  return dag;
}

std::size_t At(Node node) { return static_cast<std::size_t>(node); }

std::vector<Node> Shuffled(Node size, Random* random) {
  std::vector<Node> order(At(size));
  std::iota(order.begin(), order.end(), 0);
  random->Shuffle(order);
  return order;
}

bool IsConnected(const Dag& dag) {
  std::vector<std::set<Node>> next(dag.parents.size());
  for (Node node = 0; node < dag.NumNodes(); ++node) {
    for (const Node parent : dag.parents[At(node)]) {
      next[At(node)].insert(parent);
      next[At(parent)].insert(node);
    }
  }
  std::set<Node> seen = {0};
  std::vector<Node> open = {0};
  while (!open.empty()) {
    const Node node = open.back();
    open.pop_back();
    for (const Node other : next[At(node)]) {
      if (seen.insert(other).second) open.push_back(other);
    }
  }
  return seen.size() == dag.parents.size();
}

TEST(Dag, LevelsHeightsAndChildren) {
  const Dag dag = Diamond();
  EXPECT_THAT(LevelsOf(dag), ElementsAre(0, 1, 1, 2));
  EXPECT_THAT(HeightsOf(dag), ElementsAre(2, 1, 1, 0));
  EXPECT_THAT(TopologicalOrder(dag), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(ChildrenOf(dag),
              ElementsAre(ElementsAre(1, 2), ElementsAre(3), ElementsAre(3), ElementsAre()));
}

TEST(Sampler, KeepsEveryPromise) {
  Random random(1);
  std::set<std::int32_t> levels_seen;
  std::size_t max_parents = 0;
  for (int i = 0; i < 1000; ++i) {
    SamplerOptions options;
    options.nodes = 30;
    options.degree = 2 + i % 5;
    const Dag dag = Sample(options, &random);
    ASSERT_EQ(dag.NumNodes(), 30);
    EXPECT_TRUE(IsConnected(dag));
    const auto levels = LevelsOf(dag);
    const std::int32_t count = *std::max_element(levels.begin(), levels.end()) + 1;
    EXPECT_GE(count, options.min_levels);
    EXPECT_LE(count, options.max_levels);
    levels_seen.insert(count);
    for (Node node = 0; node < 30; ++node) {
      const auto& parents = dag.parents[At(node)];
      EXPECT_LE(parents.size(), static_cast<std::size_t>(options.degree));
      max_parents = std::max(max_parents, parents.size());
      EXPECT_TRUE(std::is_sorted(parents.begin(), parents.end()));
      EXPECT_EQ(std::adjacent_find(parents.begin(), parents.end()), parents.end());
      for (const auto& channel : dag.weights) {
        EXPECT_GE(channel[At(node)], 1);
        EXPECT_LE(channel[At(node)], options.max_weight);
      }
    }
  }
  EXPECT_EQ(levels_seen.size(), 16U);  // all of 10 to 25
  EXPECT_EQ(max_parents, 6U);
}

TEST(Sampler, TheSameSeedTheSameGraph) {
  Random one(7);
  Random two(7);
  Random other(8);
  const Dag dag = Sample({}, &one);
  EXPECT_EQ(dag.parents, Sample({}, &two).parents);
  EXPECT_NE(dag.parents, Sample({}, &other).parents);
}

TEST(Sampler, SmallAndLargeGraphs) {
  Random random(3);
  for (const std::int32_t nodes : {1, 2, 3, 50, 782}) {
    SamplerOptions options;
    options.nodes = nodes;
    options.max_levels = 600;
    EXPECT_EQ(Sample(options, &random).NumNodes(), nodes);
  }
}

// Without a cap the two kinds of labels match their names.
TEST(Labels, AsapIsTheLevelAndAlapTheHeight) {
  Random random(2);
  for (int i = 0; i < 200; ++i) {
    const Dag dag = Sample({}, &random);
    const auto levels = LevelsOf(dag);
    const auto heights = HeightsOf(dag);
    const std::int32_t depth = *std::max_element(levels.begin(), levels.end());
    const Labels asap = AsapLabels(dag, std::int64_t{1} << 40);
    const Labels alap = AlapLabels(dag, std::int64_t{1} << 40);
    for (std::size_t node = 0; node < levels.size(); ++node) {
      EXPECT_EQ(asap[node], levels[node] + 1);
      EXPECT_EQ(alap[node], depth + 1 - heights[node]);
    }
  }
}

TEST(Labels, StepsKeepTheCapAndThePrecedences) {
  Random random(4);
  constexpr std::int64_t kCap = 6'000;
  for (int i = 0; i < 500; ++i) {
    SamplerOptions options;
    options.min_levels = 3;
    const Dag dag = Sample(options, &random);
    for (const Labels& labels : {AsapLabels(dag, kCap), AlapLabels(dag, kCap)}) {
      std::vector<std::int64_t> used(32, 0);
      std::vector<int> count(32, 0);
      for (Node node = 0; node < dag.NumNodes(); ++node) {
        ASSERT_GE(labels[At(node)], 1);
        ASSERT_LE(labels[At(node)], 30);
        used[At(labels[At(node)])] += dag.weights[0][At(node)];
        ++count[At(labels[At(node)])];
        for (const Node parent : dag.parents[At(node)]) {
          EXPECT_LT(labels[At(parent)], labels[At(node)]);
        }
      }
      for (std::size_t step = 0; step < used.size(); ++step) {
        EXPECT_TRUE(used[step] <= kCap || count[step] == 1);
      }
    }
  }
}

TEST(Labels, RewardAndMismatchByHand) {
  const Labels labels = {1, 2, 2, 3};
  EXPECT_DOUBLE_EQ(CosineReward(labels, std::vector<Node>{0, 2, 1, 3}), 1);
  EXPECT_EQ(Mismatch(labels, std::vector<Node>{0, 2, 1, 3}), 0);
  // 3 2 2 1 against 1 2 2 3: (3 + 4 + 4 + 3) / 18
  EXPECT_DOUBLE_EQ(CosineReward(labels, std::vector<Node>{3, 1, 2, 0}), 14.0 / 18);
  EXPECT_EQ(Mismatch(labels, std::vector<Node>{3, 1, 2, 0}), 2);
  EXPECT_THAT(LabelsOfOrder(std::vector<Node>{2, 0, 1}), ElementsAre(2, 3, 1));
  EXPECT_THAT(OrderOfLabels({2, 1, 2, 1}), ElementsAre(1, 3, 0, 2));
}

// The definition, literally: a node before a parent waits; as soon as the last parent has run, the
// waiting ones run, in the order of their places.
std::vector<Node> RepairByHand(const Dag& dag, const std::vector<Node>& order) {
  std::vector<Node> out;
  std::vector<Node> waiting;
  const auto can_run = [&](Node node) {
    return std::all_of(dag.parents[At(node)].begin(), dag.parents[At(node)].end(),
                       [&](Node p) { return std::find(out.begin(), out.end(), p) != out.end(); });
  };
  for (const Node node : order) {
    waiting.push_back(node);
    for (bool more = true; more;) {
      const auto first = std::find_if(waiting.begin(), waiting.end(), can_run);
      more = first != waiting.end();
      if (!more) break;
      out.push_back(*first);
      waiting.erase(first);
    }
  }
  return out;
}

TEST(Repair, IsTheDefinitionOnThousands) {
  Random random(5);
  for (int i = 0; i < 3000; ++i) {
    SamplerOptions options;
    options.nodes = static_cast<std::int32_t>(random.Between(1, 14));
    options.min_levels = 1;
    const Dag dag = Sample(options, &random);
    const auto order = Shuffled(dag.NumNodes(), &random);
    const auto repaired = Repair(dag, order);
    EXPECT_EQ(repaired, RepairByHand(dag, order));
    EXPECT_EQ(Violations(dag, repaired), 0);
    EXPECT_EQ(Repair(dag, repaired), repaired);
  }
}

TEST(Repair, CountsNodesBeforeTheirParents) {
  EXPECT_EQ(Violations(Diamond(), std::vector<Node>{0, 1, 2, 3}), 0);
  EXPECT_EQ(Violations(Diamond(), std::vector<Node>{0, 3, 2, 1}), 1);
  EXPECT_EQ(Violations(Diamond(), std::vector<Node>{3, 2, 1, 0}), 3);
  EXPECT_THAT(Repair(Diamond(), std::vector<Node>{3, 2, 0, 1}), ElementsAre(0, 2, 1, 3));
}

TEST(Embedding, TheDocumentsRow) {
  const Rows rows = Embed(Diamond(), Embedding::kDocument, Queue::kNumber);
  ASSERT_EQ(rows.features, 15U);
  const std::vector<float> last(rows.values.end() - 15, rows.values.end());
  EXPECT_THAT(last,
              ElementsAre(3.0F / 16, 2.0F / 16, 2.0F / 16, 0, 0, 0, 0, 1.0F / 16, 2.0F / 16,
                          -1.0F / 16, -1.0F / 16, -1.0F / 16, -1.0F / 16, 3.0F / 16, 4.0F / 2500));
}

TEST(Embedding, ReadsByLevelWhereAskedTo) {
  Dag dag;
  dag.parents = {{1}, {2}, {}};
  const Rows rows = Embed(dag, Embedding::kRelative, Queue::kLevel);
  EXPECT_THAT(rows.node_of, ElementsAre(2, 1, 0));
  EXPECT_THAT(rows.row, ElementsAre(2, 1, 0));
  EXPECT_THAT(rows.parents, ElementsAre(ElementsAre(), ElementsAre(0), ElementsAre(1)));
}

// 30 nodes and 782, kilobytes and gigabytes: the same range, and no unit.
TEST(Embedding, RelativeRowsHaveNoScale) {
  Random random(6);
  for (const std::int32_t nodes : {1, 30, 782}) {
    SamplerOptions options;
    options.nodes = nodes;
    options.max_levels = 700;
    Dag dag = Sample(options, &random);
    const Rows rows = Embed(dag, Embedding::kRelative, Queue::kLevel);
    ASSERT_EQ(rows.values.size(), At(nodes) * kRelativeFeatures);
    for (const float value : rows.values) {
      EXPECT_GE(value, -1);
      EXPECT_LE(value, 2);
    }
    for (auto& channel : dag.weights) {
      for (std::int64_t& weight : channel) weight <<= 20;
    }
    EXPECT_EQ(Embed(dag, Embedding::kRelative, Queue::kLevel).values, rows.values);
  }
}

// On small graphs the learned order is an order, no better than the optimum, and the bound is one.
TEST(Peak, TheLearnedOrderIsJudgedByTheExactOne) {
  Random random(9);
  const Network network(BuiltinModel(Task::kPeak));
  for (int i = 0; i < 300; ++i) {
    SamplerOptions options;
    options.nodes = 14;
    options.min_levels = 3;
    const schedule::Problem problem = ProblemOfDag(Sample(options, &random));
    ASSERT_EQ(schedule::Validate(problem), std::nullopt);
    const auto best = schedule::Solve(problem, {});
    ASSERT_TRUE(best.optimal());
    const auto learned = LearnedOrder(network, problem, {});
    const auto replay = schedule::ReplayOrder(problem, learned.order);
    ASSERT_TRUE(replay);
    EXPECT_EQ(replay->peak_bytes, learned.peak_bytes);
    EXPECT_GE(learned.peak_bytes, best.peak_bytes);
    EXPECT_LE(learned.lower_bound_bytes, best.peak_bytes);
  }
}

// The built-in network is nearer to the optimum than the order in which it reads the nodes, on
// graphs that it has not seen.
TEST(Peak, LearningShows) {
  Random random(20'261);
  const Network network(BuiltinModel(Task::kPeak));
  double learned = 0;
  double by_level = 0;
  for (int i = 0; i < 200; ++i) {
    const schedule::Problem problem = ProblemOfDag(Sample({}, &random));
    const Dag dag = DagOfProblem(problem);
    const Rows rows = Embed(dag, Embedding::kRelative, Queue::kLevel);
    const auto best = static_cast<double>(schedule::Solve(problem, {}).peak_bytes);
    const auto peak = [&](const std::vector<Node>& order) {
      return static_cast<double>(schedule::ReplayOrder(problem, order)->peak_bytes);
    };
    learned += peak(LearnedOrder(network, problem, {}).order) / best - 1;
    by_level += peak(rows.node_of) / best - 1;
  }
  EXPECT_LT(learned, by_level * 0.8);
}

TEST(Peak, ChannelsOfAProblem) {
  schedule::Problem problem;
  problem.num_ops = 3;
  problem.precedences = {{0, 1}, {0, 2}, {0, 1}};
  problem.buffers = {{10, {0}, true, false},         // an input, ends at 0
                     {20, {0, 1, 2}, false, false},  // from 0 to 1 and 2
                     {30, {1}, false, true}};        // the output of 1
  problem.scratch_bytes = {0, 0, 5};
  const Dag dag = DagOfProblem(problem);
  EXPECT_THAT(dag.parents, ElementsAre(ElementsAre(), ElementsAre(0), ElementsAre(0)));
  EXPECT_THAT(dag.weights[0], ElementsAre(20, 30, 0));
  EXPECT_THAT(dag.weights[1], ElementsAre(10, 10, 10));
  EXPECT_THAT(dag.weights[2], ElementsAre(30, 50, 25));
}

}  // namespace
}  // namespace neap::learn
