// SPDX-License-Identifier: Apache-2.0
//
// Sums of parts that come one after another, as the runtime has them: what channel-wise and sum
// have in common. Private to neap/rewrite.
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

// A bound for what OrderAnyWay() says, or for the operator as it is: the sum is held in `out`, and
// when it is done `scratch_bytes` are there besides, as they are either way.
void RelaxSum(Draft* draft, graph::OpId id, const std::vector<graph::TensorId>& pieces,
              graph::TensorId out, std::int64_t scratch_bytes);

// For an ordering problem: a sum that is started, gets a part from each of `pieces` in any order,
// and ends as `out`. `bytes_differ`: the accumulator (`accumulator`, a tensor of the draft) is
// another tensor than the result, which is made from it at the end; else it is `out` itself.
void OrderAnyWay(Draft* draft, graph::OpId id, const std::vector<graph::TensorId>& pieces,
                 graph::TensorId accumulator, graph::TensorId out);

}  // namespace neap::rewrite
