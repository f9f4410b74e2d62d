// SPDX-License-Identifier: Apache-2.0
//
// Order and addresses together: other orders, whose peak is equal or a little higher, may be placed
// lower. Private to neap/compile.
#pragma once

#include <cstdint>
#include <optional>

#include "neap/base/limits.h"
#include "neap/compile/place.h"

namespace neap::compile {

// Walks from order to order by taking one operator to another place that its neighbours allow,
// never through a peak that is not below the lowest arena so far, and places what it meets. Ends at
// `bound_bytes`, which no arena is below, or after a number of orders that falls with the size of
// the graph. nullopt: none was lower than `arena_bytes`. Seeded: the same result every time.
std::optional<PlacedOrder> SearchLowerArena(const graph::Graph& graph, graph::SubgraphId entry,
                                            const Orders& orders, const AllSizes& sizes,
                                            const plan::Profile& profile,
                                            const OverlapOptions& overlap, std::int64_t arena_bytes,
                                            std::int64_t bound_bytes, const Limits& limits,
                                            PlacementMemo* memo = nullptr);

}  // namespace neap::compile
