// SPDX-License-Identifier: Apache-2.0
#include "neap/compile/peak_cause.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "neap/compile/measured.h"
#include "testing/plans.h"

namespace neap::compile {
namespace {

using graph::Graph;
using graph::OpId;
using graph::Subgraph;
using graph::TensorId;
using plan::test::AddOp;
using plan::test::AddTensor;
using plan::test::GraphOf;
using plan::test::kMain;
using plan::test::Tensors;
using Bytes = std::vector<std::pair<int, std::int64_t>>;  // tensor, bytes

PeakCause CauseIn(const Graph& graph, plan::Runtime runtime) {
  const auto measured = Measure(graph, plan::ProfileOf(runtime));
  EXPECT_TRUE(measured);
  const auto timeline =
      BuildTimeline(measured->merged(), kMain, measured->file_orders, measured->profile);
  EXPECT_TRUE(timeline);
  return CauseOfPeak(*timeline, LiveBytes(*timeline, measured->sizes, measured->profile),
                     measured->sizes, measured->profile);
}

Bytes LiveAt(const PeakCause& cause) {
  Bytes live;
  for (const PeakCause::Live& tensor : cause.tensors) {
    EXPECT_EQ(tensor.subgraph, kMain);
    live.emplace_back(tensor.tensor.value(), tensor.bytes);
  }
  return live;
}

// t0(60) -> op0 -> t1(30); t0, a weight -> op1 -> t2(40); t1, t2 -> op2 -> t3(4).
Subgraph Diamond(std::int64_t scratch_bytes) {
  Subgraph diamond;
  for (const int bytes : {60, 30, 40, 4, 1000}) AddTensor(diamond, bytes);
  diamond.tensors[TensorId(4)].constant = true;
  AddOp(diamond, "Conv", {0}, {1});
  AddOp(diamond, "Conv", {0, 4}, {2});
  diamond.ops[AddOp(diamond, "Concat", {1, 2}, {3})].scratch_bytes = scratch_bytes;
  diamond.inputs = Tensors({0});
  diamond.outputs = Tensors({3});
  return diamond;
}

// Rounded up to 16 the tensors have 64, 32, 48 and 16 bytes, and the operators need 64 + 32 = 96,
// 64 + 32 + 48 = 144 and 32 + 48 + 16 = 96 without scratch. The weight does not count.
TEST(CauseOfPeak, ListsLiveTensorsLargestFirst) {
  const PeakCause cause = CauseIn(GraphOf({Diamond(0)}), plan::Runtime::kTflm);
  EXPECT_EQ(cause.subgraph, kMain);
  EXPECT_EQ(cause.op, OpId(1));
  EXPECT_EQ(LiveAt(cause), (Bytes{{0, 64}, {2, 48}, {1, 32}}));
  EXPECT_EQ(cause.scratch_bytes, 0);
}

// Scratch of 60 bytes is 64 rounded up: 160 bytes in the last step.
TEST(CauseOfPeak, CountsScratch) {
  const PeakCause cause = CauseIn(GraphOf({Diamond(60)}), plan::Runtime::kTflm);
  EXPECT_EQ(cause.op, OpId(2));
  EXPECT_EQ(LiveAt(cause), (Bytes{{2, 48}, {1, 32}, {3, 16}}));
  EXPECT_EQ(cause.scratch_bytes, 64);
}

// Scratch of 40 bytes is 48 rounded up: 144 bytes in both steps.
TEST(CauseOfPeak, IsTheFirstOfEqualSteps) {
  EXPECT_EQ(CauseIn(GraphOf({Diamond(40)}), plan::Runtime::kTflm).op, OpId(1));
}

// The output of Relu overwrites its input: 8 bytes, which are the input's.
TEST(CauseOfPeak, CountsOverwrittenBytesOnce) {
  Subgraph chain;
  for (int i = 0; i < 2; ++i) AddTensor(chain, 8);
  AddOp(chain, "Relu", {0}, {1});
  chain.inputs = Tensors({0});
  chain.outputs = Tensors({1});
  const Graph graph = GraphOf({chain});
  EXPECT_EQ(LiveAt(CauseIn(graph, plan::Runtime::kIdealInPlace)), (Bytes{{0, 8}}));
  EXPECT_EQ(LiveAt(CauseIn(graph, plan::Runtime::kIdeal)), (Bytes{{0, 8}, {1, 8}}));
}

TEST(CauseOfPeak, IsNoOperatorWithoutSteps) {
  const PeakCause cause = CauseOfPeak({}, {}, {}, plan::ProfileOf(plan::Runtime::kIdeal));
  EXPECT_FALSE(cause.op.valid());
  EXPECT_TRUE(cause.tensors.empty());
}

}  // namespace
}  // namespace neap::compile
