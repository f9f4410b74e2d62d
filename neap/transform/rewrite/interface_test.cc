// SPDX-License-Identifier: Apache-2.0
#include "neap/transform/rewrite/interface.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "neap/execute/evaluate.h"
#include "neap/execute/inputs.h"
#include "testing/sketch.h"

namespace neap::rewrite {
namespace {

using graph::ElementType;
using graph::Graph;
using graph::OpId;
using graph::Sketch;
using graph::Subgraph;
using graph::TensorId;

constexpr graph::SubgraphId kMain(0);
constexpr std::int64_t kMemory = std::int64_t{1} << 24;

// float -> QUANTIZE -> CONCATENATION with a second input -> DEQUANTIZE -> float, and the int8
// result as an output of its own where `shown`.
Graph Tflite(bool shown = false) {
  Sketch sketch;
  const TensorId x = sketch.Input(ElementType::kFloat32, {1, 3, 4, 2});
  const TensorId y = sketch.Input(ElementType::kInt8, {1, 3, 4, 1});
  const TensorId q = sketch.Tensor(ElementType::kInt8, {1, 3, 4, 2});
  const TensorId both = sketch.Tensor(ElementType::kInt8, {1, 3, 4, 3});
  const TensorId out = sketch.Tensor(ElementType::kFloat32, {1, 3, 4, 3});
  for (const TensorId id : {y, q, both}) sketch.Quantize(id, 0.0125F, -7);
  sketch.Op("tflite", "QUANTIZE", {x}, {q});
  sketch.Op("tflite", "CONCATENATION", {q, y}, {both},
            {{"axis", std::int64_t{3}}, {"fused_activation_function", std::int64_t{0}}});
  sketch.Op("tflite", "DEQUANTIZE", {both}, {out});
  sketch.Output(out);
  if (shown) sketch.Output(both);
  return sketch.graph();
}

// The form of quantised .onnx: float operators between pairs of conversions.
Graph Onnx() {
  Sketch sketch;
  const TensorId x = sketch.Input(ElementType::kFloat32, {2, 5});
  const TensorId scale = sketch.Constant<float>(ElementType::kFloat32, {}, {0.02F});
  const TensorId zero = sketch.Constant<std::int8_t>(ElementType::kInt8, {}, {3});
  const TensorId q = sketch.Tensor(ElementType::kInt8, {2, 5});
  const TensorId f = sketch.Tensor(ElementType::kFloat32, {2, 5});
  const TensorId g = sketch.Tensor(ElementType::kFloat32, {2, 5});
  const TensorId h = sketch.Tensor(ElementType::kInt8, {2, 5});
  const TensorId out = sketch.Tensor(ElementType::kFloat32, {2, 5});
  sketch.Op("", "QuantizeLinear", {x, scale, zero}, {q});
  sketch.Op("", "DequantizeLinear", {q, scale, zero}, {f});
  sketch.Op("", "Relu", {f}, {g});
  sketch.Op("", "QuantizeLinear", {g, scale, zero}, {h});
  sketch.Op("", "DequantizeLinear", {h, scale, zero}, {out});
  sketch.Output(out);
  return sketch.graph();
}

std::vector<execute::Value> Compute(const Graph& graph, const std::vector<execute::Value>& inputs) {
  const bool onnx = graph.subgraphs[kMain].ops[OpId(0)].domain.empty();
  execute::EvaluateOptions options;
  options.kernels = onnx ? execute::Kernels::kOnnx : execute::Kernels::kLitert;
  auto outputs = execute::Evaluate(graph, kMain, inputs, options);
  EXPECT_TRUE(outputs) << (outputs ? "" : outputs.error().ToString());
  return outputs ? std::move(*outputs) : std::vector<execute::Value>();
}

TEST(Interface, CallerAndModelComputeWhatTheModelDid) {
  for (const Graph& graph : {Tflite(), Onnx()}) {
    for (const Ends ends : {Ends{true, false}, Ends{false, true}, Ends{true, true}}) {
      const std::vector<OpId> ops = ConversionsAtEnds(graph, ends);
      ASSERT_EQ(ops.size(), ends.inputs && ends.outputs ? 2U : 1U);
      const auto edited = MoveToCaller(graph, ops);
      const auto caller = GraphsOfCaller(graph, ops);
      ASSERT_TRUE(edited && caller);
      const Subgraph& main = edited->subgraphs[kMain];
      EXPECT_EQ(main.ops.size() + ops.size(), graph.subgraphs[kMain].ops.size());
      EXPECT_EQ(main.tensors[main.inputs[0]].type,
                ends.inputs ? ElementType::kInt8 : ElementType::kFloat32);
      EXPECT_EQ(main.tensors[main.outputs[0]].type,
                ends.outputs ? ElementType::kInt8 : ElementType::kFloat32);
      std::vector<std::byte> first;
      for (const std::uint64_t seed : {1U, 2U, 3U}) {
        const auto inputs = execute::RandomInputs(graph.subgraphs[kMain], seed, kMemory);
        ASSERT_TRUE(inputs);
        const auto expected = Compute(graph, *inputs);
        const auto before = ends.inputs ? Compute(caller->before, *inputs) : *inputs;
        const auto inside = Compute(*edited, before);
        const auto outputs = ends.outputs ? Compute(caller->behind, inside) : inside;
        ASSERT_EQ(outputs.size(), expected.size());
        for (std::size_t i = 0; i < outputs.size(); ++i) {
          EXPECT_EQ(outputs[i].bytes, expected[i].bytes);
          EXPECT_EQ(outputs[i].type, expected[i].type);
        }
        if (first.empty()) first = outputs[0].bytes;
        EXPECT_EQ(seed == 1, first == outputs[0].bytes) << "outputs do not vary";
      }
    }
  }
}

// A tensor that another operator reads, or that is an output itself, stays.
TEST(Interface, OnlyConversionsAtTheEndsAreMoved) {
  EXPECT_EQ(ConversionsAtEnds(Tflite(true), {true, true}), std::vector<OpId>{OpId(0)});
  Graph read_twice = Tflite();
  Subgraph& main = read_twice.subgraphs[kMain];
  graph::Op other = main.ops[OpId(0)];
  other.outputs = {main.tensors.push_back(main.tensors[other.outputs[0]])};
  main.ops.push_back(other);
  EXPECT_EQ(ConversionsAtEnds(read_twice, {true, false}), std::vector<OpId>{});
  Graph shown = Tflite();
  shown.subgraphs[kMain].outputs.push_back(shown.subgraphs[kMain].ops[OpId(0)].outputs[0]);
  EXPECT_EQ(ConversionsAtEnds(shown, {true, false}), std::vector<OpId>{});
  Graph integers = Tflite();
  integers.subgraphs[kMain].tensors[TensorId(0)].type = ElementType::kUint8;
  EXPECT_EQ(ConversionsAtEnds(integers, {true, false}), std::vector<OpId>{});
  Graph waits = Tflite();
  waits.subgraphs[kMain].control_edges.push_back({OpId(0), OpId(2)});
  EXPECT_EQ(ConversionsAtEnds(waits, {true, true}), std::vector<OpId>{});
  // float -> QUANTIZE -> DEQUANTIZE -> float: nothing would be left between the two.
  Sketch nothing;
  const TensorId x = nothing.Input(ElementType::kFloat32, {4});
  const TensorId q = nothing.Tensor(ElementType::kInt8, {4});
  const TensorId y = nothing.Tensor(ElementType::kFloat32, {4});
  nothing.Quantize(q, 0.1F, 0);
  nothing.Op("tflite", "QUANTIZE", {x}, {q});
  nothing.Op("tflite", "DEQUANTIZE", {q}, {y});
  nothing.Output(y);
  EXPECT_EQ(ConversionsAtEnds(nothing.graph(), {true, true}), std::vector<OpId>{OpId(0)});
}

TEST(Interface, OtherOperatorsAreRefused) {
  const Graph graph = Tflite();
  for (const std::vector<OpId>& ops :
       {std::vector<OpId>{OpId(1)}, {OpId(7)}, {OpId(-1)}, {OpId(0), OpId(0)}}) {
    EXPECT_FALSE(MoveToCaller(graph, ops));
    EXPECT_FALSE(GraphsOfCaller(graph, ops));
  }
  EXPECT_TRUE(MoveToCaller(graph, {}));
}

}  // namespace
}  // namespace neap::rewrite
