// SPDX-License-Identifier: Apache-2.0
#include "neap/stages/lower.h"

#include <gtest/gtest.h>

#include <string>

namespace neap::stages {
namespace {

using graph::ElementType;
using graph::OpId;
using graph::SubgraphId;
using graph::TensorId;

constexpr Accelerator kAccelerator{"test", "", 2000, 7, 100, 3, 5, true};

// Builds a graph of MatMuls and sums by hand.
class Maker {
 public:
  Maker() { graph.subgraphs.push_back({}); }
  graph::Subgraph& Main() { return graph.subgraphs[SubgraphId(0)]; }
  TensorId Tensor(const std::string& name, graph::Shape shape, bool constant = false,
                  ElementType type = ElementType::kFloat32) {
    graph::Tensor tensor;
    tensor.name = name;
    tensor.type = type;
    tensor.shape = std::move(shape);
    tensor.constant = constant;
    return Main().tensors.push_back(tensor);
  }
  OpId Op(const std::string& type, std::vector<TensorId> inputs, std::vector<TensorId> outputs) {
    graph::Op op;
    op.type = type;
    op.inputs = std::move(inputs);
    op.outputs = std::move(outputs);
    return Main().ops.push_back(op);
  }
  graph::Graph graph;
};

// in -> MatMul(w) -> a -> MatMul(w) -> b -> Add(a, b) -> out
Maker Small() {
  Maker m;
  const TensorId in = m.Tensor("in", {1, 4});
  const TensorId w = m.Tensor("w", {4, 4}, true);
  const TensorId a = m.Tensor("a", {1, 4});
  const TensorId b = m.Tensor("b", {1, 4});
  const TensorId out = m.Tensor("out", {1, 4});
  m.Op("MatMul", {in, w}, {a});
  m.Op("MatMul", {a, w}, {b});
  m.Op("Add", {a, b}, {out});
  m.Main().inputs = {in};
  m.Main().outputs = {out};
  return m;
}

// A quantised model has biases of 32 bits; other constants of floats are bytes.
TEST(Lower, CountsBiasesOfFloatsAsThoseOfAQuantisedModel) {
  Maker m;
  const TensorId in = m.Tensor("in", {1, 2, 4, 4});
  const TensorId w = m.Tensor("w", {3, 2, 1, 1}, true);
  const TensorId bias = m.Tensor("bias", {3}, true);
  const TensorId out = m.Tensor("out", {1, 3, 4, 4});
  m.Op("Conv", {in, w, bias}, {out});
  m.Main().inputs = {in};
  m.Main().outputs = {out};
  const auto lowered = Lower(m.graph, {.accelerator = kAccelerator, .stages = 1});
  ASSERT_TRUE(lowered);
  EXPECT_EQ(lowered->problem.parameter_bytes[0], 6 + 3 * 4);
  // The same constant as weights is none.
  m.Main().ops[OpId(0)].inputs = {in, bias, w};
  EXPECT_EQ(Lower(m.graph, {.accelerator = kAccelerator, .stages = 1})->problem.parameter_bytes[0],
            3 + 6 * 4);
  Accelerator floats = kAccelerator;
  floats.int8 = false;
  m.Main().ops[OpId(0)].inputs = {in, w, bias};
  EXPECT_EQ(Lower(m.graph, {.accelerator = floats, .stages = 1})->problem.parameter_bytes[0],
            4 * 9);
}

TEST(Lower, CountsWhatTheDeviceDoes) {
  const Maker m = Small();
  const auto lowered = Lower(m.graph, {.accelerator = kAccelerator, .stages = 2});
  ASSERT_TRUE(lowered) << lowered.error().ToString();
  const partition::Problem& problem = lowered->problem;
  EXPECT_EQ(problem.num_ops, 3);
  // 16 multiplications of 2 ps.
  EXPECT_EQ(problem.compute_cost, (std::vector<std::int64_t>{32, 32, 0}));
  EXPECT_EQ(problem.parameter_bytes, (std::vector<std::int64_t>{0, 0, 0}));
  ASSERT_EQ(problem.shared.size(), 1U);
  EXPECT_EQ(problem.shared[0].bytes, 16);
  EXPECT_EQ(problem.shared[0].users, (std::vector<partition::OpIndex>{0, 1}));
  ASSERT_EQ(problem.tensors.size(), 4U);
  EXPECT_EQ(problem.tensors[0].producer, partition::kOutside);
  EXPECT_EQ(problem.tensors[1].consumers, (std::vector<partition::OpIndex>{1, 2}));
  EXPECT_EQ(problem.tensors[1].bytes, 4);
  EXPECT_TRUE(problem.tensors[3].output);
  EXPECT_EQ(problem.machine.fixed_cost, 7);
  EXPECT_EQ(problem.machine.link_cost_per_byte, 5);
}

TEST(Lower, CountsBytesOfTheFileWhereTheDeviceDoesNotQuantise) {
  Accelerator accelerator = kAccelerator;
  accelerator.int8 = false;
  const Maker m = Small();
  const auto lowered = Lower(m.graph, {.accelerator = accelerator, .stages = 2});
  ASSERT_TRUE(lowered);
  EXPECT_EQ(lowered->problem.shared[0].bytes, 64);
  EXPECT_EQ(lowered->problem.tensors[0].bytes, 16);
}

TEST(Lower, OfParametersCountsNothingElse) {
  const Maker m = Small();
  const auto lowered = Lower(
      m.graph, {.accelerator = kAccelerator, .stages = 2, .objective = Objective::kParameters});
  ASSERT_TRUE(lowered);
  EXPECT_EQ(lowered->problem.machine.stream_cost_per_byte, 1);
  EXPECT_EQ(lowered->problem.machine.cache_bytes, 0);
  EXPECT_EQ(lowered->problem.machine.fixed_cost, 0);
  EXPECT_EQ(lowered->problem.compute_cost, (std::vector<std::int64_t>{0, 0, 0}));
}

TEST(Lower, KeepsChildrenStateAndVariablesTogether) {
  Maker m = Small();
  const auto lowered =
      Lower(m.graph, {.accelerator = kAccelerator, .stages = 2, .children_together = true});
  ASSERT_TRUE(lowered);
  EXPECT_EQ(lowered->problem.together, (std::vector<std::vector<partition::OpIndex>>{{1, 2}}));
  m.Main().ops[OpId(0)].stateful = true;
  m.Main().ops[OpId(2)].stateful = true;
  m.Main().control_edges.push_back({OpId(0), OpId(2)});
  const auto stateful = Lower(m.graph, {.accelerator = kAccelerator, .stages = 2});
  ASSERT_TRUE(stateful);
  EXPECT_EQ(stateful->problem.together, (std::vector<std::vector<partition::OpIndex>>{{0, 2}}));
  EXPECT_EQ(stateful->problem.precedences.size(), 1U);
}

TEST(Lower, NamesWhatHasNoSize) {
  Maker m = Small();
  m.Main().tensors[TensorId(2)].shape = graph::Shape{1, -1};
  const auto lowered = Lower(m.graph, {.accelerator = kAccelerator, .stages = 2});
  ASSERT_FALSE(lowered);
  EXPECT_EQ(lowered.error().code, ErrorCode::kMissingSize);
  EXPECT_NE(lowered.error().tensor.find("'a'"), std::string::npos);
  EXPECT_FALSE(Lower(graph::Graph(), {.accelerator = kAccelerator, .stages = 2}));
  EXPECT_FALSE(Lower(Small().graph, {.accelerator = kAccelerator, .stages = 0}));
}

TEST(Accelerators, AreFoundByName) {
  ASSERT_NE(AcceleratorNamed("edgetpu-usb"), nullptr);
  EXPECT_EQ(AcceleratorNamed("edgetpu"), nullptr);
  EXPECT_EQ(Accelerators().size(), 2U);
}

}  // namespace
}  // namespace neap::stages
