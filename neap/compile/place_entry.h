// SPDX-License-Identifier: Apache-2.0
//
// Addresses of an entry subgraph: of its order, or of another one that is placed lower. Private to
// neap/compile. Tests, by whole compilations: compile_test.cc (one memory, other orders),
// memories_test.cc, and cascade/plan_test.cc (Options::accepts).
#pragma once

#include <cstdint>
#include <optional>

#include "neap/base/result.h"
#include "neap/compile/arena_order.h"
#include "neap/compile/compile.h"
#include "neap/compile/measured.h"
#include "neap/compile/place.h"

namespace neap::compile {

// The timeline of an entry; its inputs stay live if the options require it.
Result<Timeline> TimelineOf(const Measured& measured, graph::SubgraphId entry, const Orders& orders,
                            const Options& options);

// In one memory or several. nullopt: every arena is rejected (Options::accepts).
Result<std::optional<Placed>> PlaceEntry(const Measured& measured, graph::SubgraphId entry,
                                         const Orders& orders, const Timeline& timeline,
                                         const Options& options);

// Whether the order of an entry may be exchanged for one that is placed lower.
bool MayTakeOtherOrder(const Measured& measured, graph::SubgraphId entry, const Options& options);

// `placed`, or a lower placement of another order: of the one that needs least with every overlap
// counted (`searched`), or one from the joint search around the lower of these two. `orders`: of
// all other subgraphs. `peak_bound`: no order has a lower peak.
PlacedOrder PlaceLower(const Measured& measured, graph::SubgraphId entry, Orders orders,
                       PlacedOrder placed, const std::optional<ArenaOrder>& searched,
                       std::int64_t peak_bound, const Options& options);

}  // namespace neap::compile
