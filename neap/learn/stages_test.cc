// SPDX-License-Identifier: Apache-2.0
#include "neap/learn/stages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "neap/learn/sampler.h"
#include "neap/solve/partition/check.h"
#include "neap/solve/partition/cut.h"
#include "neap/solve/partition/partition.h"

namespace neap::learn {
namespace {

using testing::ElementsAre;

TEST(Stages, ChannelsOfAProblem) {
  partition::Problem problem;
  problem.num_ops = 3;
  problem.compute_cost = {1, 2, 3};
  problem.parameter_bytes = {10, 20, 30};
  problem.shared = {{5, {1, 2}}};
  problem.tensors = {{7, partition::kOutside, {0}, false}, {8, 0, {1, 2}, false}, {9, 2, {}, true}};
  problem.precedences = {{1, 2}};
  const Dag dag = DagOfStages(problem);
  EXPECT_THAT(dag.parents, ElementsAre(ElementsAre(), ElementsAre(0), ElementsAre(0, 1)));
  EXPECT_THAT(dag.weights[0], ElementsAre(10, 25, 30));
  EXPECT_THAT(dag.weights[1], ElementsAre(1, 2, 3));
  EXPECT_THAT(dag.weights[2], ElementsAre(8, 0, 9));
}

// On small graphs: an assignment that the checker lets pass, no faster than the optimum.
TEST(Stages, TheLearnedAssignmentIsJudgedByTheExactOne) {
  Random random(11);
  const Network network(BuiltinModel(Task::kStages));
  for (int i = 0; i < 300; ++i) {
    SamplerOptions options;
    options.nodes = 12;
    options.min_levels = 3;
    partition::Problem problem = StagesOfDag(Sample(options, &random), 3, &random);
    ASSERT_EQ(partition::Validate(problem), std::nullopt);
    const auto learned = AssignStages(network, problem);
    ASSERT_TRUE(learned.best);
    EXPECT_EQ(partition::FindViolation(problem, *learned.best), std::nullopt);
    const auto exact = partition::Solve(problem, {});
    ASSERT_TRUE(exact && exact->optimal());
    EXPECT_GE(learned.best->bottleneck, exact->best.bottleneck);
    // The Edge TPU rule: children of a node in one stage.
    const auto children = ChildrenOf(DagOfStages(problem));
    for (const auto& group : children) {
      if (group.size() > 1) problem.together.push_back(group);
    }
    const auto ruled = AssignStages(network, problem);
    ASSERT_TRUE(ruled.best);
    EXPECT_EQ(partition::FindViolation(problem, *ruled.best), std::nullopt);
    for (const auto& group : problem.together) {
      for (const Node node : group) {
        EXPECT_EQ(ruled.best->stage_of[static_cast<std::size_t>(node)],
                  ruled.best->stage_of[static_cast<std::size_t>(group.front())]);
      }
    }
    EXPECT_GE(ruled.best->bottleneck, exact->best.bottleneck);
  }
}

// The document: "assigns these nodes to the earliest predicted stage among theirs", and a node in
// an earlier stage than a parent is pushed forward.
TEST(Stages, GroupsGoToTheEarliestPredictedStage) {
  Random random(13);
  const Network network(BuiltinModel(Task::kStages));
  int by_cut = 0;
  int moved = 0;
  for (int i = 0; i < 100; ++i) {
    partition::Problem problem =
        StagesOfDag(Sample({.nodes = 24, .degree = 2}, &random), 4, &random);
    const Dag dag = DagOfStages(problem);
    const auto alone = AssignStages(network, problem);
    ASSERT_TRUE(alone.best && alone.document && alone.grouped);
    EXPECT_EQ(alone.best->stage_of, alone.document->stage_of);
    // Children of one node, disjoint from the groups before them.
    std::vector<char> taken(dag.parents.size(), 0);
    for (std::vector<Node> group : ChildrenOf(dag)) {
      std::erase_if(group, [&](Node node) { return taken[static_cast<std::size_t>(node)] != 0; });
      for (const Node node : group) taken[static_cast<std::size_t>(node)] = 1;
      if (group.size() > 1) problem.together.push_back(std::move(group));
    }
    const auto found = AssignStages(network, problem);
    ASSERT_TRUE(found.best && found.document && found.grouped);
    EXPECT_EQ(partition::FindViolation(problem, *found.document), std::nullopt);
    EXPECT_LE(found.best->bottleneck, found.document->bottleneck);
    EXPECT_LE(found.best->bottleneck, found.grouped->bottleneck);
    by_cut += found.grouped->bottleneck < found.document->bottleneck ? 1 : 0;
    // The stage that a group and the operators between its members have to share.
    const partition::Classes classes = partition::ClassesOf(problem);
    const auto class_of = [&](Node node) {
      return static_cast<std::size_t>(classes.class_of[static_cast<std::size_t>(node)]);
    };
    std::vector<partition::Stage> earliest(static_cast<std::size_t>(classes.count), 3);
    std::vector<partition::Stage> before(static_cast<std::size_t>(classes.count), 0);
    for (Node node = 0; node < dag.NumNodes(); ++node) {
      const partition::Stage predicted = alone.document->stage_of[static_cast<std::size_t>(node)];
      earliest[class_of(node)] = std::min(earliest[class_of(node)], predicted);
      for (const Node parent : dag.parents[static_cast<std::size_t>(node)]) {
        if (class_of(parent) == class_of(node)) continue;
        before[class_of(node)] = std::max(
            before[class_of(node)], found.document->stage_of[static_cast<std::size_t>(parent)]);
      }
    }
    for (Node node = 0; node < dag.NumNodes(); ++node) {
      const auto at = static_cast<std::size_t>(node);
      EXPECT_EQ(found.document->stage_of[at],
                std::max(earliest[class_of(node)], before[class_of(node)]));
      moved += found.document->stage_of[at] < alone.document->stage_of[at] ? 1 : 0;
    }
  }
  EXPECT_GT(moved, 0);
  // Cutting with the groups in view is often faster.
  EXPECT_GT(by_cut, 0);
}

// Repair and cut turn any output of the network into an assignment.
TEST(Stages, UntrainedNetworksGiveAssignmentsToo) {
  Random random(12);
  std::int32_t violations = 0;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const Model model = InitialModel({.hidden = 8}, seed);
    const partition::Problem problem = StagesOfDag(Sample({}, &random), 4, &random);
    const auto learned = AssignStages(Network(model), problem);
    ASSERT_TRUE(learned.best);
    EXPECT_EQ(partition::FindViolation(problem, *learned.best), std::nullopt);
    violations += learned.violations;
  }
  EXPECT_GT(violations, 0);
}

}  // namespace
}  // namespace neap::learn
