// SPDX-License-Identifier: Apache-2.0
#include "neap/compile/arena_bound.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "testing/plans.h"

namespace neap::compile {
namespace {

using graph::Graph;
using graph::OpId;
using graph::Subgraph;
using graph::SubgraphId;
using ops::KernelLibrary;
using plan::test::AddTensor;
using plan::test::GraphOf;
using plan::test::kMain;
using plan::test::Tensors;

void AddOp(Subgraph& subgraph, const std::string& type, std::vector<int> inputs, int output) {
  const OpId op = plan::test::AddOp(subgraph, type, std::move(inputs), {output});
  subgraph.ops[op].domain = "tflite";
}

// t0 -> t1 -> t2, all of 16 bytes.
Graph Chain(const std::string& type) {
  Subgraph chain;
  for (int i = 0; i < 3; ++i) AddTensor(chain, 16);
  AddOp(chain, type, {0}, 1);
  AddOp(chain, type, {1}, 2);
  chain.inputs = Tensors({0});
  chain.outputs = Tensors({2});
  return GraphOf({chain});
}

// t0 -> t1, t0 -> t2, t1 + t2 -> t3, all of 16 bytes.
Graph Diamond() {
  Subgraph diamond;
  for (int i = 0; i < 4; ++i) AddTensor(diamond, 16);
  AddOp(diamond, "RELU", {0}, 1);
  AddOp(diamond, "RELU", {0}, 2);
  AddOp(diamond, "ADD", {1, 2}, 3);
  diamond.inputs = Tensors({0});
  diamond.outputs = Tensors({3});
  return GraphOf({diamond});
}

Measured MeasuredOf(const Graph& graph) {
  return Measure(graph, plan::ProfileOf(plan::Runtime::kTflm)).value();
}

// The order of the file, with a placement of which only the bound is known.
PlacedOrder PlacedWithBound(const Measured& measured, std::int64_t lower_bound_bytes) {
  PlacedOrder placed;
  placed.order = measured.file_orders[kMain];
  placed.timeline =
      BuildTimeline(measured.merged(), kMain, measured.file_orders, measured.profile).value();
  placed.placed.lower_bound_bytes = lower_bound_bytes;
  return placed;
}

std::optional<ArenaOrder> FindIn(const Graph& graph, KernelLibrary kernels) {
  const Measured measured = MeasuredOf(graph);
  Options options;
  options.runtime = plan::Runtime::kTflm;
  options.kernels = kernels;
  return FindArenaOrder(measured, kMain, measured.file_orders[kMain],
                        IdVector<SubgraphId, OrderProof>(1), options);
}

// Without overlaps: the bound of the peak, or the largest tensor.
TEST(ArenaBound, IsThePeakBoundWithoutOverlaps) {
  const Graph graph = Chain("RELU");
  const Measured measured = MeasuredOf(graph);
  const PlacedOrder placed = PlacedWithBound(measured, 1000);
  EXPECT_EQ(ArenaBoundSeen(measured, kMain, placed.timeline, KernelLibrary::kNone), 16);
  EXPECT_EQ(ArenaBound(measured, kMain, placed, {}, 32, KernelLibrary::kNone), 32);
  EXPECT_EQ(ArenaBound(measured, kMain, placed, {}, 8, KernelLibrary::kNone), 16);
}

// Both operators work in place: one tensor at a time, 16 bytes. The peak of 32 bytes, which counts
// input and output, is no bound. The order is the only one, so that a bound of its placements is
// one of all orders; so is a bound of the order search.
TEST(ArenaBound, WithOverlapsIsThatOfTheOnlyOrderOrOfTheSearch) {
  const Graph graph = Chain("RELU");
  const Measured measured = MeasuredOf(graph);
  const KernelLibrary kernels = KernelLibrary::kTflmReference;
  const PlacedOrder placed = PlacedWithBound(measured, 16);
  EXPECT_EQ(ArenaBoundSeen(measured, kMain, placed.timeline, kernels), 16);
  EXPECT_EQ(ArenaBound(measured, kMain, placed, {}, 32, kernels), 16);
  EXPECT_EQ(ArenaBound(measured, kMain, PlacedWithBound(measured, 20), {}, 32, kernels), 20);
  const ArenaOrder searched{24, placed.order, {}};
  EXPECT_EQ(ArenaBound(measured, kMain, placed, searched, 32, kernels), 24);
}

// The bound of the placements of one of two orders is none of the other's.
TEST(ArenaBound, OfOneOfSeveralOrdersDoesNotCount) {
  const Graph graph = Diamond();
  const Measured measured = MeasuredOf(graph);
  const PlacedOrder placed = PlacedWithBound(measured, 1000);
  EXPECT_EQ(ArenaBound(measured, kMain, placed, {}, 48, KernelLibrary::kTflmReference),
            ArenaBoundSeen(measured, kMain, placed.timeline, KernelLibrary::kTflmReference));
}

// An unknown operator overlaps nothing: the bound of the peak holds under every kernel library.
TEST(ArenaBound, IsThePeakBoundWhereNoOperatorOverlaps) {
  const Graph graph = Chain("CUSTOM");
  const Measured measured = MeasuredOf(graph);
  const PlacedOrder placed = PlacedWithBound(measured, 0);
  EXPECT_EQ(ArenaBound(measured, kMain, placed, {}, 32, KernelLibrary::kTflmReference), 32);
}

// t0 is still needed when the first of t1 and t2 is computed: 32 bytes. The other one overwrites t0
// and t3 overwrites t1 or t2: 32 bytes again. Without overlaps the second step has 48.
TEST(FindArenaOrder, CountsOverlaps) {
  const auto found = FindIn(Diamond(), KernelLibrary::kTflmReference);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->lower_bound_bytes, 32);
  EXPECT_THAT(found->order, testing::SizeIs(3));
  EXPECT_EQ(found->order.back(), OpId(2));
}

TEST(FindArenaOrder, IsNoneWithoutOverlapsOrWithOneOrder) {
  EXPECT_FALSE(FindIn(Diamond(), KernelLibrary::kNone));
  EXPECT_FALSE(FindIn(Chain("RELU"), KernelLibrary::kTflmReference));
  EXPECT_FALSE(FindIn(Chain("CUSTOM"), KernelLibrary::kTflmReference));
}

}  // namespace
}  // namespace neap::compile
