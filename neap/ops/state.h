// SPDX-License-Identifier: Apache-2.0
//
// State outside the tensors of an operator: which operators share it, and the order that this
// requires. Resource variables are traced through their handles into bodies, variable tensors are
// states of their own. docs/reference/memory-model.md defines the rules; the checker (neap/plan)
// derives the order by itself.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "neap/graph/graph.h"

namespace neap::ops {

// How an operator uses a state. kHandle: it refers to it, without a look at its value.
enum class StateAccess : std::uint8_t { kHandle, kRead, kWrite };

struct StateUse {
  std::int32_t state = 0;
  StateAccess access = StateAccess::kHandle;
};

// A handle of more variables than this, and a call that uses more states than that, may be of any.
inline constexpr std::size_t kMaxHandleStates = 8;
inline constexpr std::size_t kMaxCallStates = 1024;

class StateTrace {
 public:
  // `graph` has passed graph::Verify(). O(graph x kMaxHandleStates).
  explicit StateTrace(const graph::Graph& graph);

  // The states that an operator accesses, each once, bodies included; empty: no state, or folded.
  // nullopt: any state (custom operators, unknown types, handles from outside the file).
  const std::optional<std::vector<StateUse>>& UsesOf(graph::SubgraphId subgraph,
                                                     graph::OpId op) const {
    return uses_[subgraph][op];
  }

  // (before, after) pairs, each once. Every order that respects them and the other dependencies
  // gives each operator the states that it finds in file order, over any number of runs: a write
  // keeps its place among the reads and writes of the same state; reads have no order among
  // themselves; an operator that may touch any state keeps its place among all that touch one.
  // A file whose operators are in no topological order counts as repaired: again and again the
  // first operator runs whose inputs exist and whose control edges allow it.
  std::vector<graph::ControlEdge> EdgesOf(const graph::Subgraph& subgraph,
                                          graph::SubgraphId id) const;

 private:
  IdVector<graph::SubgraphId, IdVector<graph::OpId, std::optional<std::vector<StateUse>>>> uses_;
};

// True if no operator of the graph touches state: there is nothing to trace.
bool IsStateless(const graph::Graph& graph);

// Adds the pairs of EdgesOf() to the control edges of every subgraph.
void AddStateEdges(graph::Graph* graph);

}  // namespace neap::ops
