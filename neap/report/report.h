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
#include "neap/plan/plan.h"
#include "neap/report/text.h"

namespace neap::report {

inline constexpr int kReportVersion = 1;  // "schema_version" of every report

// Everything `neap plan` has to tell. Pointers are not owned and not null.
struct PlanReport {
  const graph::Graph* graph = nullptr;
  const compile::Compiled* compiled = nullptr;
  bool placed = true;                        // false: --order-only, there are no addresses
  std::optional<std::int64_t> budget_bytes;  // --budget
  std::string model_file;                    // the model written with this plan; "" when none is
  std::vector<std::string> written;          // all files, in the order of writing
  std::vector<std::string> notes;            // of the reader and of the run
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
// The order and, where it was asked for, the placement of every entry equals its lower bound.
bool IsProven(const compile::Compiled& compiled, bool placed);
inline bool Fits(const PlanReport& report) {
  return !report.budget_bytes ||
         HeadlineOf(*report.compiled, report.placed).bytes <= *report.budget_bytes;
}

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
// "over budget: required ..., available ..., excess ...", one line without a newline; the budget is
// given and too small.
std::string OverBudgetText(const PlanReport& report);
// schemas/plan-report.schema.json; ends with a newline.
std::string PlanJson(const PlanReport& report);

// Everything `neap inspect` has to tell. Pointers are not owned and not null.
struct InspectReport {
  std::string model;  // as given
  std::string model_sha256;
  std::string format;
  const graph::Graph* graph = nullptr;
  plan::Runtime runtime = plan::Runtime::kIdeal;
  std::vector<std::string> dims;                                  // "batch=1"
  const std::vector<compile::Inspection>* inspections = nullptr;  // one per entry, at least one
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
