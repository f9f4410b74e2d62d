// SPDX-License-Identifier: Apache-2.0
//
// The order search with overlaps inside operators: a lower bound of every order and placement.
// Private to neap/compile.
#pragma once

#include <cstdint>
#include <vector>

#include "neap/base/limits.h"
#include "neap/compile/lower.h"
#include "neap/compile/overlap.h"
#include "neap/graph/graph.h"
#include "neap/plan/plan.h"

namespace neap::compile {

// The ordering problem of a subgraph in which every operator takes over as much of its inputs as
// its kernel and its profile allow at best: at each step, no placement uses fewer bytes than are
// live there. An input that a concatenation or a reshape may hold in its output counts up to that
// operator only. Buffers are parts of tensors; `tensors` stays empty.
Lowered LowerArena(const graph::Subgraph& subgraph, const TensorSizes& sizes,
                   const IdVector<graph::OpId, std::int64_t>& scratch_bytes,
                   const plan::Profile& profile, const OverlapOptions& options);

struct ArenaOrder {
  std::int64_t lower_bound_bytes = 0;  // of the arena, over all orders and placements
  std::vector<graph::OpId> order;      // one of least such bytes, as far as the search came
  plan::Certificate certificate;       // of kind kSearch
};

// Runs the exact search on that problem. `scratch_bytes` must not exceed the need of any order.
ArenaOrder SearchArenaOrder(const graph::Subgraph& subgraph, const TensorSizes& sizes,
                            const IdVector<graph::OpId, std::int64_t>& scratch_bytes,
                            const plan::Profile& profile, const OverlapOptions& options,
                            const Limits& limits);

}  // namespace neap::compile
