// SPDX-License-Identifier: Apache-2.0
#include "neap/stages/assign.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace neap::stages {
namespace {

using graph::ElementType;
using graph::OpId;
using graph::SubgraphId;
using graph::TensorId;

// Layers in a chain: output elements, parameters, multiply-accumulates.
struct LayerSpec {
  std::int64_t elements;
  std::int64_t parameters;
  std::int64_t macs;
};

graph::Graph ChainGraph(const std::vector<LayerSpec>& specs) {
  graph::Graph graph;
  graph.subgraphs.push_back({});
  graph::Subgraph& main = graph.subgraphs[SubgraphId(0)];
  const auto tensor = [&](const std::string& name, std::int64_t elements, bool constant) {
    graph::Tensor made;
    made.name = name;
    made.type = ElementType::kFloat32;
    made.shape = graph::Shape{elements};
    made.constant = constant;
    return main.tensors.push_back(std::move(made));
  };
  TensorId last = tensor("in", 10, false);
  main.inputs = {last};
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const std::string name = "layer" + std::to_string(i);
    graph::Op op;
    op.type = "Conv";
    op.domain = "layer";
    op.attributes["multiply_accumulates"] = specs[i].macs;
    op.inputs = {last, tensor(name + "/w", specs[i].parameters, true)};
    last = tensor(name, specs[i].elements, false);
    op.outputs = {last};
    main.ops.push_back(std::move(op));
  }
  main.outputs = {last};
  return graph;
}

AssignOptions Options(partition::Stage stages, Method method = Method::kExact) {
  AssignOptions options;
  options.lower.accelerator = {"test", "", 1000, 5, 100, 2, 1, true};
  options.lower.stages = stages;
  options.method = method;
  return options;
}

TEST(Assign, FindsTheOptimumAndTheMemoryOfStages) {
  const graph::Graph graph = ChainGraph({{4, 50, 100}, {8, 120, 30}, {2, 10, 60}});
  const auto assigned = Assign(graph, Options(2));
  ASSERT_TRUE(assigned) << assigned.error().ToString();
  EXPECT_TRUE(assigned->optimal());
  // 5 + 100 + in 10 + out 4, or 5 + 90 + streamed (130 - 100) * 2 + in 4 + out 2.
  EXPECT_EQ(assigned->picoseconds, 161);
  ASSERT_EQ(assigned->stages.size(), 2U);
  EXPECT_EQ(assigned->stages[0].cost.cost, 119);
  EXPECT_EQ(assigned->stages[1].cached_bytes, 100);
  EXPECT_EQ(assigned->stages[0].activations.peak_bytes, 14);
  EXPECT_EQ(assigned->stages[1].activations.peak_bytes, 12);
  EXPECT_EQ(assigned->stages[1].part.inputs.size(), 1U);
  EXPECT_EQ(assigned->stages[1].part.outputs, graph.subgraphs[SubgraphId(0)].outputs);
}

TEST(Assign, EveryMethodGivesAnAssignmentAndTheSameBound) {
  const graph::Graph graph =
      ChainGraph({{4, 50, 100}, {8, 120, 30}, {2, 10, 60}, {9, 70, 20}, {3, 30, 90}});
  const auto exact = Assign(graph, Options(3));
  ASSERT_TRUE(exact);
  for (const MethodEntry& method : Methods()) {
    EXPECT_EQ(MethodNamed(method.name), method.method);
    const auto assigned = Assign(graph, Options(3, method.method));
    ASSERT_TRUE(assigned) << method.name;
    EXPECT_EQ(assigned->lower_bound, exact->lower_bound);
    EXPECT_GE(assigned->assignment.bottleneck, exact->assignment.bottleneck);
  }
}

TEST(Assign, ByParametersMakesTheLargestMemoryLeast) {
  AssignOptions options = Options(2);
  options.lower.objective = Objective::kParameters;
  const auto assigned = Assign(ChainGraph({{4, 50, 1}, {8, 120, 1}, {2, 10, 1}}), options);
  ASSERT_TRUE(assigned);
  EXPECT_EQ(assigned->assignment.bottleneck, 130);
  EXPECT_TRUE(assigned->optimal());
}

// The peak of one stage with everything is that of layer 1: 40 + 50.
TEST(Assign, KeepsALimitOfActivations) {
  const graph::Graph graph = ChainGraph({{40, 1, 9}, {50, 1, 9}, {1, 1, 9}});
  AssignOptions options = Options(3);
  options.lower.accelerator.link_picoseconds_per_byte = 100;
  options.activation_limit_bytes = 90;
  EXPECT_TRUE(Assign(graph, options));
  options.activation_limit_bytes = 89;
  const auto none = Assign(graph, options);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::kOverBudget);
}

// Less than one operator needs by itself is a proof, without a search.
TEST(Assign, ProvesThatAnOperatorExceedsALimit) {
  const graph::Graph graph = ChainGraph({{40, 1, 9}, {50, 1, 9}, {1, 7, 9}});
  std::optional<Infeasible> infeasible;
  AssignOptions options = Options(3);
  options.infeasible = &infeasible;
  options.activation_limit_bytes = 89;
  const auto none = Assign(graph, options);
  ASSERT_FALSE(none);
  ASSERT_TRUE(infeasible);
  EXPECT_EQ(infeasible->limit, Infeasible::Limit::kActivations);
  EXPECT_EQ(infeasible->op, OpId(1));
  EXPECT_EQ(infeasible->needed_bytes, 40 + 50);
  EXPECT_EQ(infeasible->limit_bytes, 89);
  EXPECT_EQ(none.error().code, ErrorCode::kOverBudget);
  EXPECT_NE(none.error().ToString().find("no assignment is within the limit of activations"),
            std::string::npos);
  EXPECT_NE(none.error().ToString().find("#1"), std::string::npos) << none.error().ToString();
  infeasible.reset();
  options.activation_limit_bytes = 90;
  EXPECT_TRUE(Assign(graph, options));
  EXPECT_FALSE(infeasible);
  options.activation_limit_bytes = -1;
  options.lower.parameter_limit_bytes = 6;
  EXPECT_FALSE(Assign(graph, options));
  ASSERT_TRUE(infeasible);
  EXPECT_EQ(infeasible->limit, Infeasible::Limit::kParameters);
  EXPECT_EQ(infeasible->op, OpId(2));
  EXPECT_EQ(infeasible->needed_bytes, 7);
}

// Every operator fits, and no assignment does: an exhausted search proves it; one cut short does
// not.
TEST(Assign, ProvesThatNoAssignmentKeepsALimit) {
  const graph::Graph graph = ChainGraph({{4, 5, 1}, {4, 5, 1}, {4, 5, 1}});
  std::optional<Infeasible> infeasible;
  AssignOptions options = Options(2);
  options.infeasible = &infeasible;
  options.lower.parameter_limit_bytes = 7;
  const auto none = Assign(graph, options);
  ASSERT_FALSE(none);
  ASSERT_TRUE(infeasible);
  EXPECT_FALSE(infeasible->op.valid());
  EXPECT_EQ(infeasible->limit, Infeasible::Limit::kParameters);
  infeasible.reset();
  options.limits.max_states = 1;
  const auto cut_short = Assign(graph, options);
  ASSERT_FALSE(cut_short);
  EXPECT_FALSE(infeasible);
  EXPECT_NE(cut_short.error().ToString().find("no proof"), std::string::npos);
}

TEST(Assign, MakesTheUseOfASharedLinkLeast) {
  const graph::Graph graph = ChainGraph({{40, 1, 100}, {40, 1, 100}, {40, 1, 100}});
  AssignOptions options = Options(3);
  const auto apart = Assign(graph, options);
  ASSERT_TRUE(apart);
  EXPECT_EQ(apart->stages.size(), 3U);
  EXPECT_EQ(apart->link_picoseconds, 0);
  options.lower.shared_link = true;
  options.lower.accelerator.link_picoseconds_per_byte = 2;
  const auto shared = Assign(graph, options);
  ASSERT_TRUE(shared);
  std::int64_t link = 0;
  for (const AssignedStage& stage : shared->stages) link += stage.cost.link_cost;
  EXPECT_EQ(shared->link_picoseconds, link);
  EXPECT_GE(shared->Value(), std::max(link, shared->picoseconds));
  EXPECT_GE(shared->Value(), shared->lower_bound);
  for (const MethodEntry& method : Methods()) {
    options.method = method.method;
    const auto other = Assign(graph, options);
    ASSERT_TRUE(other) << method.name;
    EXPECT_GE(other->Value(), shared->Value()) << method.name;
    EXPECT_EQ(other->lower_bound, shared->lower_bound) << method.name;
  }
}

// One stage transfers least, but keeps an early output live until its end.
TEST(Assign, SplitsWhatNeedsTooMuchTogether) {
  graph::Graph graph = ChainGraph({{40, 1, 1}, {50, 1, 1}, {1, 1, 1}});
  graph::Subgraph& main = graph.subgraphs[SubgraphId(0)];
  graph::Tensor early = main.tensors[main.ops[OpId(0)].outputs[0]];
  early.name = "early";
  const TensorId output = main.tensors.push_back(early);
  main.ops[OpId(0)].outputs.push_back(output);
  main.outputs.push_back(output);
  AssignOptions options = Options(2);
  options.lower.accelerator.link_picoseconds_per_byte = 1000;
  const auto free = Assign(graph, options);
  ASSERT_TRUE(free);
  ASSERT_EQ(free->stages.size(), 1U);
  EXPECT_EQ(free->stages[0].activations.peak_bytes, 40 + 40 + 50);
  options.activation_limit_bytes = 129;
  const auto tight = Assign(graph, options);
  ASSERT_TRUE(tight) << tight.error().ToString();
  EXPECT_EQ(tight->stages.size(), 2U);
  EXPECT_TRUE(tight->optimal());
  EXPECT_GT(tight->excluded_stages, 0);
  EXPECT_GT(tight->picoseconds, free->picoseconds);
  for (const auto& stage : tight->stages) EXPECT_LE(stage.activations.peak_bytes, 129);
}

TEST(Assign, RefusesLimitsThatCannotBeKept) {
  AssignOptions options = Options(2);
  options.lower.parameter_limit_bytes = 60;
  const auto none = Assign(ChainGraph({{4, 50, 1}, {8, 120, 1}}), options);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::kOverBudget);
}

}  // namespace
}  // namespace neap::stages
