// SPDX-License-Identifier: Apache-2.0
//
// The nodes of SERENITY's graphs. Private to neap/bench.
#pragma once

#include <cstdint>

#include "neap/graph/graph.h"

namespace neap::bench {

// The treatment of a concatenation with one chain as its only consumer. kFree: the beginning of
// that chain, without a tensor of its own: the accounting of the paper's figure 9, whose
// concatenation and convolution need the parts and the result.
enum class Concatenations : std::uint8_t { kOperators, kFree };

// The graph with a sum of its inputs, the rectifier after it and the separable convolution after
// that as one operator, a node in the definition of RandWire: a chain of ADD, RELU, PAD,
// DEPTHWISE_CONV_2D and 1x1 CONV_2D, in which each operator alone reads the one before it. The
// tensors inside a chain disappear, as in the paper, whose nodes have a single activation. (A sum
// of many inputs needs them all at once, so a peak may also be larger than that of the operators.)
// Partial convolutions of a rewritten graph count as convolutions. `graph` has one subgraph and
// passes graph::Verify(). O(graph).
graph::Graph InNodes(const graph::Graph& graph, Concatenations concatenations);

}  // namespace neap::bench
