// SPDX-License-Identifier: Apache-2.0
//
// The memory of a run of an entry subgraph in any order: which tensors are live when, and which
// operators touch them. Used by pictures, traffic and studies of orders.
#pragma once

#include <cstdint>
#include <vector>

#include "neap/base/result.h"
#include "neap/graph/graph.h"
#include "neap/plan/plan.h"
#include "neap/plan/profile.h"
#include "neap/solve/schedule/problem.h"
#include "neap/solve/traffic/problem.h"
#include "neap/target/target.h"

namespace neap::compile {

using SubgraphOrder = IdVector<graph::SubgraphId, std::vector<graph::OpId>>;

struct MemoryTensor {
  graph::SubgraphId subgraph;
  graph::TensorId tensor;
  std::int64_t bytes = 0;    // exact
  std::int64_t counted = 0;  // as the profile rounds
  std::int32_t first = 0;    // live in slots [first, last)
  std::int32_t last = 0;
  std::int32_t writer = -1;            // the slot of the operator that writes it; -1: none does
  std::vector<std::int32_t> accesses;  // slots of its writer and its readers, increasing
  bool output = false;                 // of the entry subgraph
};

struct EntryMemory {
  graph::SubgraphId subgraph;
  std::vector<plan::Step> steps;            // one per slot (plan.h); without moves
  std::vector<std::int64_t> live_bytes;     // per slot; the largest is peak_bytes of the order
  std::vector<MemoryTensor> tensors;        // in the order of their ids; unread inputs are left out
  std::vector<std::int64_t> scratch_bytes;  // per slot, as counted
};

// `order` has the operators of every subgraph, folded ones left out, in a valid order
// (Compiled::order, FileOrder, OrderOf). Errors as Compile().
Result<EntryMemory> MemoryOf(const graph::Graph& graph, graph::SubgraphId entry,
                             const SubgraphOrder& order, plan::Runtime runtime,
                             const target::Target& target = target::DefaultTarget());

// Of every subgraph, the order of the file wherever that is topological.
SubgraphOrder FileOrderOfGraph(const graph::Graph& graph);
// The orders of a checked plan; subgraphs that it does not call keep the file order.
SubgraphOrder OrderOf(const graph::Graph& graph, const plan::Plan& plan);

enum class Ends : std::uint8_t {
  kOnChip,   // inputs are on chip at the start, outputs may stay there
  kOffChip,  // inputs are outside at the start, outputs have to be there at the end
};
// The traffic of an order. Operators that call subgraphs touch their tensors in the first and in
// the last of their slots. In-place writes count as two tensors. Fails with kBadInput when sizes
// are out of range.
Result<traffic::Problem> TrafficOf(const EntryMemory& memory, Ends ends);

// The ordering problem of an entry subgraph, as the exact search gets it.
struct OrderProblem {
  schedule::Problem problem;
  std::vector<graph::OpId> ops;       // problem index -> operator
  std::vector<std::int32_t> in_file;  // the order of the file, as problem indices
};
// Fails with kBadInput where an operator of it calls subgraphs.
Result<OrderProblem> OrderProblemOf(const graph::Graph& graph, graph::SubgraphId entry,
                                    plan::Runtime runtime);

}  // namespace neap::compile
