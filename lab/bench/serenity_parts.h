// SPDX-License-Identifier: Apache-2.0
//
// The tables and figures of SERENITY's evaluation, a function each. Private to neap/bench.
#pragma once

#include <optional>
#include <vector>

#include "lab/bench/bench.h"
#include "lab/bench/cells.h"
#include "lab/bench/facts.h"
#include "neap/compile/entry_memory.h"
#include "neap/solve/schedule/problem.h"

namespace neap::bench {

// Peaks of orders of a graph, in live bytes.
struct OrderPeaks {
  std::int64_t operators = 0;
  std::int64_t file = 0;
  std::int64_t breadth_first = 0;  // Kahn's order
  std::int64_t random_median = 0;
  std::string random_method;  // "all orders counted", "501 orders, neighbour swaps"
  std::int64_t planned = 0;
  std::int64_t bound = 0;
};

// A cell with all that several figures share.
struct CellRun {
  Cell cell;
  Measured file;
  Measured planned;
  Measured executor;  // planned without rewriting, in the executor's accounting
  // nullopt: no rule applies.
  std::optional<RewrittenCell> exact;
  std::optional<RewrittenCell> narrow;
  std::optional<RewrittenCell> serenity;
  OrderPeaks in_operators;
  graph::Graph nodes;  // the cell at the paper's granularity
  OrderPeaks in_nodes;
};

Result<std::vector<CellRun>> RunCells(const RunOptions& options, Report* report);

Result<Section> Table1();
Section Peaks(const std::vector<CellRun>& cells);  // figures 10 and 15
Result<Section> Traffic(const std::vector<CellRun>& cells, const RunOptions& options,
                        Report* report);
Section Granularity(const std::vector<CellRun>& cells);  // orders of nodes
// Rewriting with its exactness, and the cell of DARTS, where it gains nothing.
Result<Section> RewritingSection(const std::vector<CellRun>& cells, const RunOptions& options,
                                 Report* report);
Result<Section> OverTime(const CellRun& cell);  // figure 12
Result<Section> SchedulingTime(const std::vector<CellRun>& cells, const RunOptions& options,
                               Report* report);  // figure 13
Result<Section> StatesOverBudget(const std::vector<CellRun>& cells, const RunOptions& options,
                                 Report* report);  // figure 8(b)
Result<Section> Table2(const RunOptions& options, Report* report);
Result<Section> AllOrders(const CellRun& cell, Report* report);  // figure 3(b)

}  // namespace neap::bench
