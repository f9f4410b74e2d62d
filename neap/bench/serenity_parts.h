// SPDX-License-Identifier: Apache-2.0
//
// The tables and figures of SERENITY's evaluation, a function each. Private to neap/bench.
#pragma once

#include <optional>
#include <vector>

#include "neap/bench/bench.h"
#include "neap/bench/cells.h"
#include "neap/bench/facts.h"
#include "neap/compile/entry_memory.h"
#include "neap/schedule/problem.h"

namespace neap::bench {

// A cell with all that several figures share.
struct CellRun {
  Cell cell;
  Measured file;
  Measured planned;
  std::optional<RewrittenCell> rewritten;  // nullopt: nothing applies
  std::int64_t breadth_first_bytes = 0;    // peak of Kahn's order
  std::int64_t random_median_bytes = 0;
  std::string random_method;  // "all 12345 orders", "1000 orders, exactly uniform"
};

Result<std::vector<CellRun>> RunCells(const RunOptions& options, Report* report);

Result<Section> Table1();
Section Peaks(const std::vector<CellRun>& cells);  // figures 10 and 15
Result<Section> Traffic(const std::vector<CellRun>& cells, const RunOptions& options,
                        Report* report);
Result<Section> OverTime(const CellRun& cell);  // figure 12
Result<Section> SchedulingTime(const std::vector<CellRun>& cells, const RunOptions& options,
                               Report* report);  // figure 13
Result<Section> Table2(const RunOptions& options, Report* report);
Result<Section> AllOrders(const CellRun& cell, Report* report);  // figure 3(b)

}  // namespace neap::bench
