// SPDX-License-Identifier: Apache-2.0
//
// From lifetimes to addresses: a timeline as a placement problem, and its solution as places of a
// plan. Private to neap/compile.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "neap/base/limits.h"
#include "neap/base/result.h"
#include "neap/compile/compile.h"
#include "neap/compile/overlap.h"
#include "neap/compile/timeline.h"
#include "neap/plan/plan.h"

namespace neap::compile {

struct Placed {
  std::vector<plan::TensorPlacement> tensors;
  std::vector<plan::ScratchPlacement> scratch;
  std::vector<plan::Overlap> overlaps;  // those that the addresses make use of, by slot
  std::int64_t arena_bytes = 0;         // of all memories together
  std::int64_t lower_bound_bytes = 0;   // no placement of this timeline is lower
  // With several memories: the height of each, and the cycles that operators' reads and writes
  // take, rounded up; no placement that fits takes fewer than the bound.
  std::vector<std::int64_t> memory_bytes;
  std::int64_t access_cycles = 0;
  std::int64_t access_cycles_lower_bound = 0;
};

// An order of an entry subgraph with its places.
struct PlacedOrder {
  std::vector<graph::OpId> order;
  Timeline timeline;
  Placed placed;
};

// How addresses are searched.
struct PlaceEffort {
  Limits limits;
  PlacementMemo* memo = nullptr;  // may be nullptr
  // Whether an arena of this height is a candidate (Options::accepts); empty: every one is.
  std::function<bool(std::int64_t arena_bytes)> accepts;
  // The search first aims at the largest accepted arena; false: at the lowest one from the start.
  bool aims = true;
};

// Tensors that share an address by an overlap of the timeline (in-place profiles) are one buffer.
// The placement has passed arena::FindViolation. nullopt: every arena of this timeline
// is rejected.
std::optional<Placed> PlaceIfAccepted(const graph::Graph& graph, graph::SubgraphId entry,
                                      const Timeline& timeline, const AllSizes& sizes,
                                      const plan::Profile& profile, const OverlapOptions& overlap,
                                      const PlaceEffort& effort);

// The same, with every arena accepted.
Placed PlaceTimeline(const graph::Graph& graph, graph::SubgraphId entry, const Timeline& timeline,
                     const AllSizes& sizes, const plan::Profile& profile,
                     const OverlapOptions& overlap, const Limits& limits,
                     PlacementMemo* memo = nullptr);

// The same in several memories, with the minimum access time. Fails with kOverBudget where no
// placement fits, or none was found.
Result<Placed> PlaceInMemories(const graph::Graph& graph, graph::SubgraphId entry,
                               const Timeline& timeline, const AllSizes& sizes,
                               const plan::Profile& profile, const OverlapOptions& overlap,
                               const std::vector<plan::Memory>& memories, const Limits& limits);

}  // namespace neap::compile
