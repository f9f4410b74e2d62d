// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "neap/compile/compile.h"

namespace neap::compile {
namespace {

using graph::Op;
using graph::OpId;
using graph::SubgraphId;
using graph::Tensor;
using graph::TensorId;

// in -> 0 -> 1 -> ... : fully connected operators with weights, int8.
graph::Graph Layers(int count) {
  graph::Subgraph subgraph;
  const auto add = [&](const char* name, bool constant) {
    Tensor tensor;
    tensor.name = name;
    tensor.type = graph::ElementType::kInt8;
    tensor.shape = graph::Shape{4, 4};
    tensor.constant = constant;
    return subgraph.tensors.push_back(tensor);
  };
  TensorId at = add("in", false);
  subgraph.inputs = {at};
  for (int i = 0; i < count; ++i) {
    Op op;
    op.type = "FULLY_CONNECTED";
    op.domain = "tflite";
    op.source_index = i;
    op.inputs = {at, add("w", true), TensorId()};
    at = add("x", false);
    op.outputs = {at};
    subgraph.ops.push_back(op);
  }
  subgraph.outputs = {at};
  graph::Graph graph;
  graph.subgraphs.push_back(std::move(subgraph));
  return graph;
}

std::string TextOf(const graph::Graph& graph) {
  return UnknownScratchText(UnknownKernelsOf(graph, plan::Runtime::kTflm, target::DefaultTarget()));
}

TEST(UnknownKernelsTest, KnownKernelsAndOtherRuntimesHaveNone) {
  graph::Graph graph = Layers(2);
  EXPECT_EQ(TextOf(graph), "");
  graph.subgraphs[SubgraphId(0)].ops[OpId(0)].type = "MY_OP";
  EXPECT_NE(TextOf(graph), "");
  for (const auto runtime : {plan::Runtime::kLitert, plan::Runtime::kIdeal, plan::Runtime::kNeap}) {
    EXPECT_TRUE(UnknownKernelsOf(graph, runtime, target::DefaultTarget()).empty());
  }
}

TEST(UnknownKernelsTest, EveryReasonIsNamed) {
  graph::Graph graph = Layers(1);
  Op& op = graph.subgraphs[SubgraphId(0)].ops[OpId(0)];
  op.domain = "custom";
  op.type = "MY_OP";
  EXPECT_EQ(TextOf(graph), "the scratch of operator #0 'MY_OP' is not modelled");
  op.type = "ethos-u";
  EXPECT_EQ(TextOf(graph),
            "the scratch of operator #0 'ethos-u' is not modelled: its driver decides on it");
  op.domain = "tflite";
  op.type = "MEAN";  // without axes
  op.inputs = {op.inputs[0]};
  EXPECT_EQ(TextOf(graph),
            "the scratch of operator #0 'MEAN' is not modelled: its shapes, types or options are "
            "not supported by the kernel");
}

TEST(UnknownKernelsTest, CompressedWeightsGiveNoNumber) {
  graph::Graph graph = Layers(3);
  graph::Subgraph& main = graph.subgraphs[SubgraphId(0)];
  for (const OpId id : {OpId(1), OpId(2)}) main.tensors[main.ops[id].inputs[1]].compressed = true;
  EXPECT_EQ(TextOf(graph),
            "the scratch of operator #1 'FULLY_CONNECTED' and of 1 more is not modelled: its input "
            "#3 'w' is compressed");
  Options options;
  options.runtime = plan::Runtime::kTflm;
  const auto compiled = Compile(graph, options);
  ASSERT_TRUE(compiled) << compiled.error().ToString();
  EXPECT_EQ(compiled->unknown_kernels.size(), 2);
  EXPECT_EQ(compiled->delivered_arena_bytes, -1);
  EXPECT_TRUE(compiled->offsets.empty());
  for (const TflmTotal& total : compiled->totals) {
    EXPECT_EQ(total.total_arena_bytes, -1);
    EXPECT_EQ(total.missing, TextOf(graph));
  }
  // Bytes that the user states are known.
  main.ops[OpId(1)].scratch_bytes = 16;
  main.ops[OpId(2)].scratch_bytes = 16;
  EXPECT_EQ(TextOf(graph), "");
}

}  // namespace
}  // namespace neap::compile
