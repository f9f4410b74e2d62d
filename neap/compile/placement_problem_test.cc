// SPDX-License-Identifier: Apache-2.0
#include "neap/compile/placement_problem.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "neap/compile/measured.h"
#include "testing/plans.h"

namespace neap::compile {
namespace {

using graph::Graph;
using graph::Subgraph;
using graph::TensorId;
using plan::test::AddOp;
using plan::test::AddTensor;
using plan::test::GraphOf;
using plan::test::kMain;
using plan::test::Tensors;
using testing::ElementsAre;

// t0(20) -> op0 -> t1(30), op1 with 5 bytes of scratch -> t2(30).
Graph Chain() {
  Subgraph chain;
  for (const int bytes : {20, 30, 30}) AddTensor(chain, bytes);
  AddOp(chain, "Conv", {0}, {1});
  chain.ops[AddOp(chain, "Relu", {1}, {2})].scratch_bytes = 5;
  chain.inputs = Tensors({0});
  chain.outputs = Tensors({2});
  return GraphOf({chain});
}

struct Fixture {
  explicit Fixture(plan::Runtime runtime)
      : measured(Measure(graph, plan::ProfileOf(runtime)).value()),
        timeline(BuildTimeline(measured.merged(), kMain, measured.file_orders, measured.profile)
                     .value()),
        placement(measured.merged(), timeline, measured.sizes, measured.profile) {}

  Graph graph = Chain();
  Measured measured;
  Timeline timeline;
  PlacementProblem placement;
};

// A buffer for each tensor, then for the scratch, each rounded up to 16 bytes.
TEST(PlacementProblem, HasTensorsThenScratch) {
  const Fixture fixture(plan::Runtime::kTflm);
  const auto& buffers = fixture.placement.problem().buffers;
  ASSERT_EQ(buffers.size(), 4U);
  constexpr std::int64_t kBytes[] = {32, 32, 32, 16};
  constexpr std::int32_t kSlots[][2] = {{0, 1}, {0, 2}, {1, 2}, {1, 2}};  // half-open
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    EXPECT_EQ(buffers[i].bytes, kBytes[i]) << i;
    EXPECT_EQ(buffers[i].first, kSlots[i][0]) << i;
    EXPECT_EQ(buffers[i].last, kSlots[i][1]) << i;
  }
  EXPECT_TRUE(fixture.placement.problem().pairs.empty());
}

// t1 is written and read; the scratch is written and read by its operator.
TEST(PlacementProblem, CountsAccessedBytes) {
  const Fixture fixture(plan::Runtime::kTflm);
  EXPECT_THAT(fixture.placement.AccessedBytes(fixture.graph), ElementsAre(20, 60, 30, 10));
}

// t2 overwrites t1: one buffer, live in both steps.
TEST(PlacementProblem, JoinsTensorsInPlace) {
  const Fixture fixture(plan::Runtime::kIdealInPlace);
  const auto& buffers = fixture.placement.problem().buffers;
  ASSERT_EQ(buffers.size(), 3U);
  EXPECT_EQ(buffers[1].bytes, 30);
  EXPECT_EQ(buffers[1].first, 0);
  EXPECT_EQ(buffers[1].last, 2);
  const Placed placed = fixture.placement.PlacesAt({30, 0, 40}, {});
  ASSERT_EQ(placed.tensors.size(), 3U);
  EXPECT_EQ(placed.tensors[0].offset, 30);
  EXPECT_EQ(placed.tensors[1].offset, 0);
  EXPECT_EQ(placed.tensors[2].offset, 0);
  ASSERT_EQ(placed.scratch.size(), 1U);
  EXPECT_EQ(placed.scratch[0].offset, 40);
  EXPECT_EQ(placed.scratch[0].bytes, 5);
}

// An allowed overlap is listed where the addresses use it, and adds a pair rule either way.
TEST(PlacementProblem, ListsOverlapsThatTheAddressesUse) {
  Fixture fixture(plan::Runtime::kTflm);
  fixture.placement.Allow(
      {{1, kMain, TensorId(1), TensorId(2), plan::OverlapKind::kStartsBelow, 0}});
  EXPECT_EQ(fixture.placement.problem().pairs.size(), 1U);
  EXPECT_EQ(fixture.placement.PlacesAt({32, 0, 0, 32}, {}).overlaps.size(), 1U);
  EXPECT_TRUE(fixture.placement.PlacesAt({32, 0, 32, 64}, {}).overlaps.empty());
}

}  // namespace
}  // namespace neap::compile
