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
#include "neap/graph/graph.h"
#include "neap/ops/overlap.h"
#include "neap/plan/plan.h"
#include "neap/target/target.h"

namespace neap::compile {

enum class MoveStrategy : std::uint8_t {
  kNone,
  // The document's own: addresses are given in the order of the steps, each at the lowest gap that
  // is large enough; where there is none although the free bytes would do, everything live moves
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

struct Options {
  plan::Runtime runtime = plan::Runtime::kIdeal;
  // Of kTflm: whose scratch is placed, and whose total is the first of Compiled::totals. A row of
  // target::Targets().
  const target::Target* target = &target::DefaultTarget();
  std::string order = "exact";         // a name of schedule::Strategies(), or "learned"
  std::uint64_t seed = 0;              // of --order random
  std::string forced = "single";       // of --order best-first: a name of schedule::ForcedRules()
  std::int64_t slack_bytes = 0;        // of --forced relaxed
  std::int64_t step_states = 10'000;   // of --order serenity
  std::int64_t soft_budget_bytes = 0;  // of --order serenity: the only tau; 0: searched for
  Limits limits;                       // of the order search, per subgraph
  std::int64_t placement_states = 200'000;
  // Outputs may lie over inputs as far as these kernels allow it; kNone: they may not.
  ops::KernelLibrary kernels = ops::KernelLibrary::kNone;
  bool keep_inputs = false;  // never over an input of the model
  MoveStrategy moves = MoveStrategy::kNone;
  std::int64_t budget_bytes = 0;  // of the arena: what moves have to reach, or the peak
  // Several memories, at most plan::kMaxMemories: every tensor gets one for its life, so that the
  // time spent on reading and writing is least. Empty: one, without a limit.
  std::vector<plan::Memory> memories;
  bool place = true;  // false: order only; the plan has no addresses
  // The model will tell a runtime that can be told (tflm) where the tensors go; false: an order
  // alone.
  bool tell_offsets = true;
  bool place_file_order = true;  // false: FileOrder::arena_bytes stays 0 unless a runtime tells it
  // Of one of many plans that are compared, with --order file and one entry: whether it is of use
  // with that arena (as the runtime delivers it) and total (-1: not known), and if so with less.
  // Where a lower bound says that it is not, nothing is placed; else addresses are searched for
  // what is just of use, and for less only behind that. Empty: every plan is.
  std::function<bool(std::int64_t arena_bytes, std::int64_t total_arena_bytes)> of_use;
  // Placements that were asked for before; nullptr: none are kept.
  std::shared_ptr<PlacementMemo> placements;
  bool check = true;  // false: the caller runs check::CheckPlan() on the plans that it keeps
};

// What an order costs without any of Neap's help: the file's own order.
struct FileOrder {
  std::int64_t peak_bytes = 0;
  std::int64_t arena_bytes = 0;  // as the profile's runtime places it, or Neap where it has no own
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

// What a step took: "measure", "order", "arena order", "place", "joint search", "moves",
// "file order", "allocate", "check".
struct StepTime {
  std::string_view name;
  double seconds = 0;
};

// What the arena of TFLM has to hold on a target (docs/reference/memory-model.md says how it is
// computed, and what it was compared with); -1 with the reason where that is not known.
struct TflmTotal {
  const target::Target* target = &target::DefaultTarget();
  std::int64_t persistent_bytes = -1;   // beside the activations
  std::int64_t total_arena_bytes = -1;  // the least arena that the model loads and runs with
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
  // What the stock runtime will allocate for activations when it is given the planned order and
  // `offsets` (docs/reference/memory-model.md: delivered); -1 where that runtime's planner is not
  // modelled, or the scratch of an operator is not (`unknown_kernels`).
  std::int64_t delivered_arena_bytes = -1;
  // The offline memory plan that formats::WritePlanned puts into the model; empty: none, the
  // runtime gets the order alone.
  graph::TensorOffsets offsets;
  // Where tensors move under TFLM: the model to write, an edited graph of the given one with its
  // operators in the planned order and a RESHAPE for each move. `offsets`, `buffer_offsets`,
  // `totals` and delivered_arena_bytes are of it.
  std::optional<graph::Graph> edited;
  // Where TFLM will put its buffers then, in the order in which it tells its planner of them.
  std::vector<std::int64_t> buffer_offsets;
  // Of the delivered model: on Options::target and, if that has reference kernels, on
  // target::WheelTarget(). Empty where the runtime is not TFLM.
  std::vector<TflmTotal> totals;
  // What TFLM allocates is unknown where there are any, and the plan counts no scratch for them.
  std::vector<UnknownKernel> unknown_kernels;
  // Every subgraph's operators in the planned order: what formats::WriteReordered takes.
  IdVector<graph::SubgraphId, std::vector<graph::OpId>> order;
  bool interrupted = false;  // Limits::stop ended the search
  bool of_no_use = false;    // see Options::of_use; nothing else is filled in then
  // The stock runtime's own planner would have needed more for the least-peak order than for the
  // order of the file: the plan keeps the file's.
  bool kept_file_order = false;
  // With several memories: see Placed in neap/compile/place.h. Of the largest entry.
  std::int64_t access_cycles = 0;
  std::int64_t access_cycles_lower_bound = 0;
  std::vector<StepTime> steps;     // in the order in which they began; each name once
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

// The least peak of all orders, and no plan: what a search over graphs asks many times.
struct PeakOfOrder {
  std::int64_t peak_bytes = 0;         // of the largest entry, as the profile counts
  std::int64_t lower_bound_bytes = 0;  // no order of the graph has less
  std::int64_t states = 0;
  std::vector<graph::OpId> order;  // of the main subgraph, without folded operators
};
// `exact_bytes`: without the alignment of the profile. Only runtime, order and limits of `options`
// count. Fails as Compile().
Result<PeakOfOrder> FindPeak(const graph::Graph& graph, const Options& options, bool exact_bytes);

// Names that Options::order takes, "exact" first.
std::vector<std::string_view> OrderStrategies();
// Names that Options::forced takes.
std::vector<std::string_view> ForcedRules();

}  // namespace neap::compile
