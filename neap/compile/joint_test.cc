// SPDX-License-Identifier: Apache-2.0
#include "neap/compile/joint.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "neap/base/random.h"

namespace neap::compile {
namespace {

using graph::Graph;
using graph::Op;
using graph::OpId;
using graph::Subgraph;
using graph::SubgraphId;
using graph::TensorId;

Graph RandomGraph(std::uint64_t seed) {
  Random random(seed);
  Subgraph subgraph;
  const auto add = [&] {
    graph::Tensor tensor;
    tensor.name = "t" + std::to_string(subgraph.tensors.size());
    tensor.type = graph::ElementType::kInt8;
    tensor.shape = graph::Shape{random.Between(1, 30)};
    subgraph.tensors.push_back(std::move(tensor));
    return TensorId(static_cast<std::int32_t>(subgraph.tensors.size()) - 1);
  };
  subgraph.inputs = {add()};
  for (std::int64_t i = 0; i < 12; ++i) {
    Op op;
    op.type = "Mix";
    for (int k = 0; k < 2; ++k) {
      const TensorId input(
          static_cast<std::int32_t>(random.Below(static_cast<std::uint64_t>(i) + 1)));
      if (std::find(op.inputs.begin(), op.inputs.end(), input) == op.inputs.end()) {
        op.inputs.push_back(input);
      }
    }
    op.outputs = {add()};
    op.source_index = static_cast<std::int32_t>(i);
    subgraph.ops.push_back(std::move(op));
  }
  subgraph.outputs = {TensorId(static_cast<std::int32_t>(subgraph.tensors.size()) - 1)};
  Graph graph;
  graph.subgraphs.push_back(std::move(subgraph));
  return graph;
}

TEST(JointTest, FindsLowerArenasInOrdersThatAreAllowed) {
  const plan::Profile& profile = plan::ProfileOf(plan::Runtime::kIdeal);
  Limits limits;
  limits.max_states = 10'000;
  int lower = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const Graph graph = RandomGraph(seed);
    const SubgraphId main(0);
    const Subgraph& subgraph = graph.subgraphs[main];
    AllSizes sizes;
    sizes.push_back(*SizesOf(subgraph, profile));
    Orders orders;
    orders.push_back(FileOrderOf(subgraph));
    const Timeline timeline = *BuildTimeline(graph, main, orders, profile);
    const Placed placed = PlaceTimeline(graph, main, timeline, sizes, profile, {}, limits);
    const auto joint =
        SearchLowerArena(graph, main, orders, sizes, profile, {}, placed.arena_bytes, 0, limits);
    const auto again =
        SearchLowerArena(graph, main, orders, sizes, profile, {}, placed.arena_bytes, 0, limits);
    ASSERT_EQ(joint.has_value(), again.has_value());
    if (!joint) continue;
    ++lower;
    EXPECT_LT(joint->placed.arena_bytes, placed.arena_bytes);
    EXPECT_EQ(joint->order, again->order);
    // The same operators, each after those it waits for.
    IdVector<OpId, int> position(subgraph.ops.size(), -1);
    for (std::size_t at = 0; at < joint->order.size(); ++at) {
      EXPECT_EQ(position[joint->order[at]], -1);
      position[joint->order[at]] = static_cast<int>(at);
    }
    EXPECT_EQ(joint->order.size(), subgraph.ops.size());
    for (const auto& [before, after] : PrecedencesOf(subgraph)) {
      EXPECT_LT(position[before], position[after]);
    }
    // A bound that is met ends the walk before it begins.
    EXPECT_FALSE(SearchLowerArena(graph, main, orders, sizes, profile, {}, placed.arena_bytes,
                                  placed.arena_bytes, limits));
  }
  EXPECT_GT(lower, 30);
}

}  // namespace
}  // namespace neap::compile
