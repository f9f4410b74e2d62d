// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "neap/base/random.h"
#include "neap/check/check.h"
#include "neap/compile/compile.h"

namespace neap::compile {
namespace {

using graph::Graph;
using graph::Op;
using graph::Subgraph;
using graph::SubgraphId;
using graph::TensorId;

// A row of operators, each reading the one before and some older tensor.
Graph RandomGraph(std::uint64_t seed) {
  Random random(seed);
  Subgraph subgraph;
  for (std::int32_t i = 0; i < 8; ++i) {
    graph::Tensor tensor;
    tensor.name = "t" + std::to_string(i);
    tensor.type = graph::ElementType::kInt8;
    tensor.shape = graph::Shape{random.Between(1, 40)};
    subgraph.tensors.push_back(std::move(tensor));
    if (i == 0) continue;
    Op op;
    op.type = "Mix";
    op.inputs = {TensorId(i - 1)};
    const TensorId older(static_cast<std::int32_t>(random.Below(static_cast<std::uint64_t>(i))));
    if (older != op.inputs[0]) op.inputs.push_back(older);
    op.outputs = {TensorId(i)};
    op.source_index = i - 1;
    subgraph.ops.push_back(std::move(op));
  }
  subgraph.inputs = {TensorId(0)};
  subgraph.outputs = {TensorId(7)};
  Graph graph;
  graph.subgraphs.push_back(std::move(subgraph));
  return graph;
}

Result<Compiled> CompileInto(const Graph& graph, std::int64_t fast, std::int64_t slow) {
  Options options;
  options.memories = {{"fast", fast, 8000}, {"slow", slow, 1500}};
  return Compile(graph, options);
}

// Twelve thousandths of a cycle are a common unit of both bandwidths.
std::int64_t CyclesOf(const Graph& graph, const plan::EntryPlan& entry) {
  std::int64_t cost = 0;
  for (const Op& op : graph.subgraphs[SubgraphId(0)].ops) {
    std::vector<TensorId> touched = op.inputs;
    touched.push_back(op.outputs[0]);
    for (const TensorId id : touched) {
      const auto found = std::find_if(entry.tensors.begin(), entry.tensors.end(),
                                      [&](const auto& t) { return t.tensor == id; });
      cost += found->bytes * (found->memory == 0 ? 24000 / 8000 : 24000 / 1500);
    }
  }
  return (cost * 1000 + 23999) / 24000;
}

// By trying every assignment whose live bytes fit; placements of so few tensors reach their load.
TEST(MemoriesTest, TakesTheLeastTime) {
  int spread = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Graph graph = RandomGraph(seed);
    const auto compiled = CompileInto(graph, 60, 1000);
    ASSERT_TRUE(compiled) << compiled.error().ToString();
    const plan::EntryPlan& entry = compiled->plan.entries[0];
    ASSERT_EQ(entry.memory_bytes.size(), 2U);
    EXPECT_LE(entry.memory_bytes[0], 60);
    EXPECT_EQ(entry.memory_bytes[0] + entry.memory_bytes[1], entry.arena_bytes);
    EXPECT_EQ(CyclesOf(graph, entry), compiled->access_cycles);
    EXPECT_LE(compiled->access_cycles_lower_bound, compiled->access_cycles);
    spread += entry.memory_bytes[0] > 0 && entry.memory_bytes[1] > 0 ? 1 : 0;

    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    plan::EntryPlan other = entry;
    for (unsigned assignment = 0; assignment < 1U << entry.tensors.size(); ++assignment) {
      std::vector<std::int64_t> load(entry.steps.size(), 0);
      for (std::size_t i = 0; i < other.tensors.size(); ++i) {
        other.tensors[i].memory = static_cast<std::int32_t>(assignment >> i & 1U);
        if (other.tensors[i].memory == 1) continue;
        for (auto slot = other.tensors[i].first; slot < other.tensors[i].last; ++slot) {
          load[static_cast<std::size_t>(slot)] += other.tensors[i].bytes;
        }
      }
      if (*std::max_element(load.begin(), load.end()) > 60) continue;
      least = std::min(least, CyclesOf(graph, other));
    }
    EXPECT_GE(compiled->access_cycles, least) << seed;
    EXPECT_LE(compiled->access_cycles, least + least / 10) << seed;
  }
  EXPECT_GT(spread, 100);
}

TEST(MemoriesTest, SaysWhenNothingFits) {
  const auto compiled = CompileInto(RandomGraph(1), 5, 5);
  ASSERT_FALSE(compiled);
  EXPECT_EQ(compiled.error().code, ErrorCode::kOverBudget);
}

TEST(MemoriesTest, WrongMemoriesAreCaught) {
  int caught = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const Graph graph = RandomGraph(seed);
    const auto compiled = CompileInto(graph, 60, 1000);
    ASSERT_TRUE(compiled);
    for (std::size_t i = 0; i < compiled->plan.entries[0].tensors.size(); ++i) {
      plan::Plan wrong = compiled->plan;
      wrong.entries[0].tensors[i].memory = 2;
      EXPECT_FALSE(check::CheckPlan(graph, wrong).empty());
    }
    plan::Plan wrong = compiled->plan;
    wrong.memories[0].capacity_bytes = wrong.entries[0].memory_bytes[0] - 1;
    EXPECT_FALSE(check::CheckPlan(graph, wrong).empty());
    // All into one memory at addresses that were of two.
    wrong = compiled->plan;
    wrong.memories.clear();
    wrong.entries[0].memory_bytes.clear();
    for (auto& tensor : wrong.entries[0].tensors) tensor.memory = 0;
    caught += check::CheckPlan(graph, wrong).empty() ? 0 : 1;
  }
  EXPECT_GT(caught, 50);
}

}  // namespace
}  // namespace neap::compile
