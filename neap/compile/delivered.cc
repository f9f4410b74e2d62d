// SPDX-License-Identifier: Apache-2.0
#include "neap/compile/delivered.h"

#include <algorithm>
#include <utility>

#include "neap/base/check.h"
#include "neap/base/work.h"
#include "neap/compile/litert.h"
#include "neap/compile/moved_model.h"
#include "neap/compile/order.h"
#include "neap/compile/place.h"
#include "neap/compile/settings.h"
#include "neap/compile/stock_runtime.h"
#include "neap/compile/tflm_memory.h"
#include "neap/ops/tflm_scratch.h"

namespace neap::compile {
namespace {

using graph::Graph;
using graph::SubgraphId;

// The target and, where the kernels are the same, the wheel.
std::vector<const target::Target*> TargetsOf(const Options& options) {
  std::vector<const target::Target*> targets = {options.target};
  const target::Target& wheel = target::WheelTarget();
  if (options.target != &wheel && options.target->kernels == wheel.kernels) {
    targets.push_back(&wheel);
  }
  return targets;
}

// Whether every operator requests the same scratch on both: pointers are part of some requests.
bool HaveEqualScratch(const Graph& graph, const target::Target& a, const target::Target& b) {
  for (const SubgraphId id : graph.subgraphs.Ids()) {
    for (const graph::Op& op : graph.subgraphs[id].ops) {
      const graph::Subgraph& subgraph = graph.subgraphs[id];
      if (ops::TflmScratchRequests(subgraph, op, a) != ops::TflmScratchRequests(subgraph, op, b)) {
        return false;
      }
    }
  }
  return true;
}

// TFLM plans subgraph 0 with all that it calls, even if another entry is the largest here.
Result<Timeline> MainTimeline(const Measured& measured, const Orders& orders) {
  return BuildTimeline(measured.merged(), SubgraphId(0), orders, measured.profile);
}

AllSizes SizesInTflm(const Measured& measured) {
  return SizesOfEverything(measured.merged(), measured.sizes, measured.profile);
}

bool AreEqual(const Orders& a, const Orders& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

// By TFLM's own planner, without offsets.
Result<arena::Placement> PlaceOrderInTflm(const Measured& measured, const Orders& orders) {
  NEAP_TRY(const Timeline timeline, MainTimeline(measured, orders));
  return PlaceInTflm(measured.merged(), timeline, SizesInTflm(measured),
                     plan::TargetOf(measured.profile));
}

// An allocation without the scratch of every kernel is none.
Delivered UnknownInTflm(std::vector<UnknownKernel> unknown, const Options& options) {
  Delivered delivered;
  for (const target::Target* target : TargetsOf(options)) {
    delivered.totals.push_back({target, -1, -1, UnknownScratchText(unknown)});
  }
  delivered.unknown_kernels = std::move(unknown);
  return delivered;
}

// TFLM's allocation for the order, with an offline memory plan where that needs no more.
Result<Delivered> DeliverToTflm(const Measured& measured, const plan::Plan& plan,
                                const Orders& orders, FileAllocation* file,
                                const Options& options) {
  const Graph& graph = measured.merged();
  NEAP_TRY(const Timeline timeline, MainTimeline(measured, orders));
  const AllSizes sizes = SizesInTflm(measured);
  Delivered delivered;
  arena::Placement placement;
  if (AreEqual(orders, measured.file_orders)) {
    NEAP_TRY(placement, file->InTflm());
  } else {
    placement = PlaceInTflm(graph, timeline, sizes, *options.target);
  }
  const bool plans = WritesMemoryPlan(options);
  std::optional<MovedModel> moved;
  if (plans && HasMoves(plan)) {
    moved = MovesAsOperators(graph, plan, orders, measured.profile);
    if (moved && moved->placement.height_bytes <= placement.height_bytes) {
      delivered.offsets = std::move(moved->offsets);
      delivered.edited = std::move(moved->graph);
      placement = std::move(moved->placement);
    }
  } else if (plans) {
    graph::TensorOffsets offsets = OfflineOffsets(graph, plan, sizes);
    // TFLM places scratch and tensors without an offset around those of the plan. Its own planner
    // may need less without a plan.
    if (!offsets.empty()) {
      arena::Placement planned = PlaceInTflm(graph, timeline, sizes, *options.target, offsets);
      if (planned.height_bytes <= placement.height_bytes) {
        delivered.offsets = std::move(offsets);
        placement = std::move(planned);
      }
    }
  }
  delivered.arena_bytes = placement.height_bytes;
  delivered.buffer_offsets = std::move(placement.offsets);
  const Graph& written = delivered.edited ? *delivered.edited : graph;
  const Orders& of_written = delivered.edited ? moved->orders : orders;
  for (const target::Target* target : TargetsOf(options)) {
    std::int64_t arena_bytes = delivered.arena_bytes;
    if (!delivered.edited && !HaveEqualScratch(graph, *options.target, *target)) {
      arena_bytes = PlaceInTflm(graph, timeline, sizes, *target, delivered.offsets).height_bytes;
    }
    delivered.totals.push_back(TflmTotalOf(written, of_written, arena_bytes, *target));
  }
  return delivered;
}

Result<std::int64_t> ArenaOnTarget(const Measured& measured, const Orders& orders,
                                   const graph::TensorOffsets& offsets,
                                   const target::Target& target) {
  NEAP_TRY(const Timeline timeline, MainTimeline(measured, orders));
  return PlaceInTflm(measured.merged(), timeline, SizesInTflm(measured), target, offsets)
      .height_bytes;
}

}  // namespace

TflmTotal TotalOnTarget(const Graph& graph, const Compiled& compiled,
                        const target::Target& target) {
  const Graph& written = compiled.edited ? *compiled.edited : graph;
  TflmTotal total;
  total.target = &target;
  total.missing = UnknownScratchText(UnknownKernelsOf(written, plan::Runtime::kTflm, target));
  if (!total.missing.empty()) return total;
  const auto measured = Measure(written, plan::ProfileOf(plan::Runtime::kTflm, target));
  NEAP_CHECK(measured.has_value(), "a planned graph was measured before");
  const Orders& orders = compiled.edited ? measured->file_orders : compiled.order;
  // TFLM's planner takes quadratic time, and a report has a dozen targets.
  if (!compiled.edited && !compiled.totals.empty() && compiled.delivered_arena_bytes >= 0 &&
      HaveEqualScratch(graph, *compiled.totals.front().target, target)) {
    return TflmTotalOf(measured->merged(), orders, compiled.delivered_arena_bytes, target);
  }
  const auto arena = ArenaOnTarget(*measured, orders, compiled.offsets, target);
  NEAP_CHECK(arena.has_value(), "a planned order has a timeline");
  return TflmTotalOf(measured->merged(), orders, *arena, target);
}

Result<Delivered> DeliveredOf(const Measured& measured, const plan::Plan& plan,
                              const Orders& orders, FileAllocation* file, const Options& options) {
  Delivered delivered;
  const plan::Runtime runtime = measured.profile.runtime;
  std::vector<UnknownKernel> unknown =
      UnknownKernelsOf(measured.merged(), runtime, *options.target);
  if (!options.memories.empty()) {
    // No stock runtime spreads tensors over memories: there is nothing that it would allocate.
    delivered.unknown_kernels = std::move(unknown);
    return delivered;
  }
  if (runtime == plan::Runtime::kLitert) {
    delivered.arena_bytes = LitertArenaBytes(measured.runtime_graph.file(), orders);
  }
  if (runtime != plan::Runtime::kTflm) return delivered;
  if (!unknown.empty()) return UnknownInTflm(std::move(unknown), options);
  return DeliverToTflm(measured, plan, orders, file, options);
}

Result<std::int64_t> DeliveredBytes(const Measured& measured, const Orders& orders) {
  const plan::Runtime runtime = measured.profile.runtime;
  if (runtime == plan::Runtime::kLitert) {
    return LitertArenaBytes(measured.runtime_graph.file(), orders);
  }
  if (runtime != plan::Runtime::kTflm) return -1;
  NEAP_TRY(const arena::Placement placement, PlaceOrderInTflm(measured, orders));
  return placement.height_bytes;
}

Result<std::int64_t> FileAllocation::Bytes() {
  if (!bytes_) {
    const auto start = LimitNow();
    if (measured_.profile.runtime == plan::Runtime::kTflm) {
      NEAP_TRY(in_tflm_, PlaceOrderInTflm(measured_, measured_.file_orders));
      bytes_ = in_tflm_.height_bytes;
    } else {
      NEAP_TRY(bytes_, DeliveredBytes(measured_, measured_.file_orders));
    }
    time_taken_ = LimitNow() - start;
  }
  return *bytes_;
}

Result<arena::Placement> FileAllocation::InTflm() {
  NEAP_CHECK_OK(Bytes());
  return in_tflm_;
}

Result<FileOrder> CostOfFileOrder(const Measured& measured, SubgraphId entry,
                                  FileAllocation* allocation, const Options& options) {
  FileOrder file;
  NEAP_TRY(const Timeline timeline,
           BuildTimeline(measured.merged(), entry, measured.file_orders, measured.profile));
  file.peak_bytes = Largest(LiveBytes(timeline, measured.sizes, measured.profile));
  if (UnknownKernelsOf(measured.merged(), measured.profile.runtime, *options.target).empty()) {
    NEAP_TRY(const std::int64_t delivered, allocation->Bytes());
    if (delivered >= 0) {
      file.arena_bytes = delivered;
      return file;
    }
  }
  if (options.place && options.place_file_order) {
    // A yardstick, not a result: a tenth of the effort.
    file.arena_bytes =
        PlaceTimeline(measured.merged(), entry, timeline, measured.sizes, measured.profile, {},
                      PlacementLimits(options, options.placement_states / 10))
            .arena_bytes;
  }
  return file;
}

}  // namespace neap::compile
