// SPDX-License-Identifier: Apache-2.0
//
// Lower bound of the arena of an entry over all orders and addresses, and the order search that it
// may use. --keep-inputs is a request and does not raise the bound. Private to neap/compile.
#pragma once

#include <cstdint>
#include <optional>

#include "neap/compile/arena_order.h"
#include "neap/compile/compile.h"
#include "neap/compile/measured.h"
#include "neap/compile/order.h"
#include "neap/compile/place.h"

namespace neap::compile {

// By a search with every overlap counted. nullopt: nothing overlaps, `order` is the only one, or
// the search would take more than is left. `proofs`: of all subgraphs.
std::optional<ArenaOrder> FindArenaOrder(const Measured& measured, graph::SubgraphId entry,
                                         const std::vector<graph::OpId>& order,
                                         const IdVector<graph::SubgraphId, OrderProof>& proofs,
                                         const Options& options);

// The bytes that one tensor or one operator needs.
std::int64_t ArenaBoundSeen(const Measured& measured, graph::SubgraphId entry,
                            const Timeline& timeline, ops::KernelLibrary kernels);

// Uses the bound of the peak (`peak_bound`), the searched orders, and one that was placed. With
// overlaps inside operators the peak's bound is not a bound of the arena.
std::int64_t ArenaBound(const Measured& measured, graph::SubgraphId entry,
                        const PlacedOrder& placed, const std::optional<ArenaOrder>& searched,
                        std::int64_t peak_bound, ops::KernelLibrary kernels);

}  // namespace neap::compile
