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
  bool overwrites = false;  // the bytes change: whoever wants the input must have read it
};

// Which ones it gives; a matter of the graph alone, not of the order. Links follow each other: the
// input of one may be the output of another, whose input comes first in the list. What it decides
// is not always right: it counts the readers of the input and of the tensor that owns the address,
// not those of other tensors that have it, so that whether a value is still there when it is read
// can depend on the order (runtime_graph.h makes it a matter of precedence).
std::vector<LitertLink> LitertLinks(const graph::Subgraph& subgraph);

// What it allocates for the subgraph that needs most: LiteRT has an arena for each, and a
// persistent one for variables and kept outputs; both count, each rounded up to 64 bytes.
// Temporaries that kernels request are not modelled, apart from Op::scratch_bytes. -1 where control
// flow calls subgraphs (when their arenas are filled and emptied is up to the operators), and when
// sizes are out of range.
std::int64_t LitertArenaBytes(const graph::Graph& graph,
                              const IdVector<graph::SubgraphId, std::vector<graph::OpId>>& orders);

}  // namespace neap::compile
