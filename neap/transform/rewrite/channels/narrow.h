// SPDX-License-Identifier: Apache-2.0
//
// The graph without some channels. Private to neap/transform/rewrite.
#pragma once

#include <optional>
#include <vector>

#include "neap/graph/graph.h"
#include "neap/transform/rewrite/channels/weighted.h"

namespace neap::rewrite {

struct Removal {
  IdVector<graph::TensorId, std::vector<char>> removed;  // by channel; empty: none
};

// Tensors with removed channels are replaced by new ones behind those of `graph`, and so are their
// weights, their biases and the shapes of RESHAPE. The constant contribution of a removed input
// channel is added to the bias. Operators keep their indices. The choice of channels is the
// caller's (neap/transform/rewrite/channels/dead.cc). O(graph + weights).
graph::Graph Narrow(const graph::Graph& graph, const Removal& removal,
                    const IdVector<graph::OpId, std::optional<WeightedOp>>& weighted,
                    const IdVector<graph::TensorId, Ranges>& ranges);

}  // namespace neap::rewrite
