// SPDX-License-Identifier: Apache-2.0
#include "neap/compile/decompression.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "neap/compile/compile.h"
#include "neap/ops/op_table.h"

namespace neap::compile {
namespace {

using graph::ElementType;
using graph::Graph;
using graph::Op;
using graph::OpId;
using graph::Subgraph;
using graph::SubgraphId;
using graph::Tensor;
using graph::TensorId;
using testing::HasSubstr;

TensorId Add(Subgraph* subgraph, graph::Shape shape, ElementType type = ElementType::kInt8) {
  Tensor tensor;
  tensor.name = "t" + std::to_string(subgraph->tensors.size());
  tensor.type = type;
  tensor.shape = std::move(shape);
  tensor.quantization = graph::Quantization{{0.5F}, {0}, 0};
  subgraph->tensors.push_back(std::move(tensor));
  return TensorId(static_cast<int>(subgraph->tensors.size()) - 1);
}

TensorId AddConstant(Subgraph* subgraph, std::vector<std::byte> bytes) {
  const TensorId id = Add(subgraph, {static_cast<std::int64_t>(bytes.size())}, ElementType::kUint8);
  const auto owner = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  subgraph->tensors[id].constant = true;
  subgraph->tensors[id].data = graph::ConstantData{owner, *owner};
  return id;
}

OpId AddOp(Subgraph* subgraph, const char* domain, const char* type, std::vector<TensorId> inputs,
           std::vector<TensorId> outputs) {
  Op op;
  op.domain = domain;
  op.type = type;
  op.inputs = std::move(inputs);
  op.outputs = std::move(outputs);
  ops::Resolve(&op);
  subgraph->ops.push_back(std::move(op));
  return OpId(static_cast<int>(subgraph->ops.size()) - 1);
}

constexpr std::int64_t kRows = 32;
constexpr std::int64_t kActivationBytes = 64 * kRows;
constexpr std::int64_t kWeightBytes = 4096;

// Two fully connected layers of 64 numbers a row whose weights are unpacked; the method is byte 0
// of the description.
struct Model {
  Graph graph;
  std::array<TensorId, 2> weights;

  explicit Model(std::byte method, bool shares_weights = false) {
    graph.subgraphs.push_back({});
    Subgraph* const main = &graph.subgraphs[SubgraphId(0)];
    TensorId at = Add(main, {kRows, 64});
    main->inputs = {at};
    for (std::size_t i = 0; i < weights.size(); ++i) {
      if (i == 0 || !shares_weights) {
        weights[i] = Add(main, {64, 64});
        std::vector<std::byte> description(32);
        description[0] = method;
        description[1] = std::byte{1};
        const TensorId packed = AddConstant(main, std::vector<std::byte>(2048));
        AddOp(main, "custom", "TFLM_DECODE", {packed, AddConstant(main, description)},
              {weights[i]});
      }
      const TensorId next = Add(main, {kRows, 64});
      AddOp(main, "tflite", "FULLY_CONNECTED", {at, weights[shares_weights ? 0 : i]}, {next});
      at = next;
    }
    main->outputs = {at};
  }
};

Result<Compiled> PlanOf(const Graph& graph, bool memory_plan = true) {
  Options options;
  options.runtime = plan::Runtime::kTflm;
  options.memory_plan = memory_plan;
  return Compile(graph, options);
}

TEST(DecompressionTest, WeightsLeaveTheArena) {
  const Model model(std::byte{0});
  const auto compiled = PlanOf(model.graph, false);
  ASSERT_TRUE(compiled) << compiled.error().ToString();
  EXPECT_EQ(compiled->delivered_arena_bytes, kWeightBytes + 2 * kActivationBytes);
  const auto memory = DecompressionMemoryOf(model.graph, *compiled);
  ASSERT_TRUE(memory);
  EXPECT_EQ(memory->missing, "");
  EXPECT_EQ(memory->bytes, kWeightBytes);
  // The rest is the same, with one counter more.
  EXPECT_EQ(memory->total_arena_bytes,
            compiled->totals.front().total_arena_bytes - kWeightBytes + 16);
}

// The rest stays where the memory plan of the written model puts it.
TEST(DecompressionTest, AMemoryPlanStays) {
  const Model model(std::byte{0});
  const auto compiled = PlanOf(model.graph);
  ASSERT_TRUE(compiled) << compiled.error().ToString();
  std::int64_t end = 0;
  const Subgraph& main = model.graph.subgraphs[SubgraphId(0)];
  for (const TensorId id : main.tensors.Ids()) {
    const std::int32_t offset = compiled->offsets[SubgraphId(0)][id];
    const bool decoded = id == model.weights[0] || id == model.weights[1];
    if (offset == graph::kNoOffset || decoded) continue;
    end = std::max<std::int64_t>(end, offset + kActivationBytes);
  }
  const auto memory = DecompressionMemoryOf(model.graph, *compiled);
  ASSERT_TRUE(memory);
  EXPECT_EQ(memory->total_arena_bytes, compiled->totals.front().total_arena_bytes -
                                           compiled->delivered_arena_bytes + end + 16);
}

TEST(DecompressionTest, RecordsOfMethods) {
  const auto persistent = [](std::byte method) {
    const auto compiled = PlanOf(Model(method).graph);
    return compiled ? compiled->totals.front().persistent_bytes : 0;
  };
  const std::int64_t tables = persistent(std::byte{0});
  // 36, 28 and 40 bytes on Cortex-M, two of each, aligned to 16.
  EXPECT_EQ(persistent(std::byte{1}), tables - std::int64_t{2} * 16);
  EXPECT_EQ(persistent(std::byte{2}), tables);
  const auto unknown = PlanOf(Model(std::byte{200}).graph);
  ASSERT_TRUE(unknown);
  EXPECT_THAT(unknown->totals.front().missing,
              HasSubstr("the data that the kernel of operator #0 'TFLM_DECODE' keeps"));
}

TEST(DecompressionTest, EachOutputIsReadByTheNextOperatorAlone) {
  const Model shared(std::byte{0}, true);
  const auto plan = PlanOf(shared.graph);
  ASSERT_TRUE(plan) << plan.error().ToString();
  const auto none = DecompressionMemoryOf(shared.graph, *plan);
  ASSERT_TRUE(none);
  EXPECT_EQ(none->total_arena_bytes, -1);
  EXPECT_EQ(none->missing,
            "operator #2 'FULLY_CONNECTED' reads an output of operator #0 'TFLM_DECODE', but is "
            "not the next one");
  Model kept(std::byte{0});
  kept.graph.subgraphs[SubgraphId(0)].outputs.push_back(kept.weights[0]);
  const auto compiled = PlanOf(kept.graph);
  ASSERT_TRUE(compiled);
  const auto memory = DecompressionMemoryOf(kept.graph, *compiled);
  ASSERT_TRUE(memory);
  EXPECT_EQ(memory->missing,
            "operator #0 'TFLM_DECODE' writes an output of the model, but is not the last one");
}

// The outputs of one operator are beside each other, each at a multiple of 16.
TEST(DecompressionTest, OutputsOfOneOperatorAreBesideEachOther) {
  Graph graph;
  graph.subgraphs.push_back({});
  Subgraph* const main = &graph.subgraphs[SubgraphId(0)];
  main->inputs = {Add(main, {8, 64})};
  const auto packed = [&] { return AddConstant(main, std::vector<std::byte>(64)); };
  std::vector<std::byte> description(32);
  description[1] = std::byte{1};
  const TensorId weights = Add(main, {10, 64});
  const TensorId bias = Add(main, {10}, ElementType::kInt32);
  const std::vector<TensorId> inputs = {packed(), AddConstant(main, description), packed(),
                                        AddConstant(main, description)};
  AddOp(main, "custom", "TFLM_DECODE", inputs, {bias, weights});
  main->outputs = {Add(main, {8, 10})};
  AddOp(main, "tflite", "FULLY_CONNECTED", {main->inputs[0], weights, bias}, main->outputs);
  const auto compiled = PlanOf(graph);
  ASSERT_TRUE(compiled) << compiled.error().ToString();
  const auto memory = DecompressionMemoryOf(graph, *compiled);
  ASSERT_TRUE(memory);
  EXPECT_EQ(memory->missing, "");
  EXPECT_EQ(memory->bytes, 48 + 640);
}

TEST(DecompressionTest, NoneWithoutDecoders) {
  Graph graph;
  graph.subgraphs.push_back({});
  Subgraph* const main = &graph.subgraphs[SubgraphId(0)];
  main->inputs = {Add(main, {kRows, 64})};
  main->outputs = {Add(main, {kRows, 64})};
  AddOp(main, "tflite", "RELU", main->inputs, main->outputs);
  const auto compiled = PlanOf(graph);
  ASSERT_TRUE(compiled) << compiled.error().ToString();
  EXPECT_FALSE(DecompressionMemoryOf(graph, *compiled));
}

}  // namespace
}  // namespace neap::compile
