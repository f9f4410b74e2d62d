// SPDX-License-Identifier: Apache-2.0
//
// Graph -> order -> addresses -> plan. Nothing here reads or writes files.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "neap/base/limits.h"
#include "neap/base/result.h"
#include "neap/base/step_time.h"
#include "neap/graph/graph.h"
#include "neap/ops/overlap.h"
#include "neap/plan/plan.h"
#include "neap/solve/schedule/schedule.h"
#include "neap/target/target.h"

namespace neap::compile {

enum class MoveStrategy : std::uint8_t {
  kNone,
  // The document's own: addresses are given in the order of the steps, each at the lowest gap that
  // is large enough; where no gap is, although the free bytes suffice, all live tensors move
  // down until no gap is left.
  kCompact,
  // The fewest bytes among: one tensor moved once, two tensors moved once each, and kCompact.
  kBest,
};
// "none", "compact", "best"; nullopt: no such strategy.
std::optional<MoveStrategy> MoveStrategyNamed(std::string_view name);

// Outcomes of placements by their whole problem and effort, so that none is solved twice. Not for
// several threads at once.
class PlacementMemo;
std::shared_ptr<PlacementMemo> MakePlacementMemo();

struct OrderStrategy {
  schedule::Method method = schedule::Method::kExact;
  bool learned = false;  // the learned scheduler, in place of `method`
  friend bool operator==(const OrderStrategy&, const OrderStrategy&) = default;
};
inline constexpr OrderStrategy kExactOrder{};
inline constexpr OrderStrategy kFileOrder{schedule::Method::kFile};
// The names of schedule::Strategies(), "exact" first, and "learned".
std::vector<std::string_view> OrderStrategyNames();
std::string_view NameOf(const OrderStrategy& strategy);
// nullopt: no such strategy.
std::optional<OrderStrategy> OrderStrategyNamed(std::string_view name);
// The names of schedule::ForcedRules().
std::vector<std::string_view> ForcedRuleNames();
// nullopt: no such rule.
std::optional<schedule::Forced> ForcedRuleNamed(std::string_view name);

struct Options {
  plan::Runtime runtime = plan::Runtime::kIdeal;
  // Of kTflm: whose scratch is placed, and whose total is the first of Compiled::totals. A row of
  // target::Targets().
  const target::Target* target = &target::DefaultTarget();
  OrderStrategy order;
  std::uint64_t seed = 0;                               // of Method::kRandom
  schedule::Forced forced = schedule::Forced::kSingle;  // of Method::kBestFirst
  std::int64_t slack_bytes = 0;                         // of Forced::kRelaxed
  std::int64_t step_states = 10'000;                    // of Method::kSerenity
  std::int64_t soft_budget_bytes = 0;  // of Method::kSerenity: the only tau; 0: searched for
  Limits limits;                       // of the order search, per subgraph
  std::int64_t placement_states = 200'000;
  // Outputs may overlap inputs as far as these kernels allow; kNone: never.
  ops::KernelLibrary kernels = ops::KernelLibrary::kNone;
  bool keep_inputs = false;  // never over an input of the model
  MoveStrategy moves = MoveStrategy::kNone;
  std::int64_t budget_bytes = 0;  // of the arena: the target of moves; default the peak
  // Several memories, at most plan::kMaxMemories: every tensor gets one for its life, so that the
  // time spent on reading and writing is minimal. Empty: one, without a limit.
  std::vector<plan::Memory> memories;
  bool place = true;  // false: order only; the plan has no addresses
  // The written model carries an offline memory plan, under a runtime that obeys one (tflm); false:
  // the order alone.
  bool memory_plan = true;
  // False: FileOrder::arena_bytes stays 0 unless the runtime's own planner is modelled.
  bool place_file_order = true;
  // When many plans are compared: whether a plan with this arena (as the runtime delivers it) and
  // total arena (-1: unknown) is still a candidate. Must accept every smaller arena than one that
  // it accepts. Applies with kFileOrder and one entry. A lower bound that is rejected ends the
  // compilation (Compiled::rejected); otherwise the placement search first aims at the largest
  // accepted arena, then at smaller ones. Empty: every plan is accepted.
  std::function<bool(std::int64_t arena_bytes, std::int64_t total_arena_bytes)> accepts;
  // Outcomes of earlier placements; nullptr: none are kept.
  std::shared_ptr<PlacementMemo> placements;
  // Steps that can be left out: the search for an order whose overlapping tensors need the smallest
  // arena, and the search for another order of the same peak with a lower placement.
  bool arena_order = true;
  bool joint_search = true;
  // With kFileOrder: the bound of the peak is that of a short exact search, not of one cut.
  bool proves_file_order = false;
  bool check = true;  // false: the caller runs check::CheckPlan() on the plans that it keeps
};

// Peak and arena of the file's own order, without planning.
struct FileOrder {
  std::int64_t peak_bytes = 0;
  std::int64_t arena_bytes = 0;  // as the profile's runtime places it, else as Neap does
};

struct PeakCause {
  graph::SubgraphId subgraph;
  graph::OpId op;
  // The live tensors at the peak, largest first; bytes as the profile counts them.
  struct Live {
    graph::SubgraphId subgraph;
    graph::TensorId tensor;
    std::int64_t bytes = 0;
  };
  std::vector<Live> tensors;
  std::int64_t scratch_bytes = 0;
};

// The total arena of TFLM on a target (docs/reference/memory-model.md: method and comparison); -1
// with the reason where it is not known.
struct TflmTotal {
  const target::Target* target = &target::DefaultTarget();
  std::int64_t persistent_bytes = -1;   // beside the activations
  std::int64_t total_arena_bytes = -1;  // the smallest arena in which the model runs
  std::string missing;                  // why there are no numbers
};

// An operator for which it is not modelled how much scratch its kernel requests of TFLM.
struct UnknownKernel {
  std::string op;      // "#3 'MY_OP' (name)"
  std::string reason;  // ops::WhyScratchUnknown()
};
// In the order of the graph; empty where the runtime is not TFLM, or the bytes are stated.
std::vector<UnknownKernel> UnknownKernelsOf(const graph::Graph& graph, plan::Runtime runtime,
                                            const target::Target& target);
// "the scratch of operator #3 'MY_OP' and of 2 more is not modelled: its input #7 is compressed",
// the reason of the first; "": all of it is modelled.
std::string UnknownScratchText(const std::vector<UnknownKernel>& unknown);

struct Compiled {
  plan::Plan plan;  // model fields (name, hashes, dims) are the caller's to fill
  // For the largest entry (plan::LargestEntry).
  FileOrder file_order;
  PeakCause peak_at;
  // The stock runtime's allocation for activations, given the planned order and `offsets`
  // (docs/reference/memory-model.md: delivered); -1 where that runtime's planner is not modelled,
  // or the scratch of an operator is not (`unknown_kernels`).
  std::int64_t delivered_arena_bytes = -1;
  // The offline memory plan that formats::WritePlanned puts into the model; empty: none, the
  // runtime gets the order alone.
  graph::TensorOffsets offsets;
  // Where tensors move under TFLM: the model to write, an edited graph of the given one with its
  // operators in the planned order and a RESHAPE for each move. `offsets`, `buffer_offsets`,
  // `totals` and delivered_arena_bytes are of it.
  std::optional<graph::Graph> edited;
  // TFLM's offsets of its buffers in that model, in the order in which it adds them to its planner.
  std::vector<std::int64_t> buffer_offsets;
  // Of the delivered model: on Options::target and, if that has reference kernels, on
  // target::WheelTarget(). Empty where the runtime is not TFLM.
  std::vector<TflmTotal> totals;
  // If there are any, TFLM's allocation is unknown, and the plan counts no scratch for them.
  std::vector<UnknownKernel> unknown_kernels;
  // Every subgraph's operators in the planned order, as formats::WriteReordered takes them.
  IdVector<graph::SubgraphId, std::vector<graph::OpId>> order;
  bool interrupted = false;  // Limits::stop ended the search
  bool rejected = false;     // by Options::accepts; nothing else is filled in then
  // The stock runtime's own planner would have needed more for the minimum-peak order than the
  // order of the file: the plan keeps the file's.
  bool kept_file_order = false;
  // With several memories: see Placed in neap/compile/place.h. Of the largest entry.
  std::int64_t access_cycles = 0;
  std::int64_t access_cycles_lower_bound = 0;
  // "measure", "order", "arena order", "place", "joint search", "moves", "file order", "allocate",
  // "check": those that ran, in the order in which they began; each name once.
  std::vector<StepTime> steps;
  std::vector<std::string> notes;  // a line each
};

// Of the steps: the search for an order, and everything behind it but the check.
double OrderSeconds(const Compiled& compiled);
double PlaceSeconds(const Compiled& compiled);

// `graph` has passed graph::Verify(). Fails with kMissingSize, naming operator and tensor, when the
// bytes of a tensor cannot be known, with kBadInput when their sum is out of range, with kUsage for
// an unknown strategy or rule. The result has passed check::CheckPlan() (Options::check); a
// violation is an InternalError.
Result<Compiled> Compile(const graph::Graph& graph, const Options& options);

// The total on another target of the model that is delivered for `compiled`, a plan of `graph`: the
// same order and offsets, with the scratch and the data of that target's kernels. Of a plan for
// TFLM.
TflmTotal TotalOnTarget(const graph::Graph& graph, const Compiled& compiled,
                        const target::Target& target);

// Live bytes at every step of the file order of an entry subgraph, and the cause at its peak.
struct StepMemory {
  graph::SubgraphId subgraph;
  graph::OpId op;
  std::int64_t live_bytes = 0;
};
struct Inspection {
  graph::SubgraphId subgraph;
  std::vector<StepMemory> steps;
  std::int64_t peak_bytes = 0;
  PeakCause peak_at;
  std::int64_t constant_bytes = 0;
  std::int64_t variable_bytes = 0;
};
Result<std::vector<Inspection>> Inspect(const graph::Graph& graph, plan::Runtime runtime);

// The minimum peak over all orders, without a plan: the query of an architecture search.
struct PeakOfOrder {
  std::int64_t peak_bytes = 0;         // of the largest entry, as the profile counts
  std::int64_t lower_bound_bytes = 0;  // no order of the graph has less
  std::int64_t states = 0;
  std::vector<graph::OpId> order;  // of the main subgraph, without folded operators
};
// `exact_bytes`: without the alignment of the profile. Only runtime, order and limits of `options`
// count. Fails as Compile().
Result<PeakOfOrder> FindPeak(const graph::Graph& graph, const Options& options, bool exact_bytes);

}  // namespace neap::compile
