// SPDX-License-Identifier: Apache-2.0
#include "neap/check/runtime_check.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace neap::check {
namespace {

using graph::ElementType;
using graph::Graph;
using graph::Op;
using graph::OpId;
using graph::Shape;
using graph::Subgraph;
using graph::SubgraphId;
using graph::Tensor;
using graph::TensorId;

TensorId Add(Subgraph* subgraph, ElementType type, Shape shape) {
  Tensor tensor;
  tensor.type = type;
  tensor.shape = std::move(shape);
  return subgraph->tensors.push_back(std::move(tensor));
}

void AddOp(Subgraph* subgraph, const std::string& type, std::vector<TensorId> inputs, TensorId out,
           bool is_new = false) {
  Op op;
  op.type = type;
  op.domain = "tflite";
  op.inputs = std::move(inputs);
  op.outputs = {out};
  op.source_index = is_new ? -1 : static_cast<std::int32_t>(subgraph->ops.size());
  subgraph->ops.push_back(std::move(op));
}

// QUANTIZE of uint8 to int8, as models with uint8 ends have it.
Graph Ends(ElementType from) {
  Graph graph;
  Subgraph& main = graph.subgraphs[graph.subgraphs.push_back({})];
  const TensorId in = Add(&main, from, {1, 4, 4, 2});
  const TensorId out = Add(&main, ElementType::kInt8, {1, 4, 4, 2});
  AddOp(&main, "QUANTIZE", {in}, out);
  return graph;
}

TEST(RuntimeCheck, TflmConvertsUint8AndDoesNotSliceIt) {
  const Graph given = Ends(ElementType::kUint8);
  EXPECT_FALSE(FindRefusal(given, plan::Runtime::kTflm));
  Graph edited = given;
  Subgraph& main = edited.subgraphs[SubgraphId(0)];
  const TensorId part = Add(&main, ElementType::kUint8, {1, 2, 4, 2});
  AddOp(&main, "SLICE", {TensorId(0)}, part, true);
  const auto refusal = FindNewRefusal(given, edited, plan::Runtime::kTflm);
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->op, OpId(1));
  EXPECT_EQ(refusal->why, "there is no kernel for uint8");
  EXPECT_FALSE(FindNewRefusal(given, edited, plan::Runtime::kLitert));
  EXPECT_FALSE(FindNewRefusal(given, edited, plan::Runtime::kNeap));
}

TEST(RuntimeCheck, WhatIsRefusedAnywayMayBeCut) {
  Graph given = Ends(ElementType::kUint8);
  Subgraph& main = given.subgraphs[SubgraphId(0)];
  const TensorId other = Add(&main, ElementType::kUint8, {1, 4, 4, 2});
  AddOp(&main, "SLICE", {TensorId(0)}, other);
  ASSERT_TRUE(FindRefusal(given, plan::Runtime::kTflm));
  Graph edited = given;
  Subgraph& after = edited.subgraphs[SubgraphId(0)];
  AddOp(&after, "SLICE", {TensorId(0)}, Add(&after, ElementType::kUint8, {1, 2, 4, 2}), true);
  EXPECT_FALSE(FindNewRefusal(given, edited, plan::Runtime::kTflm));
}

TEST(RuntimeCheck, OperatorsWithoutAKernelAndTooManyInputs) {
  Graph graph;
  Subgraph& main = graph.subgraphs[graph.subgraphs.push_back({})];
  const TensorId in = Add(&main, ElementType::kFloat32, {1, 4});
  AddOp(&main, "CONCATENATION", std::vector<TensorId>(10, in),
        Add(&main, ElementType::kFloat32, {10, 4}));
  EXPECT_FALSE(FindRefusal(graph, plan::Runtime::kTflm));
  AddOp(&main, "CONCATENATION", std::vector<TensorId>(11, in),
        Add(&main, ElementType::kFloat32, {11, 4}));
  auto refusal = FindRefusal(graph, plan::Runtime::kTflm);
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->why, "found 11 inputs, the kernel takes at most 10");
  EXPECT_FALSE(FindRefusal(graph, plan::Runtime::kLitert));
  main.ops = {};
  AddOp(&main, "POW", {in, in}, Add(&main, ElementType::kFloat32, {1, 4}));
  refusal = FindRefusal(graph, plan::Runtime::kTflm);
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->why, "there is no kernel for this operator");
  main.ops[OpId(0)].type = "UNIDIRECTIONAL_SEQUENCE_LSTM";  // not measured
  EXPECT_FALSE(FindRefusal(graph, plan::Runtime::kTflm));
}

TEST(RuntimeCheck, HybridConvolutionsAreRefused) {
  Graph graph;
  Subgraph& main = graph.subgraphs[graph.subgraphs.push_back({})];
  const TensorId in = Add(&main, ElementType::kFloat32, {1, 4, 4, 2});
  const TensorId weights = Add(&main, ElementType::kInt8, {2, 1, 1, 2});
  AddOp(&main, "CONV_2D", {in, weights}, Add(&main, ElementType::kFloat32, {1, 4, 4, 2}));
  const auto refusal = FindRefusal(graph, plan::Runtime::kTflm);
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->why, "there is no kernel for float32 with weights of int8");
}

TEST(RuntimeCheck, SliceHasTheFormOfItsVersion) {
  for (const int opset : {9, 10}) {
    for (const bool inputs : {false, true}) {
      Graph graph;
      Subgraph& main = graph.subgraphs[graph.subgraphs.push_back({})];
      const TensorId in = Add(&main, ElementType::kFloat32, {4, 4});
      const TensorId range = Add(&main, ElementType::kInt64, {1});
      Op op;
      op.type = "Slice";
      op.version = opset;
      op.inputs = {in};
      if (inputs) op.inputs.insert(op.inputs.end(), 2, range);
      if (!inputs) op.attributes["starts"] = op.attributes["ends"] = std::vector<std::int64_t>{1};
      op.outputs = {Add(&main, ElementType::kFloat32, {1, 4})};
      main.ops.push_back(std::move(op));
      const auto refusal = FindNewRefusal(Graph(), graph, plan::Runtime::kOnnxRuntime);
      EXPECT_EQ(refusal.has_value(), inputs != (opset >= ops::kSliceWithInputs))
          << opset << (refusal ? refusal->why : "");
    }
  }
}

}  // namespace
}  // namespace neap::check
