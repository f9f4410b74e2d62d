// SPDX-License-Identifier: Apache-2.0
//
// Independent check of graphs in which operators run again (docs/algorithms/rematerialise.md).
// Shares no code with the transform: it numbers the values of both graphs and compares the numbers.
#pragma once

#include <string>

#include "neap/graph/graph.h"

namespace neap::check {

// What is wrong with `repeated`, a line; "": it computes what `given` does. Tensors and operators
// of `given` are all there, tensors under their own index; other operators of the main subgraph
// compute, from equal inputs, values that some operator of `given` computes from its inputs alone;
// operators with state run once, in an order that keeps the state. Both graphs have passed
// graph::Verify(). O(graph log graph).
std::string FindWrongRepetition(const graph::Graph& given, const graph::Graph& repeated);

}  // namespace neap::check
