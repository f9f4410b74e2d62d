// SPDX-License-Identifier: Apache-2.0
//
// What people and scripts read: text for a terminal and the JSON of --json. Pure functions of
// values; no file and no terminal is touched here. The words are those of docs/memory-model.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "neap/compile/compile.h"
#include "neap/graph/graph.h"
#include "neap/plan/check.h"
#include "neap/plan/offsets_check.h"
#include "neap/plan/plan.h"
#include "neap/report/text.h"

namespace neap::report {

inline constexpr int kReportVersion = 1;  // "schema_version" of every report

// What --cascade did.
struct CascadeReport {
  std::string device;
  std::int64_t tiles = 0;      // 0: nothing is cut
  bool shared_bodies = false;  // equal tiles call bodies
  std::int64_t macs = 0;
  std::int64_t uncut_macs = 0;
  std::int64_t cycles = 0;  // by the model of the device
  std::int64_t uncut_cycles = 0;
  std::int64_t uncut_arena_bytes = 0;         // of the model as it is, planned
  std::int64_t uncut_total_arena_bytes = -1;  // likewise; -1: not known
  std::vector<std::string> regions;           // a line each
};

// What rewriting did before the plan was made. Pointers are not owned and not null.
struct RewriteReport {
  const graph::Graph* source = nullptr;  // the model as it was given; rewrites name its operators
  std::int64_t peak_lower_bound_bytes = 0;  // no choice of these rules has a smaller peak
  std::int64_t growth_bytes = 0;            // of the file; 0 when there is none
  std::int64_t evaluations = 0;
  double seconds = 0;
};

// An input or output of the main subgraph that is another tensor for the caller.
struct InterfaceChange {
  bool is_input = false;
  std::string op;        // which the caller runs now
  std::string name;      // of the tensor that was there
  std::string new_name;  // of the one that is
  graph::ElementType type = graph::ElementType::kUnknown;
  graph::ElementType new_type = graph::ElementType::kUnknown;
  std::optional<graph::Quantization> quantization;  // of the new one, where the file says it
};
// A line for each; "" where there are none.
std::string InterfaceText(const std::vector<InterfaceChange>& changes);
// A JSON array: "interface" of the reports.
std::string InterfaceJson(const std::vector<InterfaceChange>& changes);

// A plan of one kind that was compared with the others.
struct TriedPlan {
  std::string kind;        // "as given", "rewritten", "streamed", "tiles"
  std::int64_t bytes = 0;  // the headline, or the whole arena where that has a budget
  bool fits = true;        // within all budgets
  bool taken = false;
  bool known = true;  // false: `bytes` counts no scratch of operators that are not modelled
};

// An operator for which the profile's stock runtime has no kernel (neap/plan/runtime_check.h).
struct RefusedOperator {
  std::string op;   // "#7 'CONV_2D'"
  std::string why;  // "there is no kernel for uint8"
};

// Everything `neap plan` has to tell. Pointers are not owned and not null.
struct PlanReport {
  std::string model;  // as given
  const graph::Graph* graph = nullptr;
  const compile::Compiled* compiled = nullptr;
  bool placed = true;                              // false: --order-only, there are no addresses
  std::optional<std::int64_t> budget_bytes;        // --budget
  std::optional<std::int64_t> budget_total_bytes;  // --budget-total
  std::optional<CascadeReport> cascade;
  std::vector<InterfaceChange> interface;  // --integer-io
  std::optional<RefusedOperator> refused;  // the stock runtime does not execute the model
  bool carries_plan = false;               // the model, when it is written, tells TFLM the offsets
  std::vector<TriedPlan> tried;            // the plan itself among them
  // What rewriting did; nullptr: the model is planned as it is. Not owned.
  const RewriteReport* rewriting = nullptr;
  std::string model_file;            // the model written with this plan; "" when none is
  std::vector<std::string> written;  // all files, in the order of writing
  std::vector<std::string> notes;    // of the reader and of the run
  double read_seconds = 0;
  double total_seconds = 0;
};

// The number that a user has to reserve, and what it is compared with.
struct Headline {
  std::int64_t bytes = 0;
  std::int64_t lower_bound_bytes = 0;
  std::int64_t file_order_bytes = 0;
  // The stock runtime of the profile decides the addresses, given the order alone: `bytes` is what
  // it will allocate. False: the arena of the plan or, where nothing is placed, its peak.
  bool by_stock_runtime = false;
};
Headline HeadlineOf(const compile::Compiled& compiled, bool placed);
// Streamed plans: what `stream.lower_bound_bytes` ranges over.
inline constexpr std::string_view kOverOnce =
    "streamed plans that compute every pixel once, in blocks no higher than these";
// Whether the entry is one of those plans.
bool HoldsForOnce(const plan::EntryPlan& entry);
// The order and, where it was asked for, the placement of every entry equals its lower bound.
bool IsProven(const compile::Compiled& compiled, bool placed);
// Within --budget and --budget-total, as far as they are given. False where that is unknown.
bool Fits(const PlanReport& report);
// Why a budget that is given cannot be compared; "": it can.
std::string UnknownText(const PlanReport& report);
// Fits() is a fact: a budget is exceeded, or all that are given can be compared.
bool IsBudgetKnown(const PlanReport& report);
// TFLM's whole arena on a Cortex-M; nullptr where the runtime is another one.
const compile::TflmTotal* TotalOf(const compile::Compiled& compiled);

// The copies of live tensors among the steps of an entry, in their order.
struct Move {
  std::int32_t slot = 0;
  graph::TensorId tensor;
  std::int64_t from = 0;  // offsets
  std::int64_t to = 0;
  std::int64_t bytes = 0;
};
std::vector<Move> MovesOf(const plan::EntryPlan& entry);

// The model inputs that a plan writes over, in index order: they cannot be used again after a run.
std::vector<graph::TensorId> ClobberedInputs(const graph::Graph& graph,
                                             const plan::EntryPlan& entry);

// One sentence with the number, then a table, files and notes. Ends with a newline.
std::string PlanText(const PlanReport& report, const Style& style);
// "over budget: required ..., available ..., excess ...", or why that is unknown: one line without
// a newline; Fits() is false.
std::string OverBudgetText(const PlanReport& report);
// A C99 header for firmware: arena size and offsets as macros, named after the file `path`; of TFLM
// also the offsets in the order of its NonPersistentMemoryPlannerShim. The plan is placed.
std::string CHeader(const PlanReport& report, const std::string& path);
// schemas/plan-report.schema.json; ends with a newline.
std::string PlanJson(const PlanReport& report);

// The offline memory plan that a .tflite carries for TFLM.
struct MemoryPlanReport {
  std::string problem;  // why it cannot be read; there is no verdict then
  std::string kernels;  // it was made for these alone; "": for any
  plan::OffsetsVerdict verdict;
};
// "valid"; "kernels": right under certain kernels alone; "invalid"; "unreadable".
std::string_view StatusOf(const MemoryPlanReport& report);

// Everything `neap inspect` has to tell. Pointers are not owned and not null.
struct InspectReport {
  std::string model;  // as given
  std::string model_sha256;
  std::string format;
  const graph::Graph* graph = nullptr;
  plan::Runtime runtime = plan::Runtime::kIdeal;
  std::vector<std::string> dims;                                  // "batch=1"
  const std::vector<compile::Inspection>* inspections = nullptr;  // one per entry, at least one
  std::optional<MemoryPlanReport> memory_plan;
  // Of TFLM: operators whose scratch the live bytes do not count.
  std::vector<compile::UnknownKernel> unknown_kernels;
  std::vector<std::string> notes;
  std::int64_t top = 10;  // rows of the table of the largest tensors
  bool all = false;       // every operator in the chart, however many there are
  double read_seconds = 0;
  double total_seconds = 0;
};

// The one with the largest peak, the first of equals.
const compile::Inspection& LargestInspection(const InspectReport& report);

// The peak in one sentence, live bytes operator by operator as bars, the largest tensors, totals.
std::string InspectText(const InspectReport& report, const Style& style);
// schemas/inspect-report.schema.json; ends with a newline. Every operator, whatever `all` says.
std::string InspectJson(const InspectReport& report);

// What `neap check` found. `plan` is not owned and not null.
struct CheckReport {
  std::string model;
  std::string model_sha256;
  std::string plan_file;
  const plan::Plan* plan = nullptr;
  std::vector<std::string> violations;
  std::optional<plan::ReplayedBounds> replayed;  // --replay
};
// What `neap run` did.
struct RunReport {
  struct Output {
    std::string name;
    graph::ElementType type = graph::ElementType::kUnknown;
    graph::Shape shape;
    std::string sha256;  // of its bytes
  };
  // An output of the given model, compared with that of a run of the given model without a plan.
  struct ComparedOutput {
    std::string name;
    graph::ElementType type = graph::ElementType::kUnknown;
    std::int64_t elements = 0;
    std::int64_t differing = 0;            // elements with another byte
    std::optional<double> max_difference;  // absolute; integers in steps; nullopt: no number
    double magnitude = 0;                  // largest absolute value; from the zero point
    std::optional<double> relative;        // max_difference / magnitude; nullopt: unbounded
  };
  struct Comparison {
    bool rewrites_exact = true;       // every rewrite of the plan claims the same bytes
    std::optional<double> tolerance;  // of `relative`; for plans with inexact rewrites alone
    std::vector<ComparedOutput> outputs;

    bool Identical() const;  // every byte of every output
    // Identical or, where the rewrites are not exact, every output within the tolerance.
    bool Passes() const;
  };
  std::string model;
  std::string model_sha256;
  std::string plan_file;                     // "": run without a plan
  std::string kernels;                       // "litert"
  std::optional<Comparison> comparison;      // --compare
  std::vector<Output> outputs;               // in the order of the model
  std::int64_t arena_bytes = 0;              // with a plan
  std::int64_t high_water_bytes = 0;         // with a plan
  std::optional<std::int64_t> macs;          // of a streamed plan, counted as it ran
  std::optional<std::int64_t> kernel_bytes;  // of a streamed plan: largest working memory of a box
  std::vector<std::string> violations;
  double seconds = 0;  // of the run
};
// A line for each output, then the arena. Ends with a newline.
std::string RunText(const RunReport& report, const Style& style);
// schemas/run-report.schema.json; ends with a newline.
std::string RunJson(const RunReport& report);

// "ok: ...", one line with a newline; there are no violations.
std::string CheckText(const CheckReport& report, const Style& style);
// schemas/check-report.schema.json; ends with a newline.
std::string CheckJson(const CheckReport& report);

// A tensor of a table: an activation of the subgraphs that an inspection walks through.
struct SizedTensor {
  graph::SubgraphId subgraph;
  graph::TensorId tensor;
  std::int64_t bytes = 0;
};
// The `top` largest, ties in index order; tensors whose bytes cannot be known are passed over.
std::vector<SizedTensor> LargestTensors(const InspectReport& report);

}  // namespace neap::report
