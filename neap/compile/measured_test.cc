// SPDX-License-Identifier: Apache-2.0
#include "neap/compile/measured.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/plans.h"

namespace neap::compile {
namespace {

using graph::OpId;
using graph::Subgraph;
using graph::TensorId;
using plan::test::AddOp;
using plan::test::AddTensor;
using plan::test::GraphOf;
using plan::test::kMain;
using plan::test::Tensors;
using testing::ElementsAre;

// t0(20) -> op1 -> t1(17) -> op0 -> t2(16), and a weight of 100 bytes that op2 computes.
Subgraph Chain() {
  Subgraph chain;
  for (const int bytes : {20, 17, 16, 100}) AddTensor(chain, bytes);
  AddOp(chain, "Conv", {1, 3}, {2});
  AddOp(chain, "Conv", {0}, {1});
  chain.ops[AddOp(chain, "Reshape", {}, {3})].folded = true;
  chain.tensors[TensorId(3)].constant = true;
  chain.inputs = Tensors({0});
  chain.outputs = Tensors({2});
  return chain;
}

TEST(Measure, RoundsSizesOfPlannedTensorsUp) {
  const graph::Graph graph = GraphOf({Chain()});
  const auto measured = Measure(graph, plan::ProfileOf(plan::Runtime::kTflm));
  ASSERT_TRUE(measured);
  const TensorSizes& sizes = measured->sizes[kMain];
  EXPECT_THAT(sizes.counted.Items(), ElementsAre(32, 32, 16, 0));
  EXPECT_THAT(sizes.exact.Items(), ElementsAre(20, 17, 16, 0));
  const auto ideal = Measure(graph, plan::ProfileOf(plan::Runtime::kIdeal));
  ASSERT_TRUE(ideal);
  EXPECT_THAT(ideal->sizes[kMain].counted.Items(), ElementsAre(20, 17, 16, 0));
}

// The operators of the file are in no topological order; the folded one takes no step.
TEST(Measure, RepairsTheOrderOfTheFile) {
  const graph::Graph graph = GraphOf({Chain()});
  const auto measured = Measure(graph, plan::ProfileOf(plan::Runtime::kIdeal));
  ASSERT_TRUE(measured);
  EXPECT_THAT(measured->file_orders[kMain], ElementsAre(OpId(1), OpId(0)));
}

TEST(Measure, FailsForATensorWithoutASize) {
  Subgraph chain = Chain();
  chain.tensors[TensorId(1)].shape.reset();
  const graph::Graph graph = GraphOf({chain});
  const auto measured = Measure(graph, plan::ProfileOf(plan::Runtime::kIdeal));
  ASSERT_FALSE(measured);
  EXPECT_EQ(measured.error().code, ErrorCode::kMissingSize);
}

}  // namespace
}  // namespace neap::compile
