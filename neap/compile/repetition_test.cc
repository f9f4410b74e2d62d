// SPDX-License-Identifier: Apache-2.0
#include "neap/compile/repetition.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "neap/ops/macs.h"
#include "testing/sketch.h"

namespace neap::compile {
namespace {

using graph::ElementType;
using graph::OpId;
using graph::SubgraphId;
using graph::TensorId;

// Forward and backward of a chain of operators of domain "json", all of the same cost.
graph::Graph TrainingChain(int layers) {
  graph::Sketch sketch;
  std::vector<TensorId> values{sketch.Input(ElementType::kUint8, {100})};
  for (int i = 0; i < layers; ++i) {
    values.push_back(sketch.Tensor(ElementType::kUint8, {100}));
    sketch.Op("json", "forward", {values[values.size() - 2]}, {values.back()});
  }
  TensorId gradient = values.back();
  for (int i = layers; i-- > 0;) {
    const TensorId next = sketch.Tensor(ElementType::kUint8, {100});
    sketch.Op("json", "backward", {gradient, values[static_cast<std::size_t>(i)]}, {next});
    gradient = next;
  }
  sketch.Output(gradient);
  return sketch.graph();
}

TEST(FindRepetitions, LowersThePeakOfTraining) {
  const graph::Graph graph = TrainingChain(16);
  const IdVector<OpId, char> all(32, 1);
  Options options;
  std::int64_t last = std::int64_t{1} << 60;
  for (const std::int64_t permille : {1000, 1100, 1250, 1500, 2000}) {
    const auto found = FindRepetitions(graph, options, all, permille);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->base_cost, 3200);
    EXPECT_EQ(found->points.front().cost, 3200);
    EXPECT_LE(found->points.back().cost, 3200 * permille / 1000);
    EXPECT_LE(found->points.back().peak_bytes, last);
    EXPECT_LE(found->lower_bound_bytes, found->points.back().peak_bytes);
    last = found->points.back().peak_bytes;
  }
  EXPECT_LT(last, 1'000);
}

TEST(FindRepetitions, RunsOnlyRepeatableOperatorsAgain) {
  const graph::Graph graph = TrainingChain(8);
  const IdVector<OpId, char> none(16, 0);
  const auto found = FindRepetitions(graph, Options(), none, 3000);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->points.size(), 1U);
  EXPECT_EQ(found->lower_bound_bytes, found->points.front().peak_bytes);
}

TEST(CostOf, IsStatedOrCounted) {
  graph::Graph graph = TrainingChain(1);
  graph::Subgraph& main = graph.subgraphs[SubgraphId(0)];
  EXPECT_EQ(ops::CostOf(main, main.ops[OpId(0)]), 100);
  main.ops[OpId(0)].attributes[ops::kCost] = std::int64_t{7};
  EXPECT_EQ(ops::CostOf(main, main.ops[OpId(0)]), 7);
  main.ops[OpId(0)].attributes[ops::kCost] = std::int64_t{0};
  EXPECT_EQ(ops::CostOf(main, main.ops[OpId(0)]), 1);
}

}  // namespace
}  // namespace neap::compile
