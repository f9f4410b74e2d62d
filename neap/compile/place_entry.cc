// SPDX-License-Identifier: Apache-2.0
#include "neap/compile/place_entry.h"

#include <algorithm>
#include <utility>

#include "neap/compile/arena_bound.h"
#include "neap/compile/joint.h"
#include "neap/compile/order.h"
#include "neap/compile/overlap.h"
#include "neap/compile/settings.h"
#include "neap/compile/tflm_memory.h"

namespace neap::compile {
namespace {

using graph::Graph;
using graph::Op;
using graph::Subgraph;
using graph::SubgraphId;

// Options::accepts for an arena of this entry; an arena with an unknown total is accepted. Empty:
// every arena is. Keeps references to the arguments.
std::function<bool(std::int64_t arena_bytes)> AcceptanceOf(const Graph& graph, const Orders& orders,
                                                           const Options& options) {
  if (!options.accepts || options.order != kFileOrder || graph::EntrySubgraphs(graph).size() != 1 ||
      options.runtime == plan::Runtime::kLitert) {
    return {};
  }
  return [&](std::int64_t arena_bytes) {
    std::int64_t total = -1;
    if (options.runtime == plan::Runtime::kTflm) {
      total = TflmTotalOf(graph, orders, arena_bytes, *options.target).total_arena_bytes;
      if (total < 0) return true;
    }
    return options.accepts(arena_bytes, total);
  };
}

bool IsCalled(const Graph& graph, SubgraphId id) {
  for (const Subgraph& subgraph : graph.subgraphs) {
    for (const Op& op : subgraph.ops) {
      if (std::find(op.bodies.begin(), op.bodies.end(), id) != op.bodies.end()) return true;
    }
  }
  return false;
}

// The lower one of `placed` and the searched order with its placement.
PlacedOrder LowerOf(const Measured& measured, SubgraphId entry, Orders orders, PlacedOrder placed,
                    const ArenaOrder& searched, const Options& options) {
  orders[entry] = searched.order;
  auto timeline = TimelineOf(measured, entry, orders, options);
  if (!timeline) return placed;
  Placed other = PlaceTimeline(
      measured.merged(), entry, *timeline, measured.sizes, measured.profile, OverlapOf(options),
      PlacementLimits(options, options.placement_states), options.placements.get());
  if (other.arena_bytes >= placed.placed.arena_bytes) return placed;
  return {std::move(orders[entry]), *std::move(timeline), std::move(other)};
}

}  // namespace

Result<Timeline> TimelineOf(const Measured& measured, SubgraphId entry, const Orders& orders,
                            const Options& options) {
  NEAP_TRY(Timeline timeline, BuildTimeline(measured.merged(), entry, orders, measured.profile));
  if (options.keep_inputs) KeepInputs(measured.merged().subgraphs[entry], entry, &timeline);
  return timeline;
}

Result<std::optional<Placed>> PlaceEntry(const Measured& measured, SubgraphId entry,
                                         const Orders& orders, const Timeline& timeline,
                                         const Options& options) {
  const Graph& graph = measured.merged();
  const Limits limits = PlacementLimits(options, options.placement_states);
  if (!options.memories.empty()) {
    return PlaceInMemories(graph, entry, timeline, measured.sizes, measured.profile,
                           OverlapOf(options), options.memories, limits);
  }
  const PlaceEffort effort = {limits, options.placements.get(),
                              AcceptanceOf(graph, orders, options), true};
  return PlaceIfAccepted(graph, entry, timeline, measured.sizes, measured.profile,
                         OverlapOf(options), effort);
}

bool MayTakeOtherOrder(const Measured& measured, SubgraphId entry, const Options& options) {
  return options.place && options.memories.empty() && options.order == kExactOrder &&
         // LiteRT places by itself: an order for Neap's addresses is none for it.
         options.runtime != plan::Runtime::kLitert &&
         // A body has one order, wherever it runs.
         !IsCalled(measured.merged(), entry);
}

PlacedOrder PlaceLower(const Measured& measured, SubgraphId entry, Orders orders,
                       PlacedOrder placed, const std::optional<ArenaOrder>& searched,
                       std::int64_t peak_bound, const Options& options) {
  const ops::KernelLibrary kernels = KernelsOf(options);
  const std::int64_t bound = ArenaBound(measured, entry, placed, searched, peak_bound, kernels);
  // Without overlaps inside operators an arena as low as the peak leaves nothing to other
  // addresses.
  const std::int64_t peak =
      kernels == ops::KernelLibrary::kNone
          ? Largest(LiveBytes(placed.timeline, measured.sizes, measured.profile))
          : 0;
  if (placed.placed.arena_bytes <= std::max(bound, peak)) return placed;
  if (searched) placed = LowerOf(measured, entry, orders, std::move(placed), *searched, options);
  orders[entry] = placed.order;
  auto joint = SearchLowerArena(measured.merged(), entry, orders, measured.sizes, measured.profile,
                                OverlapOf(options), placed.placed.arena_bytes, bound,
                                PlacementLimits(options, options.placement_states / 40),
                                options.placements.get());
  return joint ? *std::move(joint) : std::move(placed);
}

}  // namespace neap::compile
