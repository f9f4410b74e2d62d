// SPDX-License-Identifier: Apache-2.0
//
// Figures 8(b) and 13 over small graphs whose every order is tried.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "lab/bench/serenity_parts.h"
#include "neap/base/random.h"

namespace neap::bench {
namespace {

using graph::OpId;
using graph::SubgraphId;
using graph::TensorId;

constexpr int kOperators = 7;

// Every operator writes one tensor and reads one or two of those before it.
graph::Graph SmallGraph(Random* random) {
  graph::Subgraph subgraph;
  const auto add = [&](std::int64_t bytes) {
    graph::Tensor tensor;
    tensor.name = "t" + std::to_string(subgraph.tensors.size());
    tensor.type = graph::ElementType::kInt8;
    tensor.shape = graph::Shape{bytes};
    return subgraph.tensors.push_back(tensor);
  };
  subgraph.inputs = {add(4)};
  std::vector<bool> is_read(kOperators + 1, false);
  for (int i = 0; i < kOperators; ++i) {
    graph::Op op;
    op.type = "OP";
    op.source_index = i;
    const auto before = static_cast<std::uint64_t>(i) + 1;
    const auto first = static_cast<std::int32_t>(i < 3 ? 0 : random->Below(before));
    op.inputs = {TensorId(first)};
    const auto second = static_cast<std::int32_t>(random->Below(before));
    if (second != first) op.inputs.push_back(TensorId(second));
    for (const TensorId id : op.inputs) is_read[id.index()] = true;
    op.outputs = {add(1 + static_cast<std::int64_t>(random->Below(40)))};
    subgraph.ops.push_back(op);
  }
  for (std::size_t t = 1; t < is_read.size(); ++t) {
    if (!is_read[t]) subgraph.outputs.push_back(TensorId(t));
  }
  graph::Graph graph;
  graph.subgraphs.push_back(std::move(subgraph));
  return graph;
}

// -1: the order cannot be run.
std::int64_t PeakOfOrder(const graph::Subgraph& subgraph, const std::vector<int>& order) {
  std::vector<int> at(kOperators);
  for (int i = 0; i < kOperators; ++i) {
    at[static_cast<std::size_t>(order[static_cast<std::size_t>(i)])] = i;
  }
  std::vector<std::int64_t> live(kOperators, 0);
  for (const TensorId id : subgraph.tensors.Ids()) {
    const int first = id.value() == 0 ? 0 : at[id.index() - 1];
    int last = first;
    for (const OpId op : subgraph.ops.Ids()) {
      const auto& inputs = subgraph.ops[op].inputs;
      if (std::find(inputs.begin(), inputs.end(), id) == inputs.end()) continue;
      if (id.value() > 0 && at[op.index()] <= first) return -1;
      last = std::max(last, at[op.index()]);
    }
    const auto& outputs = subgraph.outputs;
    if (std::find(outputs.begin(), outputs.end(), id) != outputs.end()) last = kOperators - 1;
    for (int i = first; i <= last; ++i) {
      live[static_cast<std::size_t>(i)] += graph::TensorBytes(subgraph.tensors[id]).value_or(0);
    }
  }
  return *std::max_element(live.begin(), live.end());
}

std::pair<std::int64_t, std::int64_t> LeastAndMost(const graph::Graph& graph) {
  std::vector<int> order(kOperators);
  std::iota(order.begin(), order.end(), 0);
  std::int64_t least = -1;
  std::int64_t most = -1;
  do {
    const std::int64_t peak = PeakOfOrder(graph.subgraphs[SubgraphId(0)], order);
    if (peak < 0) continue;
    least = least < 0 ? peak : std::min(least, peak);
    most = std::max(most, peak);
  } while (std::next_permutation(order.begin(), order.end()));
  return {least, most};
}

// The cells that the figure names.
std::vector<CellRun> SmallCells(Random* random) {
  std::vector<CellRun> cells;
  for (const char* id : {"swiftnet-a", "swiftnet-c", "randwire-10-a", "randwire-100-a"}) {
    CellRun run;
    run.cell.id = run.cell.name = id;
    run.cell.graph = run.nodes = SmallGraph(random);
    const auto [least, most] = LeastAndMost(run.nodes);
    run.in_nodes.planned = least;
    run.in_nodes.breadth_first = most;
    cells.push_back(std::move(run));
  }
  return cells;
}

// Below the minimum peak of all orders there is no solution, from there on one is found.
TEST(SerenitySearchTest, ASoftBudgetHasASolutionFromTheOptimumOn) {
  Random random(11);
  RunOptions options;
  options.quick = true;
  int without = 0;
  int with = 0;
  for (int round = 0; round < 5; ++round) {
    const std::vector<CellRun> cells = SmallCells(&random);
    Report report;
    const auto section = StatesOverBudget(cells, options, &report);
    ASSERT_TRUE(section) << section.error().ToString();
    for (const auto& row : section->tables.at(0).rows) {
      const auto& id = std::get<std::string>(row[0].value);
      const auto run = std::find_if(cells.begin(), cells.end(),
                                    [&](const CellRun& one) { return one.cell.id == id; });
      ASSERT_NE(run, cells.end());
      const auto tau = std::get<std::int64_t>(row[1].value);
      const auto& outcome = std::get<std::string>(row[4].value);
      EXPECT_EQ(outcome, tau < run->in_nodes.planned ? "no solution" : "optimum")
          << id << ", " << tau << " of " << run->in_nodes.planned;
      ++(tau < run->in_nodes.planned ? without : with);
    }
    EXPECT_EQ(section->plots.size(), 1);
    EXPECT_EQ(report.qualities.size(), 4);
  }
  EXPECT_GT(without, 50);
  EXPECT_GT(with, 50);
}

// Both searches end at the minimum peak of all orders; cells that no rule rewrites are reported as
// such.
TEST(SerenitySearchTest, BothSearchesFindTheOptimum) {
  Random random(12);
  RunOptions options;
  options.quick = true;
  std::vector<CellRun> cells = SmallCells(&random);
  for (CellRun& run : cells) run.in_operators.planned = run.in_nodes.planned;
  Report report;
  const auto section = SchedulingTime(cells, options, &report);
  ASSERT_TRUE(section) << section.error().ToString();
  ASSERT_EQ(section->tables.size(), 2) << "operators and nodes";
  for (const Table& table : section->tables) {
    ASSERT_EQ(table.rows.size(), cells.size());
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const auto text = [&](std::size_t column) {
        return std::get<std::string>(table.rows[i][column].value);
      };
      EXPECT_EQ(std::get<std::int64_t>(table.rows[i][1].value), kOperators);
      EXPECT_EQ(text(4), std::to_string(cells[i].in_nodes.planned)) << "SERENITY's";
      EXPECT_EQ(text(7), std::to_string(cells[i].in_nodes.planned)) << "Neap's";
      EXPECT_EQ(text(8), "nothing applies");
    }
  }
  for (const auto& quality : report.qualities) {
    if (!quality.name.ends_with("proven_cells")) continue;
    EXPECT_EQ(quality.value, 4) << quality.name;
  }
}

}  // namespace
}  // namespace neap::bench
