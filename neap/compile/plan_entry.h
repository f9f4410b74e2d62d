// SPDX-License-Identifier: Apache-2.0
//
// The plan of one entry, behind its order. Private to neap/compile. Tests: compile_test.cc and
// moves_test.cc, by whole compilations.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "neap/base/result.h"
#include "neap/compile/arena_order.h"
#include "neap/compile/compile.h"
#include "neap/compile/measured.h"
#include "neap/compile/order.h"
#include "neap/compile/place.h"
#include "neap/compile/steps.h"

namespace neap::compile {

struct PlannedEntry {
  plan::EntryPlan plan;
  PlacedOrder placed;  // before tensors move; without places if none were requested
  std::optional<ArenaOrder> arena_order;
  std::string note;  // "": none
};

// By the order of `orders`, which may give way to one that is placed lower unless it is `fixed`.
// `arena_order`: FindArenaOrder() of the entry, where it is known. nullopt: the plan is rejected
// (Options::accepts).
Result<std::optional<PlannedEntry>> PlanEntry(const Measured& measured, graph::SubgraphId entry,
                                              const Orders& orders, bool fixed,
                                              const IdVector<graph::SubgraphId, OrderProof>& proofs,
                                              std::optional<ArenaOrder> arena_order,
                                              const Options& options, Steps* steps);

}  // namespace neap::compile
