// SPDX-License-Identifier: Apache-2.0
#include "neap/compile/entry_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "neap/base/random.h"
#include "neap/compile/compile.h"
#include "neap/solve/schedule/check.h"
#include "neap/solve/traffic/optimum.h"

namespace neap::compile {
namespace {

using graph::Graph;
using graph::Op;
using graph::OpId;
using graph::SubgraphId;
using graph::TensorId;

Graph RandomGraph(std::uint64_t seed) {
  Random random(seed);
  Graph graph;
  graph::Subgraph& subgraph = *[&] {
    graph.subgraphs.push_back({});
    return &graph.subgraphs.back();
  }();
  const auto add = [&] {
    graph::Tensor tensor;
    tensor.name = "t" + std::to_string(subgraph.tensors.size());
    tensor.type = graph::ElementType::kInt8;
    tensor.shape = graph::Shape{random.Between(1, 50)};
    subgraph.tensors.push_back(tensor);
    return TensorId(subgraph.tensors.size() - 1);
  };
  subgraph.inputs = {add(), add()};
  const std::int64_t ops = random.Between(1, 12);
  for (std::int64_t i = 0; i < ops; ++i) {
    Op op;
    op.type = "OP";
    const std::int64_t inputs = random.Between(1, 3);
    for (std::int64_t k = 0; k < inputs; ++k) {
      op.inputs.push_back(
          TensorId(static_cast<std::int32_t>(random.Below(subgraph.tensors.size()))));
    }
    if (random.Chance(1, 5)) op.scratch_bytes = random.Between(1, 30);
    op.outputs = {add()};
    op.source_index = static_cast<std::int32_t>(i);
    subgraph.ops.push_back(op);
  }
  subgraph.outputs = {TensorId(subgraph.tensors.size() - 1)};
  return graph;
}

TEST(EntryMemory, LiveBytesAreThoseOfThePlan) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const Graph graph = RandomGraph(seed);
    const auto compiled = Compile(graph, {});
    ASSERT_TRUE(compiled) << compiled.error().ToString();
    const auto memory = MemoryOf(graph, SubgraphId(0), compiled->order, plan::Runtime::kIdeal);
    ASSERT_TRUE(memory);
    EXPECT_EQ(*std::max_element(memory->live_bytes.begin(), memory->live_bytes.end()),
              compiled->plan.entries.front().peak_bytes);
    const auto file =
        MemoryOf(graph, SubgraphId(0), FileOrderOfGraph(graph), plan::Runtime::kIdeal);
    ASSERT_TRUE(file);
    EXPECT_EQ(*std::max_element(file->live_bytes.begin(), file->live_bytes.end()),
              compiled->file_order.peak_bytes);
    EXPECT_EQ(OrderOf(graph, compiled->plan).Items(), compiled->order.Items());
  }
}

// The memory that an order needs is the memory from which on nothing moves.
TEST(EntryMemory, NoTrafficFromThePeakOn) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const Graph graph = RandomGraph(seed);
    const auto memory =
        MemoryOf(graph, SubgraphId(0), FileOrderOfGraph(graph), plan::Runtime::kIdeal);
    ASSERT_TRUE(memory);
    const auto problem = TrafficOf(*memory, Ends::kOnChip);
    ASSERT_TRUE(problem) << problem.error().ToString();
    const std::int64_t peak =
        *std::max_element(memory->live_bytes.begin(), memory->live_bytes.end());
    EXPECT_EQ(traffic::LeastBytesWithoutTraffic(*problem), peak) << seed;
    EXPECT_EQ(traffic::LeastTraffic(*problem, peak, {}).decisions.counts.total(), 0);
    const auto outside = TrafficOf(*memory, Ends::kOffChip);
    ASSERT_TRUE(outside);
    EXPECT_GT(traffic::CompulsoryBytes(*outside), 0);
    EXPECT_EQ(traffic::LeastTraffic(*outside, peak, {}).decisions.counts.total(),
              traffic::CompulsoryBytes(*outside));
  }
}

TEST(EntryMemory, OrderProblemHasThePeaksOfTheTimeline) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Graph graph = RandomGraph(seed);
    const auto problem = OrderProblemOf(graph, SubgraphId(0), plan::Runtime::kIdeal);
    ASSERT_TRUE(problem);
    const auto replay = schedule::ReplayOrder(problem->problem, problem->in_file);
    ASSERT_TRUE(replay);
    const auto memory =
        MemoryOf(graph, SubgraphId(0), FileOrderOfGraph(graph), plan::Runtime::kIdeal);
    ASSERT_TRUE(memory);
    EXPECT_EQ(replay->live_bytes, memory->live_bytes);
  }
}

}  // namespace
}  // namespace neap::compile
