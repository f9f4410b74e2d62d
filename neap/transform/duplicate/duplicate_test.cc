// SPDX-License-Identifier: Apache-2.0
#include "neap/transform/duplicate/duplicate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "neap/base/random.h"
#include "neap/check/repetition_check.h"
#include "testing/cases.h"
#include "testing/sketch.h"

namespace neap::duplicate {
namespace {

using graph::ElementType;
using graph::OpId;
using graph::SubgraphId;
using graph::TensorId;
using ::testing::HasSubstr;

// Every operator reads up to two tensors before it; one of them draws random numbers.
graph::Graph RandomGraph(Random* random) {
  graph::Sketch sketch;
  std::vector<TensorId> tensors{sketch.Input(ElementType::kFloat32, {1, 4})};
  const std::int64_t ops = random->Between(2, 8);
  for (std::int64_t i = 0; i < ops; ++i) {
    const TensorId a = tensors[random->Below(tensors.size())];
    const TensorId b = tensors[random->Below(tensors.size())];
    tensors.push_back(sketch.Tensor(ElementType::kFloat32, {1, 4}));
    switch (random->Below(4)) {
      case 0:
        sketch.Op("", "Relu", {a}, {tensors.back()});
        break;
      case 1:
        sketch.Op("", "LeakyRelu", {a}, {tensors.back()}, {{"alpha", 0.5}});
        break;
      case 2:
        sketch.Op("", "RandomNormalLike", {a}, {tensors.back()});
        sketch.Main().ops[OpId(sketch.Main().ops.size() - 1)].stateful = true;
        break;
      default:
        sketch.Op("", "Add", {a, b}, {tensors.back()});
    }
  }
  sketch.Output(tensors.back());
  return sketch.graph();
}

std::vector<OpId> RandomSequence(const graph::Graph& graph, Random* random) {
  const auto repeatable = Repeatable(graph);
  std::vector<OpId> sequence;
  for (const OpId id : graph.subgraphs[SubgraphId(0)].ops.Ids()) {
    sequence.push_back(id);
    while (random->Chance(1, 3)) {
      const OpId again = sequence[random->Below(sequence.size())];
      if (repeatable[again] != 0) sequence.push_back(again);
    }
  }
  return sequence;
}

TEST(Duplicate, TheCheckerAcceptsEverySequence) {
  Random random(1);
  const int cases = Cases(500);
  std::size_t added = 0;
  for (int i = 0; i < cases; ++i) {
    SCOPED_TRACE("case " + std::to_string(i));
    const graph::Graph graph = RandomGraph(&random);
    ASSERT_TRUE(graph::Verify(graph));
    const std::vector<OpId> sequence = RandomSequence(graph, &random);
    const auto edited = Apply(graph, sequence);
    ASSERT_TRUE(edited) << edited.error().ToString();
    const auto& main = edited->subgraphs[SubgraphId(0)];
    EXPECT_EQ(main.ops.size(), sequence.size());
    EXPECT_EQ(check::FindWrongRepetition(graph, *edited), "");
    added += sequence.size() - graph.subgraphs[SubgraphId(0)].ops.size();
  }
  EXPECT_GT(added, static_cast<std::size_t>(cases));
}

// A copy that reads another tensor, has another attribute or type, and a lost operator.
TEST(Duplicate, TheCheckerFindsOtherValues) {
  Random random(2);
  const int cases = Cases(500);
  int changed = 0;
  for (int i = 0; i < cases; ++i) {
    SCOPED_TRACE("case " + std::to_string(i));
    const graph::Graph graph = RandomGraph(&random);
    auto edited = Apply(graph, RandomSequence(graph, &random));
    ASSERT_TRUE(edited);
    auto& main = edited->subgraphs[SubgraphId(0)];
    const OpId id(random.Below(main.ops.size()));
    graph::Op& op = main.ops[id];
    // Each of these computes something that no operator of the graph does.
    switch (random.Below(3)) {
      case 0:
        op.type = "Sigmoid";
        op.kind = {};
        break;
      case 1:
        op.attributes["unknown"] = std::int64_t{1};
        break;
      default:
        main.tensors[op.outputs.front()].shape = graph::Shape{4, 1};
    }
    EXPECT_NE(check::FindWrongRepetition(graph, *edited), "");
    ++changed;
  }
  EXPECT_GT(changed, 0);
}

// in -> a -> b -> c, and c reads a.
graph::Graph Skip() {
  graph::Sketch sketch;
  const TensorId in = sketch.Input(ElementType::kFloat32, {4});
  const TensorId a = sketch.Tensor(ElementType::kFloat32, {4});
  const TensorId b = sketch.Tensor(ElementType::kFloat32, {4});
  const TensorId c = sketch.Tensor(ElementType::kFloat32, {4});
  sketch.Op("", "Relu", {in}, {a});
  sketch.Op("", "Sigmoid", {a}, {b});
  sketch.Op("", "Add", {a, b}, {c});
  sketch.Output(c);
  return sketch.graph();
}

TEST(Duplicate, ACopyIsReadUntilTheNextRun) {
  const graph::Graph graph = Skip();
  const auto edited = Apply(graph, std::vector<OpId>{OpId(0), OpId(1), OpId(0), OpId(2)});
  ASSERT_TRUE(edited);
  const auto& main = edited->subgraphs[SubgraphId(0)];
  ASSERT_EQ(main.ops.size(), 4U);
  ASSERT_EQ(main.tensors.size(), 5U);
  EXPECT_EQ(main.tensors[TensorId(4)].name, "t1_run1");
  EXPECT_EQ(main.ops[OpId(0)].source_index, -1);
  EXPECT_EQ(main.ops[OpId(0)].outputs.front(), TensorId(4));
  EXPECT_EQ(main.ops[OpId(1)].inputs.front(), TensorId(4));
  EXPECT_EQ(main.ops[OpId(2)].source_index, 0);
  EXPECT_EQ(main.ops[OpId(3)].inputs, (std::vector<TensorId>{TensorId(1), TensorId(2)}));
}

TEST(Duplicate, RefusesOtherSequences) {
  graph::Graph graph = Skip();
  const auto refused = [&](const std::vector<int>& ops) {
    std::vector<OpId> sequence;
    for (const int op : ops) sequence.emplace_back(op);
    const auto edited = Apply(graph, sequence);
    EXPECT_FALSE(edited);
    return edited ? "" : edited.error().ToString();
  };
  EXPECT_THAT(refused({0, 1}), HasSubstr("does not run in the sequence"));
  EXPECT_THAT(refused({1, 0, 2}), HasSubstr("reads a tensor before it is written"));
  EXPECT_THAT(refused({0, 1, 2, 7}), HasSubstr("has an operator that the graph lacks"));
  graph.subgraphs[SubgraphId(0)].ops[OpId(0)].stateful = true;
  EXPECT_THAT(refused({0, 1, 0, 2}), HasSubstr("cannot run again"));
  graph.subgraphs[SubgraphId(0)].ops[OpId(0)].stateful = false;
  graph.subgraphs[SubgraphId(0)].control_edges.push_back({OpId(0), OpId(2)});
  EXPECT_THAT(refused({0, 1, 0, 2}), HasSubstr("cannot run again"));
}

}  // namespace
}  // namespace neap::duplicate
