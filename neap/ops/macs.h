// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "neap/graph/graph.h"

namespace neap::ops {

// MACs of one run of an operator: convolutions, matrix products and recurrent layers of both
// formats; of an operator of domain "layer", its attribute "multiply_accumulates". 0 for all others
// and where shapes are unknown. At most kMaxBytes.
std::int64_t MultiplyAccumulates(const graph::Subgraph& subgraph, const graph::Op& op);

// What one run of an operator costs in comparison with others, at least 1: its attribute "cost", if
// it has one (graph JSON), else its MACs or, if those are more, the elements that it writes.
std::int64_t CostOf(const graph::Subgraph& subgraph, const graph::Op& op);
// The name of that attribute.
inline constexpr const char* kCost = "cost";

// Product of all dimensions; -1 where one is not known or the product is larger than kMaxBytes.
std::int64_t ElementCount(const graph::Tensor& tensor);

}  // namespace neap::ops
