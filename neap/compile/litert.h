// SPDX-License-Identifier: Apache-2.0
//
// LiteRT's memory planner (ArenaPlanner with SimpleMemoryArena), reproduced for graphs without
// control flow and without tensors whose size changes while the model runs. Private to
// neap/compile.
#pragma once

#include <cstdint>
#include <vector>

#include "neap/graph/graph.h"

namespace neap::compile {

// LiteRT gives `output` the address of `input`.
struct LitertLink {
  graph::OpId op;
  graph::TensorId input;
  graph::TensorId output;
  bool overwrites = false;  // the bytes change: all consumers of the input must have run
};

// The links that LiteRT makes; they depend on the graph, not on the order. Links are chained: the
// input of one may be the output of another, whose input comes first in the list. LiteRT's decision
// is not always correct: it counts the consumers of the input and of the tensor that owns the
// address, not those of other tensors that have it. Whether a value is intact when it is read can
// therefore depend on the order (runtime_graph.h turns this into precedences).
std::vector<LitertLink> LitertLinks(const graph::Subgraph& subgraph);

// LiteRT's allocation for the largest subgraph: LiteRT has an arena for each, and a persistent one
// for variables and kept outputs; both count, each rounded up to 64 bytes. Temporaries that kernels
// request are not modelled, apart from Op::scratch_bytes. -1 where control flow calls subgraphs
// (the operators decide when their arenas are allocated and freed), and when sizes are out of
// range.
std::int64_t LitertArenaBytes(const graph::Graph& graph,
                              const IdVector<graph::SubgraphId, std::vector<graph::OpId>>& orders);

}  // namespace neap::compile
