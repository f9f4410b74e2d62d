// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "neap/base/random.h"
#include "neap/check/check.h"
#include "neap/check/offsets_check.h"
#include "neap/compile/compile.h"
#include "neap/compile/tflm_kernels.h"

namespace neap::compile {
namespace {

using graph::Graph;
using graph::kNoOffset;
using graph::Op;
using graph::OpId;
using graph::Subgraph;
using graph::SubgraphId;
using graph::Tensor;
using graph::TensorId;

TensorId AddTensor(Subgraph* subgraph, graph::Shape shape,
                   graph::ElementType type = graph::ElementType::kInt8) {
  Tensor tensor;
  tensor.name = "t";
  tensor.type = type;
  tensor.shape = std::move(shape);
  return subgraph->tensors.push_back(tensor);
}

TensorId AddConstant(Subgraph* subgraph, graph::Shape shape) {
  const TensorId id = AddTensor(subgraph, std::move(shape));
  subgraph->tensors[id].constant = true;
  return id;
}

TensorId AddOp(Subgraph* subgraph, std::string type, std::vector<TensorId> inputs,
               graph::Shape shape) {
  const TensorId output = AddTensor(subgraph, std::move(shape));
  Op op;
  op.type = std::move(type);
  op.domain = "tflite";
  op.inputs = std::move(inputs);
  op.outputs = {output};
  subgraph->ops.push_back(op);
  return output;
}

Options ForTflm() {
  Options options;
  options.runtime = plan::Runtime::kTflm;
  return options;
}

Compiled MustCompile(const Graph& graph, const Options& options = ForTflm()) {
  EXPECT_TRUE(graph::Verify(graph).has_value());
  auto compiled = Compile(graph, options);
  EXPECT_TRUE(compiled.has_value()) << compiled.error().ToString();
  return std::move(*compiled);
}

// A chain of `ops` operators TANH on `bytes` bytes.
Graph Chain(int ops, std::int64_t bytes) {
  Subgraph main;
  TensorId at = AddTensor(&main, {bytes});
  main.inputs = {at};
  for (int i = 0; i < ops; ++i) at = AddOp(&main, "TANH", {at}, {bytes});
  main.outputs = {at};
  Graph graph;
  graph.subgraphs.push_back(std::move(main));
  return graph;
}

TEST(Tflm, OffsetsAreThoseOfThePlan) {
  Graph graph = Chain(3, 40);
  auto& main = graph.subgraphs[SubgraphId(0)];
  const TensorId weights = AddConstant(&main, {100});
  const TensorId unused = AddTensor(&main, {30});
  const Compiled compiled = MustCompile(graph);
  ASSERT_EQ(compiled.offsets.size(), 1U);
  const auto& offsets = compiled.offsets[SubgraphId(0)];
  for (const plan::TensorPlacement& placement : compiled.plan.entries[0].tensors) {
    EXPECT_EQ(offsets[placement.tensor], placement.offset);
  }
  EXPECT_EQ(offsets[weights], kNoOffset);
  EXPECT_EQ(offsets[unused], 0);
  EXPECT_EQ(compiled.delivered_arena_bytes, 96);
  EXPECT_EQ(compiled.buffer_offsets.size(), 5U);

  Options alone = ForTflm();
  alone.memory_plan = false;
  EXPECT_TRUE(MustCompile(graph, alone).offsets.empty());
}

TEST(Tflm, KeepsTheEntryThatWouldTakeAVariableItsMemory) {
  Graph graph = Chain(3, 40);
  Subgraph body = graph.subgraphs[SubgraphId(0)];
  const TensorId state = AddTensor(&body, {16});
  body.tensors[state].variable = true;
  auto& main = graph.subgraphs[SubgraphId(0)];
  const TensorId same_index = AddTensor(&main, {64});  // taken for the variable's entry
  main.ops[OpId(2)].inputs = {same_index};
  main.ops[OpId(1)].outputs.push_back(same_index);
  main.ops[OpId(1)].bodies = {SubgraphId(1)};
  graph.subgraphs.push_back(std::move(body));
  ASSERT_EQ(same_index, state);
  const Compiled compiled = MustCompile(graph);
  ASSERT_EQ(compiled.offsets.size(), 2U);
  EXPECT_EQ(compiled.offsets[SubgraphId(0)][same_index], kNoOffset);
  EXPECT_EQ(compiled.offsets[SubgraphId(1)][state], kNoOffset);
  EXPECT_TRUE(check::CheckOffsets(graph, compiled.offsets).problems.empty());
}

// The graph of the file that is written with the plan.
Graph Reordered(const Graph& graph, const Compiled& compiled) {
  Graph out = graph;
  for (const SubgraphId s : graph.subgraphs.Ids()) {
    for (std::size_t at = 0; at < compiled.order[s].size(); ++at) {
      out.subgraphs[s].ops[OpId(at)] = graph.subgraphs[s].ops[compiled.order[s][at]];
    }
  }
  return out;
}

// The allocation of TFLM is that of the planned order, also where that differs from the file.
TEST(Tflm, AllocatesForThePlannedOrder) {
  Subgraph main;
  const TensorId in = AddTensor(&main, {160});
  const TensorId a = AddOp(&main, "TANH", {in}, {1600});
  const TensorId c = AddOp(&main, "TANH", {in}, {3200});
  const TensorId b = AddOp(&main, "TANH", {a}, {160});
  const TensorId d = AddOp(&main, "TANH", {c}, {160});
  main.inputs = {in};
  main.outputs = {AddOp(&main, "ADD", {b, d}, {160})};
  Graph graph;
  graph.subgraphs.push_back(std::move(main));
  Options alone = ForTflm();
  alone.memory_plan = false;
  const Compiled compiled = MustCompile(graph, alone);
  EXPECT_EQ(compiled.file_order.arena_bytes, 4960);
  EXPECT_EQ(compiled.delivered_arena_bytes, 3520);
  const Compiled again = MustCompile(Reordered(graph, compiled), alone);
  EXPECT_EQ(again.file_order.arena_bytes, 3520);
  EXPECT_EQ(again.delivered_arena_bytes, 3520);
}

// On random graphs: a checker that shares no code with the planner accepts the offsets, and TFLM
// never needs more for them than for the file as it is.
TEST(Tflm, OffsetsOfRandomGraphs) {
  Random draw(11);
  int better = 0;
  for (int round = 0; round < 300; ++round) {
    Graph graph;
    const int subgraphs = 1 + static_cast<int>(draw.Below(2));
    for (int s = 0; s < subgraphs; ++s) {
      Subgraph subgraph;
      std::vector<TensorId> known = {AddTensor(&subgraph, {1 + static_cast<int>(draw.Below(200))})};
      subgraph.inputs = known;
      const int ops = 2 + static_cast<int>(draw.Below(8));
      for (int i = 0; i < ops; ++i) {
        const TensorId a = known[draw.Below(known.size())];
        const TensorId b = known[draw.Below(known.size())];
        known.push_back(AddOp(&subgraph, "ADD", {a, b}, {1 + static_cast<int>(draw.Below(200))}));
      }
      subgraph.outputs = {known.back()};
      graph.subgraphs.push_back(std::move(subgraph));
    }
    if (subgraphs == 2 && draw.Below(2) == 0) {
      auto& ops = graph.subgraphs[SubgraphId(0)].ops;
      ops[OpId(draw.Below(ops.size()))].bodies = {SubgraphId(1)};
    }
    const Compiled compiled = MustCompile(graph);
    ASSERT_FALSE(compiled.offsets.empty());
    const check::OffsetsVerdict verdict =
        check::CheckOffsets(Reordered(graph, compiled), compiled.offsets);
    ASSERT_TRUE(verdict.problems.empty()) << verdict.problems.front();
    ASSERT_TRUE(verdict.inside_operators.empty()) << verdict.inside_operators.front();
    ASSERT_EQ(verdict.arena_bytes, compiled.delivered_arena_bytes);
    ASSERT_LE(compiled.delivered_arena_bytes, compiled.file_order.arena_bytes);
    if (compiled.delivered_arena_bytes < compiled.file_order.arena_bytes) ++better;
  }
  EXPECT_GT(better, 20);
}

// Figures that the wheel tflite-micro 0.dev20261023182759 reports.
TEST(Tflm, TotalOfAChainOfAdditions) {
  Subgraph main;
  const TensorId a = AddTensor(&main, {1, 4}, graph::ElementType::kFloat32);
  const TensorId b = AddTensor(&main, {1, 4}, graph::ElementType::kFloat32);
  main.inputs = {a, b};
  TensorId last;
  for (int i = 0; i < 16; ++i) last = AddOp(&main, "ADD", {a, b}, {1, 16});
  main.outputs = {last};
  Graph graph;
  graph.subgraphs.push_back(std::move(main));
  const Compiled compiled = MustCompile(graph);
  ASSERT_EQ(compiled.totals.size(), 2U);
  const TflmTotal& host = compiled.totals[1];
  EXPECT_EQ(host.target, &target::WheelTarget());
  EXPECT_EQ(host.missing, "");
  EXPECT_EQ(host.total_arena_bytes, 4608);  // the memory planner's own need decides
  EXPECT_EQ((host.persistent_bytes + 15) / 16 * 16, 3328);
  EXPECT_LT(compiled.totals[0].total_arena_bytes, host.total_arena_bytes);
}

// TFLM's planner takes quadratic time: 3 s for each of a dozen targets in a graph of training.
TEST(Tflm, OnATargetWithEqualScratchTheArenaIsNotPlacedAgain) {
  const Graph graph = Chain(4, 16'000);
  Compiled compiled = MustCompile(graph);
  const target::Target* const other = target::TargetNamed("riscv32+reference");
  ASSERT_NE(other, nullptr);
  const TflmTotal total = TotalOnTarget(graph, compiled, *other);
  ASSERT_EQ(total.missing, "");
  EXPECT_EQ(total.target, other);
  Options options;
  options.runtime = plan::Runtime::kTflm;
  options.target = other;
  const auto planned = Compile(graph, options);
  ASSERT_TRUE(planned.has_value());
  EXPECT_EQ(total.total_arena_bytes, planned->totals[0].total_arena_bytes);
  compiled.delivered_arena_bytes += 32;  // a placement would find the smaller one again
  EXPECT_EQ(TotalOnTarget(graph, compiled, *other).total_arena_bytes, total.total_arena_bytes + 32);
}

TEST(Tflm, TotalGrowsWithTheActivations) {
  const Compiled small = MustCompile(Chain(4, 16'000));
  const Compiled large = MustCompile(Chain(4, 32'000));
  ASSERT_EQ(small.totals[0].missing, "");
  EXPECT_EQ(large.totals[0].total_arena_bytes - small.totals[0].total_arena_bytes, 32'000);
  EXPECT_EQ(large.totals[0].persistent_bytes, small.totals[0].persistent_bytes);
}

TEST(Tflm, SaysWhatItDoesNotKnow) {
  Graph graph = Chain(2, 5000);
  Op& second = graph.subgraphs[SubgraphId(0)].ops[OpId(1)];
  second.type = "MY_OPERATOR";
  const Compiled compiled = MustCompile(graph);
  ASSERT_EQ(compiled.unknown_kernels.size(), 1);
  EXPECT_EQ(compiled.unknown_kernels[0].op, "#1 'MY_OPERATOR'");
  EXPECT_EQ(compiled.delivered_arena_bytes, -1);
  EXPECT_EQ(compiled.totals[0].missing, "the scratch of operator #1 'MY_OPERATOR' is not modelled");
  EXPECT_EQ(compiled.totals[0].total_arena_bytes, -1);
  EXPECT_TRUE(compiled.offsets.empty());
  // Stated scratch is known; the kernel's persistent data is not.
  second.scratch_bytes = 100;
  const Compiled stated = MustCompile(graph);
  EXPECT_TRUE(stated.unknown_kernels.empty());
  EXPECT_FALSE(stated.offsets.empty());
  EXPECT_EQ(stated.delivered_arena_bytes, 2 * 5008 + 112);
  EXPECT_EQ(stated.totals[0].missing,
            "the data that the kernel of operator #1 'MY_OPERATOR' keeps is not known");
  Subgraph tiny;
  tiny.inputs = {AddTensor(&tiny, {4}), AddTensor(&tiny, {4})};
  tiny.outputs = {AddOp(&tiny, "ADD", tiny.inputs, {4})};
  Graph tiny_graph;
  tiny_graph.subgraphs.push_back(std::move(tiny));
  EXPECT_NE(MustCompile(tiny_graph).totals[1].missing.find("too small"), std::string::npos);
}

// Scratch is memory like any other: it decides the peak, it is in the plan, and the operator that
// is named at the peak is the one that needs it.
TEST(Tflm, KernelScratchIsPlanned) {
  Graph graph = Chain(3, 40);
  auto& main = graph.subgraphs[SubgraphId(0)];
  const TensorId in = AddTensor(&main, {1, 2, 2, 8});
  main.inputs.push_back(in);
  const TensorId axes = AddConstant(&main, {2});
  main.outputs.push_back(AddOp(&main, "MEAN", {in, axes}, {1, 8}));
  const Compiled compiled = MustCompile(graph);
  EXPECT_EQ(compiled.peak_at.op, OpId(3));
  EXPECT_EQ(compiled.peak_at.scratch_bytes, 32 + 16 + 16);
  const plan::EntryPlan& entry = compiled.plan.entries[0];
  ASSERT_EQ(entry.scratch.size(), 1U);
  EXPECT_EQ(entry.scratch[0].bytes, 64);
  EXPECT_EQ(entry.peak_bytes, 48 + 32 + 16 + 64);
  EXPECT_EQ(compiled.delivered_arena_bytes, entry.arena_bytes);
  EXPECT_EQ(entry.arena_status, plan::BoundStatus::kOptimal);
  // The checker knows of it by itself.
  plan::Plan without = compiled.plan;
  without.entries[0].scratch.clear();
  EXPECT_FALSE(check::CheckPlan(graph, without).empty());
  // No other runtime has these kernels.
  EXPECT_EQ(MustCompile(graph, Options()).peak_at.scratch_bytes, 0);
}

TEST(Tflm, KernelsKeepLists) {
  Subgraph main;
  const TensorId left = AddTensor(&main, {2, 5, 3});
  const TensorId right = AddConstant(&main, {2, 5, 4});
  main.inputs = {left};
  main.outputs = {AddOp(&main, "BATCH_MATMUL", {left, right}, {2, 3, 4})};
  Op& matmul = main.ops[OpId(0)];
  matmul.attributes["adj_x"] = std::int64_t{1};
  const auto host = KernelMemoryOf(main, matmul, target::WheelTarget());
  ASSERT_TRUE(host);
  EXPECT_EQ(host->data_bytes, 32);
  EXPECT_EQ(host->channel_bytes, (std::vector<std::int64_t>{28, 24, 16, 30, 24, 16, 40, 16}));
  const auto cortex = KernelMemoryOf(main, matmul, target::DefaultTarget());
  ASSERT_TRUE(cortex);
  EXPECT_EQ(cortex->channel_bytes, (std::vector<std::int64_t>{28, 12, 16, 30, 12, 16, 40, 16}));
  const TensorId weights = AddConstant(&main, {8, 3, 3, 8});
  const TensorId shape = AddConstant(&main, {4});
  const TensorId in = AddTensor(&main, {1, 4, 4, 8});
  main.outputs = {AddOp(&main, "TRANSPOSE_CONV", {shape, weights, in}, {1, 8, 8, 8})};
  const auto transposed = KernelMemoryOf(main, main.ops[OpId(1)], target::DefaultTarget());
  ASSERT_TRUE(transposed);
  EXPECT_EQ(transposed->scratch_bytes, std::vector<std::int64_t>{4 * 512});
  EXPECT_EQ(transposed->channel_bytes, (std::vector<std::int64_t>{32, 32}));
  main.ops[OpId(1)].inputs = {shape};
  EXPECT_FALSE(KernelMemoryOf(main, main.ops[OpId(1)], target::DefaultTarget()));
  main.ops[OpId(0)].domain = "";
  EXPECT_FALSE(KernelMemoryOf(main, main.ops[OpId(0)], target::DefaultTarget()));
}

}  // namespace
}  // namespace neap::compile
