// SPDX-License-Identifier: Apache-2.0
#include "neap/compile/compile.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <optional>
#include <utility>

#include "neap/base/bytes.h"
#include "neap/base/check.h"
#include "neap/base/work.h"
#include "neap/compile/arena_order.h"
#include "neap/compile/joint.h"
#include "neap/compile/litert.h"
#include "neap/compile/lower.h"
#include "neap/compile/moved_model.h"
#include "neap/compile/moves.h"
#include "neap/compile/order.h"
#include "neap/compile/overlap.h"
#include "neap/compile/place.h"
#include "neap/compile/runtime_graph.h"
#include "neap/compile/stock_runtime.h"
#include "neap/compile/stream.h"
#include "neap/compile/tflm_memory.h"
#include "neap/compile/timeline.h"
#include "neap/plan/check.h"
#include "neap/schedule/check.h"
#include "neap/schedule/schedule.h"

namespace neap::compile {
namespace {

using graph::Graph;
using graph::Op;
using graph::OpId;
using graph::Subgraph;
using graph::SubgraphId;

class Stopwatch {
 public:
  double Seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

class Pipeline {
 public:
  Pipeline(const Graph& graph, const Options& options)
      : options_(options),
        profile_(plan::ProfileOf(options.runtime)),
        kernels_(options.kernels == ops::KernelLibrary::kNone ? profile_.kernels : options.kernels),
        runtime_graph_(graph, profile_),
        graph_(runtime_graph_.merged()) {}

  Status Measure() {
    for (const SubgraphId id : graph_.subgraphs.Ids()) {
      NEAP_TRY(TensorSizes sizes, SizesOf(graph_.subgraphs[id], profile_));
      sizes_.push_back(std::move(sizes));
      file_orders_.push_back(FileOrderOf(graph_.subgraphs[id]));
      arena_orders_.push_back(std::nullopt);
    }
    return {};
  }

  Result<Compiled> Run() {
    NEAP_CHECK_OK(Measure());
    const Stopwatch order_watch;
    // Streams are searched after the plan that they have to beat.
    limits_ = options_.limits;
    std::optional<WorkScope> work;
    if (options_.stream) {
      limits_ = WithShareOfTime(options_.limits, 1, 3);
      work.emplace(1, 2);
    }
    NEAP_TRY(SubgraphOrders found, FindOrders());
    orders_ = std::move(found.orders);
    ordered_ = std::move(found.proofs);
    compiled_.interrupted = found.interrupted;
    if (!TellsOffsets()) NEAP_CHECK_OK(KeepFileOrderIfDeliveredIsLess());
    compiled_.seconds.order_seconds = order_watch.Seconds();
    const Stopwatch place_watch;
    compiled_.plan.runtime = options_.runtime;
    compiled_.plan.order_strategy = options_.order;
    if (options_.place) {
      compiled_.plan.kernels = kernels_;
      compiled_.plan.memories = options_.memories;
    }
    NEAP_CHECK_OK(PlanEntries());
    if (compiled_.of_no_use) return std::move(compiled_);
    if (TellsOffsets() && options_.order == "exact" &&
        compiled_.delivered_arena_bytes > compiled_.file_order.arena_bytes) {
      orders_ = file_orders_;
      compiled_.kept_file_order = true;
      NEAP_CHECK_OK(PlanEntries());
    }
    work.reset();
    // The file's graph: in that of the runtime variables are kept like tensors of the caller.
    if (options_.stream) {
      NEAP_CHECK_OK(StreamEntries(runtime_graph_.file(), options_, &compiled_));
    }
    const plan::Plan& plan = compiled_.plan;
    compiled_.order = orders_;
    compiled_.seconds.place_seconds = place_watch.Seconds();
    if (options_.check) {
      const std::vector<std::string> violations = plan::Check(runtime_graph_.given(), plan);
      NEAP_CHECK(violations.empty(), "the plan fails its check: " + violations.front());
    }
    return std::move(compiled_);
  }

  Result<std::vector<Inspection>> RunInspection() {
    NEAP_CHECK_OK(Measure());
    std::vector<Inspection> inspections;
    for (const SubgraphId entry : graph::EntrySubgraphs(graph_)) {
      NEAP_TRY(const Timeline timeline, BuildTimeline(graph_, entry, file_orders_, profile_));
      Inspection inspection;
      inspection.subgraph = entry;
      const auto live = LiveBytes(timeline, sizes_, profile_);
      for (std::size_t slot = 0; slot < live.size(); ++slot) {
        inspection.steps.push_back(
            {timeline.steps[slot].subgraph, timeline.steps[slot].op, live[slot]});
      }
      inspection.peak_bytes = Largest(live);
      inspection.peak_at = CauseOf(timeline, live);
      for (const graph::Tensor& tensor : runtime_graph_.file().subgraphs[entry].tensors) {
        const auto bytes = graph::TensorBytes(tensor);
        if (!bytes) continue;
        if (tensor.constant) inspection.constant_bytes += *bytes;
        if (tensor.variable && !tensor.constant) inspection.variable_bytes += *bytes;
      }
      inspections.push_back(std::move(inspection));
    }
    return inspections;
  }

 private:
  // Time and work are left for addresses.
  Result<SubgraphOrders> FindOrders() const {
    Options ordering = options_;
    ordering.limits = options_.place ? WithShareOfTime(limits_, 3, 4) : limits_;
    const WorkScope work(options_.place ? 3 : 4, 4);
    return OrderSubgraphs(graph_, sizes_, file_orders_, profile_, ordering);
  }

  bool TellsOffsets() const {
    return profile_.runtime == plan::Runtime::kTflm && options_.place && options_.tell_offsets &&
           options_.memories.empty();
  }

  Result<Timeline> TimelineOf(SubgraphId entry, const Orders& orders) const {
    NEAP_TRY(Timeline timeline, BuildTimeline(graph_, entry, orders, profile_));
    if (options_.keep_inputs) KeepInputs(graph_.subgraphs[entry], entry, &timeline);
    return timeline;
  }

  // Everything behind the order.
  Status PlanEntries() {
    compiled_.plan.entries.clear();
    std::vector<Timeline> timelines;
    for (const SubgraphId entry : graph::EntrySubgraphs(graph_)) {
      NEAP_TRY(Timeline timeline, TimelineOf(entry, orders_));
      NEAP_TRY(plan::EntryPlan entry_plan, PlanEntry(entry, &timeline));
      if (compiled_.of_no_use) return {};
      if (!runtime_graph_.shared().empty()) {
        NEAP_TRY(const Timeline apart,
                 BuildTimeline(runtime_graph_.apart(), entry, orders_, profile_));
        AddSharedOutputs(runtime_graph_, apart, &entry_plan);
      }
      compiled_.plan.entries.push_back(std::move(entry_plan));
      timelines.push_back(std::move(timeline));
    }
    NEAP_CHECK_OK(Report(timelines));
    if (!options_.memories.empty()) {
      // No stock runtime spreads tensors over memories: there is nothing that it would allocate.
      compiled_.delivered_arena_bytes = -1;
      compiled_.buffer_offsets.clear();
      compiled_.totals.clear();
    }
    return {};
  }

  // What counts for a runtime that places by itself is what it will allocate.
  Status KeepFileOrderIfDeliveredIsLess() {
    if (!profile_.runtime_places || options_.order != "exact") return {};
    NEAP_TRY(const std::int64_t of_file, DeliveredBytes(file_orders_));
    NEAP_TRY(const std::int64_t of_plan, DeliveredBytes(orders_));
    if (of_plan <= of_file) return {};
    orders_ = file_orders_;
    compiled_.kept_file_order = true;
    return {};
  }

  // The order may give way to one that is placed lower; `timeline` is then the other one's.
  Result<plan::EntryPlan> PlanEntry(SubgraphId id, Timeline* timeline) {
    plan::EntryPlan entry;
    entry.subgraph = id;
    for (const graph::Signature& signature : graph_.signatures) {
      if (signature.subgraph == id) entry.signature = signature.key;
    }
    Placed placed;
    if (options_.place) FindArenaOrder(id);
    if (options_.place && options_.memories.empty()) {
      placed = PlaceEntry(id, timeline);
      if (compiled_.of_no_use) return entry;
    } else if (options_.place) {
      NEAP_TRY(placed, PlaceInMemories(graph_, id, *timeline, sizes_, profile_,
                                       {kernels_, options_.keep_inputs}, options_.memories,
                                       PlacementLimits(options_.placement_states)));
      if (placed.access_cycles >= compiled_.access_cycles) {
        compiled_.access_cycles = placed.access_cycles;
        compiled_.access_cycles_lower_bound = placed.access_cycles_lower_bound;
      }
    }
    entry.steps = timeline->steps;
    entry.overlaps = timeline->overlaps;
    const OrderProof& ordered = ordered_[id];
    entry.peak_bytes = Largest(LiveBytes(*timeline, sizes_, profile_));
    entry.peak_lower_bound_bytes = std::min(ordered.lower_bound_bytes, entry.peak_bytes);
    entry.order_status = StatusOf(entry.peak_bytes, entry.peak_lower_bound_bytes);
    entry.certificate = ordered.certificate;
    entry.states = ordered.states;
    if (!options_.place) return entry;
    entry.tensors = std::move(placed.tensors);
    entry.scratch = std::move(placed.scratch);
    entry.overlaps.insert(entry.overlaps.end(), placed.overlaps.begin(), placed.overlaps.end());
    entry.arena_bytes = placed.arena_bytes;
    entry.memory_bytes = placed.memory_bytes;
    entry.arena_given_order_lower_bound_bytes = placed.lower_bound_bytes;
    TryMoves(*timeline, &entry);
    const std::int64_t bound =
        ArenaBound(*timeline, entry.peak_lower_bound_bytes, placed.lower_bound_bytes, id);
    entry.arena_lower_bound_bytes = std::min(entry.arena_bytes, bound);
    const bool rests_on_search =
        arena_orders_[id] && entry.arena_lower_bound_bytes > ArenaBoundSeen(*timeline, id);
    if (rests_on_search) entry.arena_certificate = arena_orders_[id]->certificate;
    entry.arena_status = StatusOf(entry.arena_bytes, entry.arena_lower_bound_bytes);
    return entry;
  }

  static plan::BoundStatus StatusOf(std::int64_t bytes, std::int64_t lower_bound) {
    return bytes == lower_bound ? plan::BoundStatus::kOptimal : plan::BoundStatus::kBounded;
  }

  Placed PlaceEntry(SubgraphId id, Timeline* timeline) {
    const OverlapOptions overlap = {kernels_, options_.keep_inputs};
    PlaceEffort effort{
        PlacementLimits(options_.placement_states), options_.placements.get(), {}, true};
    if (options_.of_use && options_.order == "file" && graph::EntrySubgraphs(graph_).size() == 1 &&
        profile_.runtime != plan::Runtime::kLitert) {
      effort.of_use = [this](std::int64_t arena_bytes) { return IsOfUse(arena_bytes); };
    }
    auto found = PlaceIfOfUse(graph_, id, *timeline, sizes_, profile_, overlap, effort);
    compiled_.of_no_use = !found;
    if (!found) return {};
    Placed placed = *std::move(found);
    if (options_.order != "exact" || compiled_.kept_file_order || IsCalled(id)) return placed;
    // LiteRT places by itself: an order for Neap's addresses is none for it.
    if (profile_.runtime == plan::Runtime::kLitert) return placed;
    const std::int64_t bound =
        ArenaBound(*timeline, ordered_[id].lower_bound_bytes, placed.lower_bound_bytes, id);
    // Without overlaps inside operators an arena as low as the peak leaves nothing to other
    // addresses.
    const std::int64_t peak =
        kernels_ == ops::KernelLibrary::kNone ? Largest(LiveBytes(*timeline, sizes_, profile_)) : 0;
    if (placed.arena_bytes <= std::max(bound, peak)) return placed;
    TakeArenaOrder(id, timeline, &placed);
    auto joint = SearchLowerArena(
        graph_, id, orders_, sizes_, profile_, overlap, placed.arena_bytes, bound,
        PlacementLimits(options_.placement_states / 40), options_.placements.get());
    if (!joint) return placed;
    orders_[id] = std::move(joint->order);
    *timeline = std::move(joint->timeline);
    return std::move(joint->placed);
  }

  // What is not known of a total may be enough.
  bool IsOfUse(std::int64_t arena_bytes) const {
    std::int64_t total = -1;
    if (profile_.runtime == plan::Runtime::kTflm) {
      total = TflmTotalOf(graph_, orders_, arena_bytes, TflmTarget::kCortexM).total_arena_bytes;
      if (total < 0) return true;
    }
    return options_.of_use(arena_bytes, total);
  }

  // The order that needs least with every overlap counted, where it is placed lower.
  void TakeArenaOrder(SubgraphId id, Timeline* timeline, Placed* placed) {
    if (!arena_orders_[id]) return;
    Orders other = orders_;
    other[id] = arena_orders_[id]->order;
    auto its = TimelineOf(id, other);
    if (!its) return;
    Placed lower =
        PlaceTimeline(graph_, id, *its, sizes_, profile_, {kernels_, options_.keep_inputs},
                      PlacementLimits(options_.placement_states), options_.placements.get());
    if (lower.arena_bytes >= placed->arena_bytes) return;
    orders_[id] = std::move(other[id]);
    *timeline = std::move(*its);
    *placed = std::move(lower);
  }

  // Bytes of a tensor that no slice reads any more may hold others: live bytes are no bound there.
  static bool HasDeadParts(const Subgraph& subgraph) {
    return std::any_of(subgraph.ops.begin(), subgraph.ops.end(), [&](const Op& op) {
      for (std::size_t i = 0; i < op.inputs.size(); ++i) {
        if (ops::FirstByteRead(subgraph, op, i) > 0) return true;
      }
      return false;
    });
  }

  // Where several orders are possible and kernels let outputs lie over inputs; once per entry.
  void FindArenaOrder(SubgraphId id) {
    const Subgraph& subgraph = graph_.subgraphs[id];
    // That the inputs are kept is a wish; the bound is of what is possible.
    const OverlapOptions overlap = {kernels_, false};
    if (arena_orders_[id] || kernels_ == ops::KernelLibrary::kNone || options_.order != "exact" ||
        !MayOverlap(graph_, id, overlap) || IsOnlyOrder(subgraph, orders_[id]) ||
        HasDeadParts(subgraph)) {
      return;
    }
    // Which operators come before which is looked up by pairs.
    constexpr std::int64_t kPairWork = 2;
    const auto operators = static_cast<std::int64_t>(subgraph.ops.size());
    if (!Affords(limits_, operators * operators * kPairWork)) return;
    IdVector<OpId, std::int64_t> scratch(subgraph.ops.size(), 0);
    for (const OpId op : subgraph.ops.Ids()) {
      std::int64_t body_bytes = 0;
      for (const SubgraphId body : subgraph.ops[op].bodies) {
        // Where tensors of a body overlap, its peak says nothing about its arena.
        if (MayOverlap(graph_, body, overlap)) continue;
        body_bytes = std::max(body_bytes, ordered_[body].lower_bound_bytes);
      }
      scratch[op] = AlignUp(subgraph.ops[op].scratch_bytes, profile_.alignment) + body_bytes;
    }
    const WorkScope work(1, 2);
    arena_orders_[id] = SearchArenaOrder(subgraph, sizes_[id], scratch, profile_, overlap,
                                         WithShareOfTime(limits_, 1, 2));
  }

  // A body has one order, wherever it runs.
  bool IsCalled(SubgraphId id) const {
    for (const Subgraph& subgraph : graph_.subgraphs) {
      for (const Op& op : subgraph.ops) {
        if (std::find(op.bodies.begin(), op.bodies.end(), id) != op.bodies.end()) return true;
      }
    }
    return false;
  }

  // Of all orders. With overlaps inside operators the peak's bound says nothing about the arena.
  std::int64_t ArenaBound(const Timeline& timeline, std::int64_t peak_bound,
                          std::int64_t given_order_bound, SubgraphId id) const {
    const std::int64_t seen = ArenaBoundSeen(timeline, id);
    if (kernels_ == ops::KernelLibrary::kNone) return std::max(peak_bound, seen);
    const Subgraph& subgraph = graph_.subgraphs[id];
    // What no placement of the only order is below, no placement of any order is.
    const bool only_order = IsOnlyOrder(subgraph, orders_[id]);
    const std::int64_t searched = arena_orders_[id] ? arena_orders_[id]->lower_bound_bytes : 0;
    return std::max({seen, searched, only_order ? given_order_bound : 0,
                     MayOverlap(graph_, id, {kernels_, false}) ? 0 : peak_bound});
  }

  // What one tensor needs, or one operator.
  std::int64_t ArenaBoundSeen(const Timeline& timeline, SubgraphId id) const {
    const std::int64_t largest = LargestTensor(timeline);
    if (kernels_ == ops::KernelLibrary::kNone) return largest;
    // That the inputs are kept is a wish; the bound is of what is possible.
    return std::max(largest, SingleOperatorArenaBound(graph_.subgraphs[id], sizes_[id], profile_,
                                                      {kernels_, false}));
  }

  std::int64_t LargestTensor(const Timeline& timeline) const {
    std::int64_t largest = 0;
    for (const LiveTensor& live : timeline.tensors) {
      largest = std::max(largest, sizes_[live.subgraph].counted[live.tensor]);
    }
    return largest;
  }

  Limits PlacementLimits(std::int64_t states) const {
    Limits limits = limits_;
    // Who interrupts is waiting.
    if (limits.Interrupted()) states /= 10;
    limits.max_states = std::max<std::int64_t>(states, 1);
    // An order that was interrupted is still placed well: that ends soon.
    limits.max_seconds = 0;
    limits.stop = nullptr;
    return limits;
  }

  // Where no placement is low enough, live tensors may move. The bounds are of what needs no moves,
  // except that no arena is below the peak.
  void TryMoves(const Timeline& timeline, plan::EntryPlan* entry) {
    if (!runtime_graph_.shared().empty()) return;  // a move would move several tensors
    const std::int64_t target = std::max(options_.budget_bytes, entry->peak_bytes);
    if (!options_.memories.empty()) return;
    if (entry->arena_bytes <= target || kernels_ != ops::KernelLibrary::kNone) return;
    constexpr std::int64_t kStatesEach = 2000;
    const bool apart = profile_.runtime == plan::Runtime::kTflm;
    auto moved = PlaceWithMoves(timeline, sizes_, profile_, target, options_.moves, apart,
                                PlacementLimits(kStatesEach));
    if (!moved) {
      if (apart && options_.moves == MoveStrategy::kCompact) {
        compiled_.notes.push_back(
            "no left-compaction reaches " + std::to_string(target) +
            " bytes here: under this runtime a copy may not touch what it is copied from; "
            "--moves best tries other moves");
      }
      return;
    }
    entry->steps = std::move(moved->steps);
    entry->tensors = std::move(moved->tensors);
    entry->scratch = std::move(moved->scratch);
    entry->arena_bytes = moved->arena_bytes;
    entry->arena_given_order_lower_bound_bytes =
        std::min(entry->arena_given_order_lower_bound_bytes, entry->peak_bytes);
  }

  PeakCause CauseOf(const Timeline& timeline, const std::vector<std::int64_t>& live_bytes) const {
    PeakCause cause;
    if (live_bytes.empty()) return cause;
    const auto slot = static_cast<std::int32_t>(
        std::max_element(live_bytes.begin(), live_bytes.end()) - live_bytes.begin());
    cause.subgraph = timeline.steps[static_cast<std::size_t>(slot)].subgraph;
    cause.op = timeline.steps[static_cast<std::size_t>(slot)].op;
    std::vector<LiveTensor> written_over;
    for (const LiveTensor& live : timeline.tensors) {
      if (live.unread || live.first > slot || live.last <= slot) continue;
      const bool free_of_charge =
          std::any_of(timeline.overlaps.begin(), timeline.overlaps.end(), [&](const auto& overlap) {
            return overlap.slot == slot && overlap.subgraph == live.subgraph &&
                   overlap.output == live.tensor;
          });
      const std::int64_t bytes = sizes_[live.subgraph].counted[live.tensor];
      if (!free_of_charge && bytes > 0)
        cause.tensors.push_back({live.subgraph, live.tensor, bytes});
    }
    for (const LiveScratch& scratch : timeline.scratch) {
      if (scratch.first <= slot && slot < scratch.last) {
        cause.scratch_bytes += AlignUp(scratch.bytes, profile_.alignment);
      }
    }
    std::stable_sort(cause.tensors.begin(), cause.tensors.end(),
                     [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
    return cause;
  }

  Status Report(const std::vector<Timeline>& timelines) {
    const plan::EntryPlan& largest = plan::LargestEntry(compiled_.plan);
    const auto at = static_cast<std::size_t>(&largest - compiled_.plan.entries.data());
    compiled_.peak_at = CauseOf(timelines[at], LiveBytes(timelines[at], sizes_, profile_));
    NEAP_TRY(const Timeline file, BuildTimeline(graph_, largest.subgraph, file_orders_, profile_));
    compiled_.file_order.peak_bytes = Largest(LiveBytes(file, sizes_, profile_));
    if (profile_.runtime == plan::Runtime::kLitert) {
      const Graph& given = runtime_graph_.file();
      compiled_.delivered_arena_bytes = LitertArenaBytes(given, orders_);
      if (compiled_.delivered_arena_bytes >= 0) {
        compiled_.file_order.arena_bytes = LitertArenaBytes(given, file_orders_);
        return {};
      }
    }
    compiled_.unknown_kernels = UnknownKernelsOf(graph_, profile_.runtime);
    if (profile_.runtime == plan::Runtime::kTflm && compiled_.unknown_kernels.empty()) {
      // TFLM plans subgraph 0 with all that it calls, whatever entry is the largest here.
      NEAP_TRY(const Timeline file_main,
               BuildTimeline(graph_, SubgraphId(0), file_orders_, profile_));
      NEAP_TRY(const Timeline plan_main, BuildTimeline(graph_, SubgraphId(0), orders_, profile_));
      const AllSizes all = SizesOfEverything(graph_, sizes_, profile_);
      compiled_.file_order.arena_bytes = PlaceInTflm(graph_, file_main, all).height_bytes;
      ReportTflm(plan_main, all);
      return {};
    }
    if (profile_.runtime == plan::Runtime::kTflm) ReportUnknownTflm();
    if (options_.place && options_.place_file_order) {
      // A yardstick, not a result: a tenth of the effort.
      compiled_.file_order.arena_bytes =
          PlaceTimeline(graph_, largest.subgraph, file, sizes_, profile_, {},
                        PlacementLimits(options_.placement_states / 10))
              .arena_bytes;
    }
    return {};
  }

  // An allocation without the scratch of every kernel is none.
  void ReportUnknownTflm() {
    compiled_.offsets = {};
    compiled_.edited.reset();
    compiled_.delivered_arena_bytes = -1;
    compiled_.buffer_offsets.clear();
    compiled_.totals.clear();
    for (const TflmTarget target : {TflmTarget::kCortexM, TflmTarget::kHost64}) {
      compiled_.totals.push_back({target, -1, -1, UnknownScratchText(compiled_.unknown_kernels)});
    }
  }

  // What TFLM makes of the order, and of what it can be told.
  void ReportTflm(const Timeline& timeline, const AllSizes& all) {
    compiled_.offsets = {};
    compiled_.edited.reset();
    arena::Placement delivered = PlaceInTflm(graph_, timeline, all);
    const bool tells = TellsOffsets();
    const Orders* orders = &orders_;
    std::optional<MovedModel> moved;
    if (tells && HasMoves(compiled_.plan)) {
      moved = MovesAsOperators(graph_, compiled_.plan, orders_, profile_);
      if (moved && moved->placement.height_bytes <= delivered.height_bytes) {
        compiled_.offsets = std::move(moved->offsets);
        compiled_.edited = std::move(moved->graph);
        delivered = std::move(moved->placement);
        orders = &moved->orders;
      }
    } else if (tells) {
      graph::TensorOffsets offsets = OfflineOffsets(graph_, compiled_.plan, all);
      arena::Placement told = PlaceInTflm(graph_, timeline, all, offsets);
      // TFLM places scratch and what the plan has no place for around the plan's tensors: it may do
      // better when left alone.
      if (!offsets.empty() && told.height_bytes <= delivered.height_bytes) {
        compiled_.offsets = std::move(offsets);
        delivered = std::move(told);
      }
    }
    compiled_.delivered_arena_bytes = delivered.height_bytes;
    compiled_.buffer_offsets = std::move(delivered.offsets);
    compiled_.totals.clear();
    const Graph& written = compiled_.edited ? *compiled_.edited : graph_;
    for (const TflmTarget target : {TflmTarget::kCortexM, TflmTarget::kHost64}) {
      compiled_.totals.push_back(
          TflmTotalOf(written, *orders, compiled_.delivered_arena_bytes, target));
    }
  }

  // What the runtime's own planner allocates, given these orders; -1 where it is not modelled.
  Result<std::int64_t> DeliveredBytes(const Orders& orders) const {
    if (profile_.runtime == plan::Runtime::kLitert) {
      return LitertArenaBytes(runtime_graph_.file(), orders);
    }
    if (profile_.runtime != plan::Runtime::kTflm) return -1;
    NEAP_TRY(const Timeline timeline, BuildTimeline(graph_, SubgraphId(0), orders, profile_));
    return PlaceInTflm(graph_, timeline, SizesOfEverything(graph_, sizes_, profile_)).height_bytes;
  }

  const Options& options_;
  Limits limits_;  // of order and addresses
  const plan::Profile& profile_;
  // What was asked for, else what the profile has of itself.
  const ops::KernelLibrary kernels_;
  const RuntimeGraph runtime_graph_;
  const Graph& graph_;  // what is ordered and placed
  AllSizes sizes_;
  Orders file_orders_;
  Orders orders_;
  IdVector<SubgraphId, OrderProof> ordered_;
  IdVector<SubgraphId, std::optional<ArenaOrder>> arena_orders_;
  Compiled compiled_;
};

}  // namespace

std::string_view NameOf(TflmTarget target) {
  return target == TflmTarget::kCortexM ? "cortex-m" : "x86-64";
}

Result<Compiled> Compile(const Graph& graph, const Options& options) {
  return Pipeline(graph, options).Run();
}

Result<std::vector<Inspection>> Inspect(const Graph& graph, plan::Runtime runtime) {
  Options options;
  options.runtime = runtime;
  return Pipeline(graph, options).RunInspection();
}

std::vector<std::string_view> OrderStrategies() {
  std::vector<std::string_view> names;
  for (const schedule::Strategy& strategy : schedule::Strategies()) names.push_back(strategy.name);
  names.push_back(kLearned);
  return names;
}

std::vector<std::string_view> ForcedRules() {
  std::vector<std::string_view> names;
  for (const schedule::ForcedRule& rule : schedule::ForcedRules()) names.push_back(rule.name);
  return names;
}

}  // namespace neap::compile
