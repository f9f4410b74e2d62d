// SPDX-License-Identifier: Apache-2.0
//
// Another order of an entry subgraph, with addresses and moves found together. Private to
// neap/compile.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "neap/compile/compile.h"
#include "neap/compile/measured.h"
#include "neap/compile/moves.h"
#include "neap/compile/timeline.h"

namespace neap::compile {

struct OrderedMoves {
  std::vector<graph::OpId> order;
  Timeline timeline;
  MovedPlacement placement;
};

// An order with moves of fewer bytes than `fewer_than` (negative: any number) in an arena of at
// most `target_bytes`. Of graphs of at most MovedOrderProblem::kMaxOps operators without bodies;
// optimal where the search of all states ends (SearchMovedOrder). nullopt: none was found.
std::optional<OrderedMoves> FindOrderWithMoves(const Measured& measured, graph::SubgraphId entry,
                                               const Orders& orders, std::int64_t target_bytes,
                                               std::int64_t fewer_than, const Options& options);

}  // namespace neap::compile
