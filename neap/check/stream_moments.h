// SPDX-License-Identifier: Apache-2.0
//
// Moments that every streamed plan passes at which whole tensors are live. Private to neap/plan.
#pragma once

#include <cstdint>
#include <vector>

#include "neap/graph/graph.h"

namespace neap::check {

// An operator n that needs all of a tensor g for each pixel (a product with a gate) starts when g
// is complete. Every tensor that all of g needs in full, and that n or an operator behind n reads
// in full, is live then. The largest such sum of bytes, over all n and g; `outside` tensors are in
// no arena. Holds for plans that compute every pixel once. `order`: the operators as they run for
// the first time. O(operators^2) for networks with such operators.
std::int64_t BytesAtGates(const graph::Subgraph& subgraph, const std::vector<graph::OpId>& order,
                          const std::vector<graph::TensorId>& outside);

}  // namespace neap::check
