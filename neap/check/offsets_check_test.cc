// SPDX-License-Identifier: Apache-2.0
#include "neap/check/offsets_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "neap/base/random.h"

namespace neap::check {
namespace {

using graph::kNoOffset;
using graph::SubgraphId;
using graph::TensorId;
using graph::TensorOffsets;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

graph::Tensor Bytes(std::int64_t bytes) {
  graph::Tensor tensor;
  tensor.name = "t";
  tensor.type = graph::ElementType::kInt8;
  tensor.shape = graph::Shape{bytes};
  return tensor;
}

graph::Op MakeOp(std::string type, std::vector<std::int32_t> inputs,
                 std::vector<std::int32_t> outputs) {
  graph::Op op;
  op.type = std::move(type);
  op.domain = "tflite";
  for (const std::int32_t id : inputs) op.inputs.emplace_back(id);
  for (const std::int32_t id : outputs) op.outputs.emplace_back(id);
  return op;
}

// 0 -> CONV_2D -> 1 -> RESHAPE -> 2 -> TANH -> 3, 32 bytes each.
graph::Graph Chain() {
  graph::Subgraph main;
  for (int i = 0; i < 4; ++i) main.tensors.push_back(Bytes(32));
  main.ops = {MakeOp("CONV_2D", {0}, {1}), MakeOp("RESHAPE", {1}, {2}), MakeOp("TANH", {2}, {3})};
  main.inputs = {TensorId(0)};
  main.outputs = {TensorId(3)};
  graph::Graph graph;
  graph.subgraphs.push_back(std::move(main));
  return graph;
}

TEST(CheckOffsets, AcceptsWhatIsApart) {
  const OffsetsVerdict verdict = CheckOffsets(Chain(), {{0, 32, 0, 32}});
  EXPECT_THAT(verdict.problems, IsEmpty());
  EXPECT_THAT(verdict.inside_operators, IsEmpty());
  EXPECT_EQ(verdict.arena_bytes, 64);
  EXPECT_EQ(verdict.placed, 4);
  EXPECT_EQ(CheckOffsets(Chain(), {{0, 32, kNoOffset, 32}}).online, 1);
}

TEST(CheckOffsets, ReportsWhatSharesBytes) {
  // A RESHAPE may keep its input where it is, but not beside it; a CONV_2D needs certain kernels.
  EXPECT_THAT(CheckOffsets(Chain(), {{0, 32, 32, 0}}).inside_operators, IsEmpty());
  const auto beside = CheckOffsets(Chain(), {{0, 32, 48, 0}});
  EXPECT_THAT(beside.problems, IsEmpty());
  EXPECT_THAT(beside.inside_operators,
              ElementsAre(HasSubstr(
                  "#1 'RESHAPE' overwrites its input tensor #1 't' [32, 64) with tensor #2")));
  const auto over = CheckOffsets(Chain(), {{16, 0, 32, 0}});
  EXPECT_THAT(over.problems, IsEmpty());
  EXPECT_THAT(over.inside_operators,
              ElementsAre(HasSubstr("overwrites its input tensor #0 't' [16, 48)")));

  graph::Graph longer = Chain();
  longer.subgraphs[SubgraphId(0)].outputs.push_back(TensorId(0));  // needed to the end
  EXPECT_THAT(
      CheckOffsets(longer, {{16, 0, 64, 96}}).problems,
      ElementsAre(HasSubstr("tensor #0 't' [16, 48) and tensor #1 't' [0, 32) share bytes")));
}

TEST(CheckOffsets, ReportsInvalidOffsets) {
  EXPECT_THAT(CheckOffsets(Chain(), {{0, 40, 0, 96}}).problems,
              ElementsAre(HasSubstr("has offset 40, expected a multiple of 16")));
  EXPECT_THAT(CheckOffsets(Chain(), {{0, -2, 0, 32}}).problems,
              ElementsAre(HasSubstr("offset -2")));
}

TEST(CheckOffsets, VariablesLiveForever) {
  graph::Graph graph = Chain();
  auto& main = graph.subgraphs[SubgraphId(0)];
  main.tensors.push_back(Bytes(16));
  main.tensors.back().variable = true;
  main.ops[graph::OpId(2)].inputs.emplace_back(4);
  EXPECT_THAT(CheckOffsets(graph, {{0, 32, 0, 32, kNoOffset}}).problems, IsEmpty());
  EXPECT_THAT(CheckOffsets(graph, {{0, 32, 0, 32, 64}}).problems, IsEmpty());
  EXPECT_THAT(CheckOffsets(graph, {{0, 32, 64, 32, 0}}).problems,
              ElementsAre(HasSubstr("tensor #4")));
}

// IF of tensor 0 into tensor 1, with a body that needs a tensor of its own.
graph::Graph WithBody() {
  graph::Subgraph main;
  for (int i = 0; i < 3; ++i) main.tensors.push_back(Bytes(16));
  main.ops = {MakeOp("IF", {0}, {1}), MakeOp("ADD", {0, 1}, {2})};
  main.ops[graph::OpId(0)].bodies = {SubgraphId(1), SubgraphId(1)};
  main.inputs = {TensorId(0)};
  main.outputs = {TensorId(2)};
  graph::Subgraph body;
  for (int i = 0; i < 3; ++i) body.tensors.push_back(Bytes(16));
  body.ops = {MakeOp("TANH", {0}, {1}), MakeOp("TANH", {1}, {2})};
  body.inputs = {TensorId(0)};
  body.outputs = {TensorId(2)};
  graph::Graph graph;
  graph.subgraphs = {std::move(main), std::move(body)};
  return graph;
}

TEST(CheckOffsets, BodiesRunInsideTheirOperator) {
  EXPECT_THAT(CheckOffsets(WithBody(), {{0, 16, 64}, {32, 48, 64}}).problems, IsEmpty());
  // The outer input is still needed while the body runs.
  EXPECT_THAT(CheckOffsets(WithBody(), {{0, 16, 64}, {32, 0, 64}}).problems,
              ElementsAre(HasSubstr("of subgraph 1 [0, 16)")));
}

TEST(CheckOffsets, VariableOfABodyIsLookedUpByItsOwnIndex) {
  graph::Graph graph = WithBody();
  auto& body = graph.subgraphs[SubgraphId(1)];
  body.tensors.push_back(Bytes(16));
  body.tensors.back().variable = true;
  graph.subgraphs[SubgraphId(0)].tensors.push_back(Bytes(16));  // index 3 of the plan, unused
  const TensorOffsets wrong = {{0, 16, 64, 0}, {32, 48, 64, kNoOffset}};
  EXPECT_THAT(CheckOffsets(graph, wrong).problems,
              ElementsAre(HasSubstr("is a variable without memory")));
  EXPECT_THAT(CheckOffsets(graph, {{0, 16, 64, kNoOffset}, {32, 48, 64, kNoOffset}}).problems,
              IsEmpty());
}

// Chains of operators with a second reader somewhere: compared with all pairs, moment by moment.
TEST(CheckOffsets, AgreesWithComparingAllPairs) {
  Random draw(7);
  int bad = 0;
  for (int round = 0; round < 5000; ++round) {
    graph::Subgraph main;
    const int ops = 2 + static_cast<int>(draw.Below(5));
    for (int i = 0; i <= ops; ++i)
      main.tensors.push_back(Bytes(16 * (1 + static_cast<int>(draw.Below(3)))));
    std::vector<int> last(static_cast<std::size_t>(ops) + 1);
    for (int i = 0; i < ops; ++i) {
      const int other = static_cast<int>(draw.Below(static_cast<std::uint64_t>(i) + 1));
      main.ops.push_back(MakeOp("CONV_2D", {i, other}, {i + 1}));
      last[static_cast<std::size_t>(i)] = std::max(last[static_cast<std::size_t>(i)], i);
      last[static_cast<std::size_t>(other)] = std::max(last[static_cast<std::size_t>(other)], i);
    }
    last.back() = ops;
    main.inputs = {TensorId(0)};
    main.outputs = {TensorId(ops)};
    TensorOffsets offsets = {IdVector<TensorId, std::int32_t>()};
    for (int i = 0; i <= ops; ++i) {
      offsets[SubgraphId(0)].push_back(16 * static_cast<std::int32_t>(draw.Below(8)));
    }
    bool apart = true;
    bool inside = false;
    for (int a = 0; a <= ops; ++a) {
      for (int b = a + 1; b <= ops; ++b) {
        const auto bytes = [&](int i) { return *graph::TensorBytes(main.tensors[TensorId(i)]); };
        const std::int64_t at_a = offsets[SubgraphId(0)][TensorId(a)];
        const std::int64_t at_b = offsets[SubgraphId(0)][TensorId(b)];
        if (at_a + bytes(a) <= at_b || at_b + bytes(b) <= at_a) continue;
        // b is written by operator b - 1, while what it reads is still there.
        const int end = last[static_cast<std::size_t>(a)];
        if (end > b - 1) apart = false;
        if (end == b - 1) inside = true;
      }
    }
    graph::Graph graph;
    graph.subgraphs.push_back(std::move(main));
    const OffsetsVerdict verdict = CheckOffsets(graph, offsets);
    ASSERT_EQ(verdict.problems.empty(), apart) << round;
    ASSERT_EQ(!verdict.inside_operators.empty(), inside) << round;
    bad += apart ? 0 : 1;
  }
  EXPECT_GT(bad, 500);
  EXPECT_LT(bad, 4900);
}

}  // namespace
}  // namespace neap::check
