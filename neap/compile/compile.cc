// SPDX-License-Identifier: Apache-2.0
#include "neap/compile/compile.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "neap/base/check.h"
#include "neap/base/work.h"
#include "neap/check/check.h"
#include "neap/compile/delivered.h"
#include "neap/compile/measured.h"
#include "neap/compile/order.h"
#include "neap/compile/peak_cause.h"
#include "neap/compile/plan_entry.h"
#include "neap/compile/settings.h"
#include "neap/compile/steps.h"
#include "neap/solve/schedule/schedule.h"

namespace neap::compile {
namespace {

// The strategy that is not schedule's: the network of neap/learn.
constexpr std::string_view kLearned = "learned";

using graph::Graph;
using graph::SubgraphId;

using Proofs = IdVector<SubgraphId, OrderProof>;
using ArenaOrders = IdVector<SubgraphId, std::optional<ArenaOrder>>;

// The options of the searches. The runtime's planner, which no limit ends, allocates for the plan
// with and without the plan's offsets: it needs as much time as for the file's order, each time.
Result<Options> OptionsOfSearches(FileAllocation* file, const Options& options) {
  constexpr int kAllocations = 2;
  Options searches = options;
  if (options.limits.deadline && options.order != kFileOrder) {
    NEAP_CHECK_OK(file->Bytes());
    searches.limits.deadline = *options.limits.deadline - kAllocations * file->time_taken();
  }
  return searches;
}

// Time and work are left for addresses.
Result<SubgraphOrders> FindOrders(const Measured& measured, const Options& options) {
  Options ordering = options;
  if (options.place) ordering.limits = WithShareOfTime(options.limits, 3, 4);
  const WorkScope work(options.place ? 3 : 4, 4);
  return OrderSubgraphs(measured.merged(), measured.sizes, measured.file_orders, measured.profile,
                        ordering);
}

// Settings shared by all entries.
struct Start {
  Orders orders;
  // The file order is kept: the stock runtime allocates less for it.
  bool keeps_file_order = false;
};

// For a runtime that places by itself, its own allocation counts.
Result<Start> StartOf(const Measured& measured, const Orders& found, FileAllocation* file,
                      const Options& options) {
  if (WritesMemoryPlan(options) || !measured.profile.runtime_places ||
      options.order != kExactOrder) {
    return Start{found, false};
  }
  NEAP_TRY(const std::int64_t of_file, file->Bytes());
  NEAP_TRY(const std::int64_t of_plan, DeliveredBytes(measured, found));
  return of_plan <= of_file ? Start{found, false} : Start{measured.file_orders, true};
}

struct PlannedEntries {
  Orders orders;
  ArenaOrders arena_orders;
  std::vector<PlannedEntry> entries;
};

// `arena_orders`: those that are known. nullopt: the plan is rejected.
Result<std::optional<PlannedEntries>> PlanEntries(const Measured& measured, const Start& start,
                                                  const Proofs& proofs, ArenaOrders arena_orders,
                                                  const Options& options, Steps* steps) {
  PlannedEntries all{start.orders, std::move(arena_orders), {}};
  for (const SubgraphId entry : graph::EntrySubgraphs(measured.merged())) {
    NEAP_TRY(auto planned, PlanEntry(measured, entry, all.orders, start.keeps_file_order, proofs,
                                     std::move(all.arena_orders[entry]), options, steps));
    if (!planned) return std::nullopt;
    all.orders[entry] = planned->placed.order;
    all.arena_orders[entry] = planned->arena_order;
    all.entries.push_back(*std::move(planned));
  }
  return all;
}

plan::Plan PlanOf(const std::vector<PlannedEntry>& entries, const Options& options) {
  plan::Plan plan;
  plan.runtime = options.runtime;
  plan.target = options.target;
  plan.order_strategy = NameOf(options.order);
  if (options.place) {
    plan.kernels = KernelsOf(options);
    plan.memories = options.memories;
  }
  for (const PlannedEntry& entry : entries) plan.entries.push_back(entry.plan);
  return plan;
}

PeakCause CauseOf(const Measured& measured, const plan::Plan& plan,
                  const std::vector<PlannedEntry>& entries) {
  const auto at = static_cast<std::size_t>(&plan::LargestEntry(plan) - plan.entries.data());
  const Timeline& timeline = entries[at].placed.timeline;
  return CauseOfPeak(timeline, LiveBytes(timeline, measured.sizes, measured.profile),
                     measured.sizes, measured.profile);
}

void SetDelivered(Delivered delivered, Compiled* compiled) {
  compiled->delivered_arena_bytes = delivered.arena_bytes;
  compiled->offsets = std::move(delivered.offsets);
  compiled->edited = std::move(delivered.edited);
  compiled->buffer_offsets = std::move(delivered.buffer_offsets);
  compiled->totals = std::move(delivered.totals);
  compiled->unknown_kernels = std::move(delivered.unknown_kernels);
}

// Totals over the entries.
Result<Compiled> Summed(const Measured& measured, const PlannedEntries& planned, bool kept_file,
                        FileAllocation* file, const Options& options, Steps* steps) {
  Compiled compiled;
  compiled.plan = PlanOf(planned.entries, options);
  compiled.order = planned.orders;
  compiled.kept_file_order = kept_file;
  compiled.peak_at = CauseOf(measured, compiled.plan, planned.entries);
  for (const PlannedEntry& entry : planned.entries) {
    const Placed& placed = entry.placed.placed;
    if (placed.access_cycles >= compiled.access_cycles) {
      compiled.access_cycles = placed.access_cycles;
      compiled.access_cycles_lower_bound = placed.access_cycles_lower_bound;
    }
    if (!entry.note.empty()) compiled.notes.push_back(entry.note);
  }
  NEAP_TRY(compiled.file_order, steps->Run("file order", [&] {
    return CostOfFileOrder(measured, plan::LargestEntry(compiled.plan).subgraph, file, options);
  }));
  NEAP_TRY(Delivered delivered, steps->Run("allocate", [&] {
    return DeliveredOf(measured, compiled.plan, planned.orders, file, options);
  }));
  SetDelivered(std::move(delivered), &compiled);
  return compiled;
}

// Whether TFLM needs more for the planned order and offsets than for the given file.
bool IsWorseThanFile(const Compiled& compiled, const Options& options) {
  return WritesMemoryPlan(options) && options.order == kExactOrder &&
         compiled.delivered_arena_bytes > compiled.file_order.arena_bytes;
}

}  // namespace

Result<Compiled> Compile(const Graph& graph, const Options& options) {
  Steps steps;
  NEAP_TRY(const Measured measured, steps.Run("measure", [&] {
    return Measure(graph, plan::ProfileOf(options.runtime, *options.target));
  }));
  FileAllocation file(measured);
  NEAP_TRY(const Options searches,
           steps.Run("file order", [&] { return OptionsOfSearches(&file, options); }));
  NEAP_TRY(const SubgraphOrders found,
           steps.Run("order", [&] { return FindOrders(measured, searches); }));
  NEAP_TRY(Start start,
           steps.Run("order", [&] { return StartOf(measured, found.orders, &file, options); }));
  NEAP_TRY(auto planned, PlanEntries(measured, start, found.proofs,
                                     ArenaOrders(measured.sizes.size()), searches, &steps));
  if (!planned) {
    Compiled none;
    none.rejected = true;
    return none;
  }
  NEAP_TRY(Compiled compiled,
           Summed(measured, *planned, start.keeps_file_order, &file, options, &steps));
  if (IsWorseThanFile(compiled, options)) {
    start = {measured.file_orders, true};
    NEAP_TRY(planned, PlanEntries(measured, start, found.proofs, std::move(planned->arena_orders),
                                  searches, &steps));
    NEAP_TRY(compiled, Summed(measured, *planned, true, &file, options, &steps));
  }
  // Each search looks at the flag, some before they count a state, and none of them reports why it
  // ended: if the flag is set by now, one may have been cut short.
  compiled.interrupted = options.limits.Interrupted();
  if (options.check) {
    const auto violations =
        steps.Run("check", [&] { return check::CheckPlan(graph, compiled.plan); });
    NEAP_CHECK(violations.empty(), "the plan fails its check: " + violations.front());
  }
  compiled.steps = steps.times();
  return compiled;
}

double OrderSeconds(const Compiled& compiled) {
  double seconds = 0;
  for (const StepTime& step : compiled.steps) {
    if (step.name == "order") seconds += step.seconds;
  }
  return seconds;
}

double PlaceSeconds(const Compiled& compiled) {
  double seconds = 0;
  for (const StepTime& step : compiled.steps) {
    if (step.name != "measure" && step.name != "order" && step.name != "check") {
      seconds += step.seconds;
    }
  }
  return seconds;
}

std::vector<std::string_view> OrderStrategyNames() {
  std::vector<std::string_view> names;
  for (const schedule::Strategy& strategy : schedule::Strategies()) names.push_back(strategy.name);
  names.push_back(kLearned);
  return names;
}

std::string_view NameOf(const OrderStrategy& strategy) {
  if (strategy.learned) return kLearned;
  return schedule::Strategies()[static_cast<std::size_t>(strategy.method)].name;
}

std::optional<OrderStrategy> OrderStrategyNamed(std::string_view name) {
  if (name == kLearned) return OrderStrategy{schedule::Method::kExact, true};
  const schedule::Strategy* const found = schedule::StrategyNamed(name);
  if (found == nullptr) return std::nullopt;
  return OrderStrategy{found->method};
}

std::vector<std::string_view> ForcedRuleNames() {
  std::vector<std::string_view> names;
  for (const schedule::ForcedRule& rule : schedule::ForcedRules()) names.push_back(rule.name);
  return names;
}

std::optional<schedule::Forced> ForcedRuleNamed(std::string_view name) {
  for (const schedule::ForcedRule& rule : schedule::ForcedRules()) {
    if (rule.name == name) return rule.forced;
  }
  return std::nullopt;
}

}  // namespace neap::compile
