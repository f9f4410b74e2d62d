// SPDX-License-Identifier: Apache-2.0
#include "neap/learn/stages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "neap/learn/sampler.h"
#include "neap/pipeline/check.h"
#include "neap/pipeline/cut.h"
#include "neap/pipeline/pipeline.h"

namespace neap::learn {
namespace {

using testing::ElementsAre;

TEST(Stages, ChannelsOfAProblem) {
  pipeline::Problem problem;
  problem.num_ops = 3;
  problem.compute_cost = {1, 2, 3};
  problem.parameter_bytes = {10, 20, 30};
  problem.shared = {{5, {1, 2}}};
  problem.tensors = {{7, pipeline::kOutside, {0}, false}, {8, 0, {1, 2}, false}, {9, 2, {}, true}};
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
    options.least_levels = 3;
    pipeline::Problem problem = StagesOfDag(Sample(options, &random), 3, &random);
    ASSERT_EQ(pipeline::Validate(problem), std::nullopt);
    const auto learned = AssignStages(network, problem);
    ASSERT_TRUE(learned.best);
    EXPECT_EQ(pipeline::FindViolation(problem, *learned.best), std::nullopt);
    const auto exact = pipeline::Solve(problem, {});
    ASSERT_TRUE(exact && exact->optimal());
    EXPECT_GE(learned.best->bottleneck, exact->best.bottleneck);
    // The Edge TPU rule: children of a node in one stage.
    const auto children = ChildrenOf(DagOfStages(problem));
    for (const auto& group : children) {
      if (group.size() > 1) problem.together.push_back(group);
    }
    const auto ruled = AssignStages(network, problem);
    ASSERT_TRUE(ruled.best);
    EXPECT_EQ(pipeline::FindViolation(problem, *ruled.best), std::nullopt);
    for (const auto& group : problem.together) {
      for (const Node node : group) {
        EXPECT_EQ(ruled.best->stage_of[static_cast<std::size_t>(node)],
                  ruled.best->stage_of[static_cast<std::size_t>(group.front())]);
      }
    }
    EXPECT_GE(ruled.best->bottleneck, exact->best.bottleneck);
  }
}

// Whatever the network says, repair and cut make an assignment of it.
TEST(Stages, UntrainedNetworksGiveAssignmentsToo) {
  Random random(12);
  std::int32_t violations = 0;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const Model model = InitialModel({.hidden = 8}, seed);
    const pipeline::Problem problem = StagesOfDag(Sample({}, &random), 4, &random);
    const auto learned = AssignStages(Network(model), problem);
    ASSERT_TRUE(learned.best);
    EXPECT_EQ(pipeline::FindViolation(problem, *learned.best), std::nullopt);
    violations += learned.violations;
  }
  EXPECT_GT(violations, 0);
}

}  // namespace
}  // namespace neap::learn
