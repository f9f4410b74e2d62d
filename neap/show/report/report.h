// SPDX-License-Identifier: Apache-2.0
//
// Reports: text for a terminal and the JSON of --json. Pure functions of values, without access to
// files or the terminal. docs/reference/memory-model.md defines the terms.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "neap/base/step_time.h"
#include "neap/check/check.h"
#include "neap/check/offsets_check.h"
#include "neap/compile/compile.h"
#include "neap/deliver/explain.h"
#include "neap/deliver/measure.h"
#include "neap/deliver/price.h"
#include "neap/graph/graph.h"
#include "neap/plan/plan.h"
#include "neap/show/report/text.h"
#include "neap/target/board.h"

namespace neap::report {

inline constexpr int kReportVersion = 1;  // "schema_version" of every report but the next
// 2: budget_bytes is compared with the total arena under tflm.
inline constexpr int kPlanReportVersion = 2;

// The tiles of a plan.
struct CascadeReport {
  std::string device;
  std::int64_t tiles = 0;      // 0: no operators are cut
  bool shared_bodies = false;  // equal tiles call bodies
  std::int64_t macs = 0;
  std::int64_t uncut_macs = 0;
  std::int64_t cycles = 0;  // by the model of the device
  std::int64_t uncut_cycles = 0;
  std::int64_t uncut_arena_bytes = 0;         // of the plan without tiles
  std::int64_t uncut_total_arena_bytes = -1;  // likewise; -1: unknown
  std::vector<std::string> regions;           // one line each
};

// The rewrites of a plan. Pointers are not owned and not null.
struct RewriteReport {
  const graph::Graph* source = nullptr;     // the given model, whose operators the rewrites name
  std::int64_t peak_lower_bound_bytes = 0;  // no choice of these rules has a smaller peak
  std::int64_t growth_bytes = 0;            // of the file; 0 when there is none
  std::int64_t evaluations = 0;
  double seconds = 0;
};

// Operators that run again.
struct RepetitionReport {
  std::int64_t repetitions = 0;  // runs beside the first of each operator; 0: none lowers the peak
  std::int64_t cost = 0;         // of all runs (ops::CostOf)
  std::int64_t base_cost = 0;    // of every operator once
  std::int64_t max_cost_permille = 0;
  std::int64_t macs = 0;
  std::int64_t base_macs = 0;
  bool least_cost = false;  // proven: no sequence of a smaller cost has this peak in the search
  // No sequence within the maximum cost has a smaller peak; 0: not known.
  std::int64_t peak_lower_bound_bytes = 0;
};

// An input or output of the main subgraph that changes for the caller.
struct InterfaceChange {
  bool is_input = false;
  std::string op;        // that the caller computes now
  std::string name;      // of the tensor before
  std::string new_name;  // of the tensor after
  graph::ElementType type = graph::ElementType::kUnknown;
  graph::ElementType new_type = graph::ElementType::kUnknown;
  std::optional<graph::Quantization> quantization;  // of the new one, if the file has it
};
// One line each; "" if there are none.
std::string InterfaceText(const std::vector<InterfaceChange>& changes);
// A JSON array: "interface" of the reports.
std::string InterfaceJson(const std::vector<InterfaceChange>& changes);

// A plan of one kind that was compared with the others.
struct TriedPlan {
  std::string kind;        // deliver::LabelOf()
  std::int64_t bytes = 0;  // the headline, or the total arena if that has a budget
  bool fits = true;        // within all budgets
  bool taken = false;
  bool known = true;  // false: `bytes` counts no scratch of operators that are not modelled
  // Multiply-accumulates of the plan and of the model as given; 0: not counted.
  std::int64_t macs = 0;
  std::int64_t whole_macs = 0;
  deliver::Price price = {};
  std::optional<std::int64_t> total_arena_bytes = std::nullopt;  // of TFLM, if known
};

// An operator for which the profile's stock runtime has no kernel (neap/check/runtime_check.h).
struct RefusedOperator {
  std::string op;   // "#7 'CONV_2D'"
  std::string why;  // "there is no kernel for uint8"
};

// Bytes of a model file in flash.
struct FlashReport {
  std::int64_t file_bytes = 0;        // of the model as it is planned: what flash holds of it
  std::int64_t weights_bytes = 0;     // constants of 8 bits and less an element
  std::int64_t constants_bytes = 0;   // other constants: biases, floats, shapes
  std::int64_t structure_bytes = 0;   // graph, options, quantization, metadata, padding
  std::int64_t compressed_bytes = 0;  // constants that a kernel unpacks before use
  std::int64_t copied_bytes = 0;      // weights and others that the plan copies before use
};
// Of a model of `file_bytes` bytes. Constants are read in place, except compressed ones and those
// in the slow memory of `plan`, which may be null. Constants that several tensors share count once.
FlashReport FlashOf(const graph::Graph& graph, std::int64_t file_bytes,
                    const plan::Plan* plan = nullptr);

// Everything that `neap plan` reports. Pointers are not owned and not null.
struct PlanReport {
  std::string model;  // as given
  const graph::Graph* graph = nullptr;
  const compile::Compiled* compiled = nullptr;
  bool placed = true;  // false: --order-only, there are no addresses
  deliver::Budgets budgets;
  const target::Board* board = nullptr;  // --board, which gave the target and the budget
  std::int64_t reserve_bytes = 0;        // of the board's RAM
  FlashReport flash;
  std::optional<CascadeReport> cascade;
  std::vector<InterfaceChange> interface;  // --integer-io
  std::optional<RefusedOperator> refused;  // the stock runtime does not execute the model
  // Of the same plan on targets that Compiled::totals does not have.
  std::vector<compile::TflmTotal> other_totals;
  bool carries_plan = false;     // the written model contains the offsets for TFLM
  std::vector<TriedPlan> tried;  // the plan itself among them
  // Over budget: features that need a consent, planned with the same budgets.
  std::vector<deliver::Feature> advice;
  // nullopt: the model was not rewritten.
  std::optional<RewriteReport> rewriting;
  std::optional<RepetitionReport> repetition;  // nullopt: no search for operators to run again
  std::string model_file;                      // the model written with this plan; "" when none is
  std::vector<std::string> written;            // all files, in the order of writing
  std::vector<std::string> notes;              // of the reader and of the run
  // Next steps for the user, one sentence each without a full stop. Text only.
  std::vector<std::string> next;
  double read_seconds = 0;
  double total_seconds = 0;
  std::vector<StepTime> steps;  // of the driver
};

// The bytes that a user has to reserve, and the numbers beside them.
struct Headline {
  std::int64_t bytes = 0;
  std::int64_t lower_bound_bytes = 0;
  std::int64_t file_order_bytes = 0;
  // `bytes` is the allocation of the profile's stock runtime. False: the arena of the plan or, if
  // nothing is placed, its peak.
  bool by_stock_runtime = false;
};
Headline HeadlineOf(const compile::Compiled& compiled, bool placed);
// Streamed plans: the range of `stream.lower_bound_bytes`.
inline constexpr std::string_view kOverOnce =
    "streamed plans that compute every pixel once, in blocks no higher than these";
// Whether the entry is one of those plans.
bool HoldsForOnce(const plan::EntryPlan& entry);
// The plan compared with its budgets.
deliver::Verdict VerdictOf(const PlanReport& report);
// Within all given budgets. False if that is unknown.
bool Fits(const PlanReport& report);
// Whether a budget is exceeded, or all given ones can be compared.
bool IsBudgetKnown(const PlanReport& report);
// TFLM's total arena on a Cortex-M; nullptr for other runtimes.
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

// The model inputs that a plan overwrites, in index order: they cannot be used again after a run.
std::vector<graph::TensorId> ClobberedInputs(const graph::Graph& graph,
                                             const plan::EntryPlan& entry);

// The answer, its limit and the next step; then a table, details, files and notes. Ends with a
// newline. Lines fit into the columns of the style and 100 columns, except paths.
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
  std::string kernels;  // the only ones for which it is valid; "": any
  check::OffsetsVerdict verdict;
};
// "valid"; "kernels": valid only with certain kernels; "invalid"; "unreadable".
std::string_view StatusOf(const MemoryPlanReport& report);

// The plan that an inspected model would get.
struct PlannedFigures {
  std::string kind;  // deliver::NameOf()
  Headline headline;
  std::int64_t peak_bytes = 0;
};

// Everything that `neap inspect` reports. Pointers are not owned and not null.
struct InspectReport {
  std::string model;  // as given
  std::string model_sha256;
  std::string format;
  const graph::Graph* graph = nullptr;
  plan::Runtime runtime = plan::Runtime::kIdeal;
  std::vector<std::string> dims;                                  // "batch=1"
  const std::vector<compile::Inspection>* inspections = nullptr;  // one per entry, at least one
  std::optional<MemoryPlanReport> memory_plan;
  std::optional<PlannedFigures> planned;  // where the model was planned
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
// schemas/inspect-report.schema.json; ends with a newline. Every operator, regardless of `all`.
std::string InspectJson(const InspectReport& report);

// The result of `neap check`. `plan` is not owned and not null.
struct CheckReport {
  std::string model;
  std::string model_sha256;
  std::string plan_file;
  const plan::Plan* plan = nullptr;
  std::vector<std::string> violations;
  std::optional<check::ReplayedBounds> replayed;  // --replay
};
// The result of `neap run`.
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
  // Of a plan with two memories: the slow one, and the bytes that were read and written.
  struct Slow {
    std::int64_t bytes = 0;
    std::int64_t read_bytes = 0;
    std::int64_t written_bytes = 0;
  };
  std::optional<Slow> slow;
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
// The `top` largest, ties in index order; without tensors of unknown size.
std::vector<SizedTensor> LargestTensors(const InspectReport& report);

}  // namespace neap::report
