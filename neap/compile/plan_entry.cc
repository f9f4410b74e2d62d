// SPDX-License-Identifier: Apache-2.0
#include "neap/compile/plan_entry.h"

#include <algorithm>
#include <utility>

#include "neap/compile/arena_bound.h"
#include "neap/compile/moved_plan.h"
#include "neap/compile/moves.h"
#include "neap/compile/place_entry.h"
#include "neap/compile/settings.h"

namespace neap::compile {
namespace {

using graph::SubgraphId;

plan::BoundStatus StatusOf(std::int64_t bytes, std::int64_t lower_bound) {
  return bytes == lower_bound ? plan::BoundStatus::kOptimal : plan::BoundStatus::kBounded;
}

// The plan without addresses.
plan::EntryPlan OrderedEntry(const Measured& measured, SubgraphId id, const Timeline& timeline,
                             const OrderProof& proof) {
  plan::EntryPlan entry;
  entry.subgraph = id;
  for (const graph::Signature& signature : measured.merged().signatures) {
    if (signature.subgraph == id) entry.signature = signature.key;
  }
  entry.steps = timeline.steps;
  entry.overlaps = timeline.overlaps;
  entry.peak_bytes = Largest(LiveBytes(timeline, measured.sizes, measured.profile));
  entry.peak_lower_bound_bytes = std::min(proof.lower_bound_bytes, entry.peak_bytes);
  entry.order_status = StatusOf(entry.peak_bytes, entry.peak_lower_bound_bytes);
  entry.certificate = proof.certificate;
  entry.states = proof.states;
  return entry;
}

plan::EntryPlan WithPlaces(plan::EntryPlan entry, const Placed& placed) {
  entry.tensors = placed.tensors;
  entry.scratch = placed.scratch;
  entry.overlaps.insert(entry.overlaps.end(), placed.overlaps.begin(), placed.overlaps.end());
  entry.arena_bytes = placed.arena_bytes;
  entry.memory_bytes = placed.memory_bytes;
  entry.arena_given_order_lower_bound_bytes = placed.lower_bound_bytes;
  return entry;
}

// The target of the entry's arena for moves; nullopt: no moves.
std::optional<std::int64_t> TargetOfMoves(const Measured& measured, const plan::EntryPlan& entry,
                                          std::int64_t peak_bytes, const Options& options) {
  // With shared outputs a move would move several tensors.
  if (options.moves == MoveStrategy::kNone || !measured.runtime_graph.shared().empty() ||
      !options.memories.empty() || KernelsOf(options) != ops::KernelLibrary::kNone) {
    return std::nullopt;
  }
  const std::int64_t target = std::max(options.budget_bytes, peak_bytes);
  if (entry.arena_bytes <= target) return std::nullopt;
  return target;
}

// nullopt: no moves; `note` states why, if they were requested.
std::optional<MovedPlacement> MoveTensors(const Measured& measured, const Timeline& timeline,
                                          std::optional<std::int64_t> target,
                                          const Options& options, std::string* note) {
  if (!target) return std::nullopt;
  constexpr std::int64_t kStatesEach = 2000;
  const bool apart = measured.profile.runtime == plan::Runtime::kTflm;
  auto moved = PlaceWithMoves(timeline, measured.sizes, measured.profile, *target, options.moves,
                              apart, PlacementLimits(options, kStatesEach));
  if (!moved && apart && options.moves == MoveStrategy::kCompact) {
    *note = "no left-compaction reaches " + std::to_string(*target) +
            " bytes: under this runtime, source and destination of a copy must be disjoint; "
            "moves best tries other moves";
  }
  return moved;
}

// Order and moves together, where the order may be another one: fewer moved bytes than `moved`, or
// the lowest peak of the known orders where the placed order has a larger one.
std::optional<OrderedMoves> MoveInOtherOrder(const Measured& measured, const Orders& orders,
                                             const plan::EntryPlan& entry,
                                             const std::optional<MovedPlacement>& moved,
                                             const Options& options) {
  if (options.moves != MoveStrategy::kBest ||
      !MayTakeOtherOrder(measured, entry.subgraph, options)) {
    return std::nullopt;
  }
  const auto searched = TimelineOf(measured, entry.subgraph, orders, options);
  if (!searched) return std::nullopt;
  const std::int64_t peak = Largest(LiveBytes(*searched, measured.sizes, measured.profile));
  const bool is_lower = peak < entry.peak_bytes && options.budget_bytes < entry.peak_bytes;
  const auto target = TargetOfMoves(measured, entry, std::min(peak, entry.peak_bytes), options);
  if (!target) return std::nullopt;
  return FindOrderWithMoves(measured, entry.subgraph, orders, *target,
                            is_lower || !moved ? -1 : moved->moved_bytes, options);
}

// The bounds are those of plans without moves, except that no arena is below the peak.
plan::EntryPlan WithMoves(plan::EntryPlan entry, MovedPlacement moved) {
  entry.steps = std::move(moved.steps);
  entry.tensors = std::move(moved.tensors);
  entry.scratch = std::move(moved.scratch);
  entry.arena_bytes = moved.arena_bytes;
  entry.arena_given_order_lower_bound_bytes =
      std::min(entry.arena_given_order_lower_bound_bytes, entry.peak_bytes);
  return entry;
}

plan::EntryPlan WithArenaBound(plan::EntryPlan entry, const Measured& measured,
                               const PlacedOrder& placed, const std::optional<ArenaOrder>& searched,
                               const Options& options) {
  const ops::KernelLibrary kernels = KernelsOf(options);
  const std::int64_t bound =
      ArenaBound(measured, entry.subgraph, placed, searched, entry.peak_lower_bound_bytes, kernels);
  entry.arena_lower_bound_bytes = std::min(entry.arena_bytes, bound);
  const bool rests_on_search =
      searched && entry.arena_lower_bound_bytes >
                      ArenaBoundSeen(measured, entry.subgraph, placed.timeline, kernels);
  if (rests_on_search) entry.arena_certificate = searched->certificate;
  entry.arena_status = StatusOf(entry.arena_bytes, entry.arena_lower_bound_bytes);
  return entry;
}

// `orders`: those of the plan.
Result<plan::EntryPlan> WithSharedOutputs(plan::EntryPlan entry, const Measured& measured,
                                          const Orders& orders) {
  if (measured.runtime_graph.shared().empty()) return entry;
  NEAP_TRY(const Timeline apart,
           BuildTimeline(measured.runtime_graph.apart(), entry.subgraph, orders, measured.profile));
  AddSharedOutputs(measured.runtime_graph, apart, &entry);
  return entry;
}

}  // namespace

Result<std::optional<PlannedEntry>> PlanEntry(const Measured& measured, SubgraphId entry,
                                              const Orders& orders, bool fixed,
                                              const IdVector<SubgraphId, OrderProof>& proofs,
                                              std::optional<ArenaOrder> arena_order,
                                              const Options& options, Steps* steps) {
  PlannedEntry planned;
  PlacedOrder& placed = planned.placed;
  placed.order = orders[entry];
  NEAP_TRY(placed.timeline, TimelineOf(measured, entry, orders, options));
  if (!options.place) {
    planned.plan = OrderedEntry(measured, entry, placed.timeline, proofs[entry]);
    NEAP_TRY(planned.plan, WithSharedOutputs(std::move(planned.plan), measured, orders));
    return planned;
  }
  planned.arena_order = steps->Run("arena order", [&] {
    return arena_order || !options.arena_order
               ? std::move(arena_order)
               : FindArenaOrder(measured, entry, placed.order, proofs, options);
  });
  NEAP_TRY(auto first, steps->Run("place", [&] {
    return PlaceEntry(measured, entry, orders, placed.timeline, options);
  }));
  if (!first) return std::nullopt;
  placed.placed = *std::move(first);
  if (!fixed && options.joint_search && MayTakeOtherOrder(measured, entry, options)) {
    placed = steps->Run("joint search", [&] {
      return PlaceLower(measured, entry, orders, std::move(placed), planned.arena_order,
                        proofs[entry].lower_bound_bytes, options);
    });
  }
  planned.plan =
      WithPlaces(OrderedEntry(measured, entry, placed.timeline, proofs[entry]), placed.placed);
  auto moved = steps->Run("moves", [&] {
    const auto target = TargetOfMoves(measured, planned.plan, planned.plan.peak_bytes, options);
    return MoveTensors(measured, placed.timeline, target, options, &planned.note);
  });
  auto ordered = steps->Run("moves", [&] {
    return fixed ? std::nullopt : MoveInOtherOrder(measured, orders, planned.plan, moved, options);
  });
  if (ordered) {
    placed.order = std::move(ordered->order);
    placed.timeline = std::move(ordered->timeline);
    planned.plan =
        WithPlaces(OrderedEntry(measured, entry, placed.timeline, proofs[entry]), placed.placed);
    moved = std::move(ordered->placement);
  }
  if (moved) planned.plan = WithMoves(std::move(planned.plan), *std::move(moved));
  planned.plan =
      WithArenaBound(std::move(planned.plan), measured, placed, planned.arena_order, options);
  Orders of_plan = orders;
  of_plan[entry] = placed.order;
  NEAP_TRY(planned.plan, WithSharedOutputs(std::move(planned.plan), measured, of_plan));
  return planned;
}

}  // namespace neap::compile
