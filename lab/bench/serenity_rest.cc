// SPDX-License-Identifier: Apache-2.0
//
// Figure 11 (traffic), table 2 (scheduling SwiftNet), figure 3(b) (all orders).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "lab/bench/serenity_parts.h"
#include "lab/bench/suites.h"
#include "lab/census/census.h"
#include "neap/base/bytes.h"
#include "neap/solve/traffic/traffic.h"

namespace neap::bench {
namespace {

constexpr std::int64_t kKi = 1024;
constexpr std::int64_t kOnChip[] = {32 * kKi, 64 * kKi, 128 * kKi, 256 * kKi};

// Bytes by rule, for one order and size.
struct Moved {
  std::int64_t optimum = 0;
  std::int64_t bound = 0;
  std::int64_t belady = 0;
};

Result<Moved> TrafficAt(const graph::Graph& graph, const Measured& measured, std::int64_t size,
                        const RunOptions& options) {
  NEAP_TRY(const compile::EntryMemory memory,
           compile::MemoryOf(graph, graph::SubgraphId(0), measured.compiled.order,
                             plan::Runtime::kIdeal));
  NEAP_TRY(const traffic::Problem problem, compile::TrafficOf(memory, compile::Ends::kOnChip));
  const std::int64_t states = options.quick ? 20'000 : 200'000;
  Moved moved;
  for (const traffic::Row& row : traffic::Measure(problem, size, {kKi, states, options.stop})) {
    if (row.policy == "optimum") {
      moved.optimum = row.counts.total();
      moved.bound = row.lower_bound_bytes;
    }
    if (row.policy == "belady") moved.belady = row.counts.total();
  }
  return moved;
}

// "1.50", "eliminated" (only the plan has none), "N/A" (neither has any).
Value Reduction(std::int64_t before, std::int64_t after, std::vector<double>* ratios) {
  if (before == 0) return Text("N/A");
  if (after == 0) return Text("eliminated");
  ratios->push_back(Ratio(before, after));
  return Real(ratios->back());
}

}  // namespace

Result<Section> Traffic(const std::vector<CellRun>& cells, const RunOptions& options,
                        Report* report) {
  Section section;
  section.id = "figure-11";
  section.title = "Figure 11: off-chip traffic";
  Table table;
  table.id = "traffic";
  table.title = "Off-chip bytes, file order and planned order";
  table.columns = {{"cell", "cell"},
                   {"on_chip_bytes", "on-chip bytes"},
                   {"belady_file", "file, Belady, blocks of 1 KiB"},
                   {"belady_planned", "planned, Belady"},
                   {"belady_reduction", "reduction"},
                   {"optimum_file", "file, optimum, tensors"},
                   {"optimum_planned", "planned, optimum"},
                   {"bound_planned", "proven bound"},
                   {"optimum_reduction", "reduction "}};
  picture::Bars bars;
  bars.label = "Reduction of off-chip traffic by cell and size";
  bars.unit = "x";
  std::vector<double> all_belady[std::size(kOnChip)];
  std::vector<double> all_optimum[std::size(kOnChip)];
  for (const std::int64_t size : kOnChip) bars.series.push_back(fmt::format("{} KiB", size / kKi));
  for (const CellRun& run : cells) {
    bars.groups.push_back(run.cell.name);
    std::vector<double>& group = bars.values.emplace_back();
    for (std::size_t i = 0; i < std::size(kOnChip); ++i) {
      const std::int64_t size = kOnChip[i];
      NEAP_TRY(const Moved file, TrafficAt(run.cell.graph, run.file, size, options));
      NEAP_TRY(const Moved planned, TrafficAt(run.cell.graph, run.planned, size, options));
      table.rows.push_back({Text(run.cell.name), Count(size), Count(file.belady),
                            Count(planned.belady),
                            Reduction(file.belady, planned.belady, &all_belady[i]),
                            Count(file.optimum), Count(planned.optimum), Count(planned.bound),
                            Reduction(file.optimum, planned.optimum, &all_optimum[i])});
      group.push_back(Ratio(file.belady, planned.belady));
    }
    NEAP_TRY(const Moved least, TrafficAt(run.cell.graph, run.planned, 256 * kKi, options));
    report->qualities.push_back(
        {run.cell.id + ".traffic_256KiB_belady_bytes", least.belady, false});
  }
  Table means;
  means.id = "traffic-means";
  means.title = "Geometric means over the cells where both orders move bytes";
  means.columns = {{"on_chip_bytes", "on-chip bytes"}, {"paper", "paper"},
                   {"belady", "ours, Belady"},         {"belady_cells", "cells"},
                   {"optimum", "ours, optimum"},       {"optimum_cells", "cells "}};
  for (std::size_t i = 0; i < std::size(kOnChip); ++i) {
    means.rows.push_back({Count(kOnChip[i]), kOnChip[i] == 256 * kKi ? Real(1.76) : None(),
                          Real(GeometricMean(all_belady[i])),
                          Count(static_cast<std::int64_t>(all_belady[i].size())),
                          Real(GeometricMean(all_optimum[i])),
                          Count(static_cast<std::int64_t>(all_optimum[i].size()))});
  }
  section.text = {
      "The paper gives 1.76 at 256 KB; its other bars are only drawn. It states neither its block "
      "size nor what it counts at the ends of a cell. Here inputs are on chip at the start, "
      "outputs may stay, and dead data is never written back (docs/algorithms/traffic.md). A cell "
      "whose peak fits therefore has no traffic. N/A: neither order has traffic. Eliminated: only "
      "the planned order has none. Neither enters the mean.",
      "An order with the smallest peak is not optimised for memories far below its peak. In the "
      "smallest memories the file order can cause less traffic."};
  section.plots.push_back({"traffic-plot",
                           "Reduction by Belady's rule, blocks of 1 KiB; no bar: eliminated, or no "
                           "traffic in either order",
                           std::move(bars)});
  section.tables = {std::move(means), std::move(table)};
  return section;
}

Result<Section> Table2(const RunOptions& options, Report* report) {
  Section section;
  section.id = "table-2";
  section.title = "Table 2: the parts of the algorithm on SwiftNet";
  NEAP_TRY(const Cell swiftnet, SwiftnetNetwork());
  NEAP_TRY(const std::optional<RewrittenCell> rewritten,
           Rewrite(RewritableOf(swiftnet), Rewriting::kNarrow, options));
  const std::int64_t max_states = options.quick ? 50'000 : 3'000'000;
  Table table;
  table.id = "strategies";
  table.title = "Scheduling the whole of SwiftNet";
  table.columns = {{"rewriting", "rewriting"},
                   {"algorithm", "algorithm"},
                   {"paper_nodes", "paper: nodes and partitions"},
                   {"paper_time", "paper: time"},
                   {"operators", "ours: operators"},
                   {"states", "states"},
                   {"seconds", "seconds"},
                   {"peak_bytes", "peak"},
                   {"outcome", "outcome"}};
  struct Row {
    const char* name;
    schedule::Method method;
    const char* nodes[2];
    const char* time[2];
  };
  constexpr Row kRows[] = {{"1: dynamic programming",
                            schedule::Method::kSerenityDp,
                            {"62 = {62}", "92 = {92}"},
                            {"N/A", "N/A"}},
                           {"1 + 2: and divide and conquer",
                            schedule::Method::kSerenityDc,
                            {"62 = {21, 19, 22}", "92 = {33, 28, 29}"},
                            {"56.5 s", "7.2 h"}},
                           {"1 + 2 + 3: and adaptive soft budget",
                            schedule::Method::kSerenity,
                            {"62 = {21, 19, 22}", "92 = {33, 28, 29}"},
                            {"37.9 s", "111.9 s"}},
                           {"Neap, exact", schedule::Method::kExact, {"", ""}, {"", ""}}};
  for (const bool with : {false, true}) {
    if (with && !rewritten) break;
    const graph::Graph& graph = with ? rewritten->graph : swiftnet.graph;
    for (const Row& row : kRows) {
      NEAP_TRY(const Ordered found,
               SearchOrder(graph, {row.method}, options, max_states,
                           with ? plan::Runtime::kNeap : plan::Runtime::kIdeal));
      const bool stopped = !found.proven;
      table.rows.push_back(
          {Text(with ? "yes" : "no"), Text(row.name), Text(row.nodes[with ? 1 : 0]),
           Text(row.time[with ? 1 : 0]),
           Count(static_cast<std::int64_t>(graph.subgraphs.Items().front().ops.size())),
           Count(found.states), Real(found.seconds, 4), Count(found.peak_bytes),
           Text(stopped ? fmt::format("stopped; bound {}", FormatCount(found.bound_bytes))
                        : "proven")});
      if (row.method == schedule::Method::kExact) {
        report->qualities.push_back({with ? "swiftnet.rewritten_peak_bytes" : "swiftnet.peak_bytes",
                                     found.peak_bytes, false});
      }
    }
  }
  section.text = {
      fmt::format("The paper's three steps, reimplemented ({} states at most), and Neap's own "
                  "search. The graph here has 86 operators, the paper's has 62 nodes. Rewriting is "
                  "Neap's choice with one-byte sums. Between two cells every order has executed "
                  "the same operators, so even the first step has a single state there. It does "
                  "not multiply the states of the cells, and needs as few as the second.{}",
                  FormatCount(max_states),
                  rewritten ? "" : " No rewriting applies, so its three rows are missing.")};
  section.tables.push_back(std::move(table));
  return section;
}

Result<Section> AllOrders(const CellRun& run, Report* report) {
  Section section;
  section.id = "figure-3b";
  section.title = "Figure 3(b): the peaks of all orders of SwiftNet cell A";
  NEAP_TRY(const compile::OrderProblem problem,
           compile::OrderProblemOf(run.cell.graph, graph::SubgraphId(0), plan::Runtime::kIdeal));
  const auto all = census::CountOrders(problem.problem, {});
  if (!all) return Fail(BadInput("the orders of SwiftNet cell A are too many to be counted"));
  constexpr std::int64_t kBudget = 250'000;  // of the board in the paper's figure
  const std::int64_t best = all->by_peak.front().peak_bytes;
  const census::Natural within = all->AtMost(kBudget);
  const census::Natural optimal = all->AtMost(best);
  Table table;
  table.id = "all-orders";
  table.title = "Every topological order, counted exactly";
  table.columns = {{"what", "what"}, {"paper", "paper"}, {"orders", "orders"}, {"percent", "%"}};
  const auto row = [&](std::string what, const char* paper, const census::Natural& orders) {
    table.rows.push_back({Text(std::move(what)), Text(paper), Text(orders.ToString()),
                          Real(100 * census::Share(orders, all->orders), 4)});
  };
  row("all orders", "-", all->orders);
  row("peak at most 250 KB", "4.1 %", within);
  row(fmt::format("optimal, {} bytes", FormatCount(best)), "0.04 %", optimal);
  row(fmt::format("at most file order, {} bytes", FormatCount(run.file.peak_bytes)), "-",
      all->AtMost(run.file.peak_bytes));
  section.tables.push_back(std::move(table));
  picture::Lines lines;
  lines.label = "Share of orders by peak";
  lines.x_title = "peak, KB";
  lines.y_title = "share of orders, %";
  lines.steps = true;
  picture::Curve curve{"SwiftNet cell A", {}, {}};
  for (const census::PeakCount& entry : all->by_peak) {
    curve.x.push_back(static_cast<double>(entry.peak_bytes) / 1000);
    curve.y.push_back(100 * census::Share(all->AtMost(entry.peak_bytes), all->orders));
  }
  lines.curves = {std::move(curve)};
  section.plots.push_back({"cdf", "Cumulative distribution of the peak", std::move(lines)});
  section.text = {
      fmt::format("Dynamic programming over {} sets of executed operators counts how many orders "
                  "have which peak, in integers of any size, without sampling. The paper's shares "
                  "refer to its own graph of the cell, whose optimum (200.7 KB) is below 250 KB. "
                  "The proven optimum of the graph here, {} bytes, is {}.",
                  FormatCount(all->states), FormatCount(best),
                  best <= kBudget ? "below as well" : "above: no order fits 250 KB")};
  report->qualities.push_back({"swiftnet-a.least_peak_of_all_orders", best, false});
  return section;
}

}  // namespace neap::bench
