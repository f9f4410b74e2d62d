// SPDX-License-Identifier: Apache-2.0
//
// The order of every subgraph, bodies before their callers. Private to neap/compile.
#pragma once

#include <cstdint>
#include <vector>

#include "neap/base/result.h"
#include "neap/compile/compile.h"
#include "neap/compile/timeline.h"

namespace neap::compile {

// The result of the order search of one subgraph.
struct OrderProof {
  std::int64_t peak_bytes = 0;
  std::int64_t lower_bound_bytes = 0;
  std::int64_t states = 0;
  plan::Certificate certificate;
};

struct SubgraphOrders {
  Orders orders;
  IdVector<graph::SubgraphId, OrderProof> proofs;
};

// By the strategy of the options. Where the file's own order has no larger peak than the exact
// search's, it stays. With `below_bytes` it is enough to know whether a subgraph without bodies has
// an order below that (schedule::SolveBelow()). Fails with kBadInput where sizes are out of range,
// with kUsage for an unknown strategy or rule.
Result<SubgraphOrders> OrderSubgraphs(const graph::Graph& graph, const AllSizes& sizes,
                                      const Orders& file_orders, const plan::Profile& profile,
                                      const Options& options, std::int64_t below_bytes = 0);

// The largest value; 0 of none.
std::int64_t Largest(const std::vector<std::int64_t>& values);

}  // namespace neap::compile
