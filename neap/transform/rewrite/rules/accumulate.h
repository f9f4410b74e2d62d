// SPDX-License-Identifier: Apache-2.0
//
// Sums of parts that are computed one after another, shared by the rules channel-wise and sum.
// Private to neap/transform/rewrite.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "neap/graph/graph.h"
#include "neap/transform/rewrite/draft.h"
#include "neap/transform/rewrite/rule.h"

namespace neap::rewrite {

// The order of `count` parts: `parameters`, where they are a permutation; 0, 1, 2, ... where there
// are none. Empty: neither.
std::vector<std::size_t> OrderOfParts(const Parameters& parameters, std::size_t count);

// A bound for the result of OrderAnyWay(), or for the unchanged operator: the sum is stored in
// `out`, and at its end `scratch_bytes` are live besides, as in both cases.
void RelaxSum(Draft* draft, graph::OpId id, const std::vector<graph::TensorId>& pieces,
              graph::TensorId out, std::int64_t scratch_bytes);

// For an ordering problem: a sum that is started, gets a part from each of `pieces` in any order,
// and ends as `out`. `bytes_differ`: the accumulator (`accumulator`, a tensor of the draft) is
// another tensor than the result, which is made from it at the end; else it is `out` itself.
void OrderAnyWay(Draft* draft, graph::OpId id, const std::vector<graph::TensorId>& pieces,
                 graph::TensorId accumulator, graph::TensorId out);

}  // namespace neap::rewrite
