// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "neap/graph/graph.h"

namespace neap::compile {

// Another order of the operators in `order`, a topological order of `subgraph`, for searches that
// compute runs of them part by part: the second matrix of every product of two activations (keys
// and values of attention) is complete before the operators that lead to the first one begin, so
// that these and the product are one run. `order` itself where there is no such product, and where
// operators must keep their places (control edges). O(operators + inputs).
std::vector<graph::OpId> SecondMatricesFirst(const graph::Subgraph& subgraph,
                                             const std::vector<graph::OpId>& order);

}  // namespace neap::compile
