// SPDX-License-Identifier: Apache-2.0
//
// For tests only: small graphs, and a naive planner that is slow and obvious.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "neap/base/random.h"
#include "neap/graph/graph.h"
#include "neap/plan/plan.h"

namespace neap::plan::test {

inline constexpr graph::SubgraphId kMain(0);
inline constexpr graph::SubgraphId kBody(1);

// Adds a tensor of `bytes` uint8 to the subgraph.
graph::TensorId AddTensor(graph::Subgraph& subgraph, std::int64_t bytes);
// Adds an operator; its inputs and outputs are tensor numbers.
graph::OpId AddOp(graph::Subgraph& subgraph, const std::string& type, std::vector<int> inputs,
                  std::vector<int> outputs);
std::vector<graph::TensorId> Tensors(const std::vector<int>& numbers);
graph::Graph GraphOf(std::vector<graph::Subgraph> subgraphs);

// Pieces of a plan written by hand.
Step Do(int op, graph::SubgraphId subgraph = kMain);
Step Nothing(graph::SubgraphId subgraph);
TensorPlacement At(int tensor, std::int64_t offset, std::int64_t bytes, int first, int last,
                   graph::SubgraphId subgraph = kMain);
// For subgraph 0; its bounds are the peak.
EntryPlan Entry(std::vector<Step> steps, std::vector<TensorPlacement> tensors, std::int64_t peak,
                std::int64_t arena);
Plan PlanOf(Runtime runtime, EntryPlan entry);
// Check() returns exactly one line, which contains `what`.
void ExpectFinding(const graph::Graph& graph, const Plan& plan, const std::string& what);

// A plan that runs every subgraph in the order of its operator vector (which must be topological),
// with overlaps wherever an in-place profile allows them, placed first-fit in the order of time.
// The bound of the peak is the peak, with the certificate "search"; that of the arena is the peak.
Plan NaivePlan(const graph::Graph& graph, Runtime runtime);

// A random graph whose operator vector is topological; some operators have scratch, are in-place
// types or have state. With `bodies`, two further subgraphs are called by some of the operators.
graph::Graph RandomGraph(Random& random, int ops, bool bodies);

}  // namespace neap::plan::test
