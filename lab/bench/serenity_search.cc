// SPDX-License-Identifier: Apache-2.0
//
// Figure 13 (scheduling time) and figure 8(b) (states over the soft budget).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lab/bench/granularity.h"
#include "lab/bench/serenity_parts.h"
#include "lab/bench/suites.h"
#include "neap/base/bytes.h"
#include "neap/base/check.h"
#include "neap/solve/schedule/schedule.h"

namespace neap::bench {
namespace {

std::int64_t MaxStates(const RunOptions& options) { return options.quick ? 100'000 : 3'000'000; }

// The sums of figure 13 over the cells.
struct Totals {
  double serenity_seconds = 0;
  double rewritten_seconds = 0;  // SERENITY's algorithm with its rewriting
  double exact_seconds = 0;
  int serenity_proven = 0;
  int rewritten_proven = 0;
  int exact_proven = 0;
  double serenity_least = HUGE_VAL;  // of the RandWire cells that it proves
  double serenity_most = 0;
};

Table TimesTable(const char* id, const char* title, const char* unit) {
  Table table;
  table.id = id;
  table.title = title;
  table.columns = {{"cell", "cell"},
                   {"operators", unit},
                   {"serenity_seconds", "SERENITY's algorithm, s"},
                   {"serenity_states", "its states"},
                   {"serenity_peak_bytes", "its peak"},
                   {"exact_seconds", "Neap, s"},
                   {"exact_states", "Neap's states"},
                   {"exact_peak_bytes", "Neap's peak"},
                   {"rewritten_operators", std::string(unit) + ", rewritten"},
                   {"rewritten_serenity_seconds", "SERENITY's algorithm, rewritten, s"},
                   {"rewritten_serenity_states", "its states, rewritten"},
                   {"rewritten_serenity_peak_bytes", "its peak, rewritten"},
                   {"rewritten_exact_seconds", "Neap, rewritten, s"}};
  return table;
}

Value PeakText(const Ordered& ordered) {
  return Text(FormatCount(ordered.peak_bytes) + (ordered.proven ? "" : " (stopped)"));
}

std::int64_t OperatorsOf(const graph::Graph& graph) {
  return static_cast<std::int64_t>(graph.subgraphs[graph::SubgraphId(0)].ops.size());
}

Status AddTimes(const CellRun& run, bool nodes, const RunOptions& options, Table* table,
                Totals* totals) {
  const std::int64_t states = MaxStates(options);
  const graph::Graph& graph = nodes ? run.nodes : run.cell.graph;
  NEAP_TRY(const Ordered serenity,
           SearchOrder(graph, {schedule::Method::kSerenity}, options, states));
  NEAP_TRY(const Ordered exact, SearchOrder(graph, compile::kExactOrder, options, states));
  std::vector<Value> row = {Text(run.cell.name),       Count(OperatorsOf(graph)),
                            Real(serenity.seconds, 4), Count(serenity.states),
                            PeakText(serenity),        Real(exact.seconds, 4),
                            Count(exact.states),       PeakText(exact)};
  totals->serenity_seconds += serenity.seconds;
  totals->exact_seconds += exact.seconds;
  totals->serenity_proven += serenity.proven ? 1 : 0;
  totals->exact_proven += exact.proven ? 1 : 0;
  if (serenity.proven && run.cell.id.starts_with("randwire")) {
    totals->serenity_least = std::min(totals->serenity_least, serenity.seconds);
    totals->serenity_most = std::max(totals->serenity_most, serenity.seconds);
  }
  if (!run.serenity) {
    for (int i = 0; i < 5; ++i) row.push_back(Text("nothing applies"));
    totals->rewritten_seconds += serenity.seconds;
    totals->rewritten_proven += serenity.proven ? 1 : 0;
  } else {
    const graph::Graph rewritten =
        nodes ? InNodes(run.serenity->graph, Concatenations::kFree) : run.serenity->graph;
    NEAP_TRY(const Ordered after, SearchOrder(rewritten, {schedule::Method::kSerenity}, options,
                                              states, plan::Runtime::kNeap));
    NEAP_TRY(const Ordered exact_after,
             SearchOrder(rewritten, compile::kExactOrder, options, states, plan::Runtime::kNeap));
    totals->rewritten_seconds += after.seconds;
    totals->rewritten_proven += after.proven ? 1 : 0;
    for (Value& value :
         std::vector<Value>{Count(OperatorsOf(rewritten)), Real(after.seconds, 4),
                            Count(after.states), PeakText(after), Real(exact_after.seconds, 4)}) {
      row.push_back(std::move(value));
    }
  }
  table->rows.push_back(std::move(row));
  return {};
}

std::string SummaryOf(const Totals& totals, std::size_t cells, const char* unit) {
  const auto n = static_cast<double>(cells);
  std::string text = fmt::format(
      "In {}, SERENITY's algorithm takes {:.3f} s on average and proves {} of {} cells; with its "
      "rewriting {:.3f} s and {} of {}. Neap's exact search takes {:.4f} s and proves {}.",
      unit, totals.serenity_seconds / n, totals.serenity_proven, cells,
      totals.rewritten_seconds / n, totals.rewritten_proven, cells, totals.exact_seconds / n,
      totals.exact_proven);
  if (totals.serenity_most > 0) {
    text += fmt::format(
        " SERENITY's algorithm takes {:.2f} to {:.2f} s for each RandWire cell that it proves.",
        totals.serenity_least, totals.serenity_most);
  }
  return text;
}

struct BudgetPoint {
  std::int64_t tau = 0;
  std::int64_t states = 0;
  const char* outcome = "";
};

// Where the dynamic program ends with one soft budget.
BudgetPoint PointAt(const compile::OrderProblem& problem, std::int64_t tau,
                    const RunOptions& options) {
  Limits limits;
  limits.max_states = MaxStates(options);
  limits.stop = options.stop;
  schedule::StrategyOptions strategy;
  strategy.file_order = problem.in_file;
  strategy.soft_budget_bytes = tau;
  const auto outcome =
      schedule::Run(schedule::Method::kSerenity, problem.problem, limits, strategy);
  BudgetPoint point{tau, outcome.states, "stopped"};
  if (outcome.lower_bound_bytes > tau) point.outcome = "no solution";
  if (outcome.optimal() && outcome.peak_bytes <= tau) point.outcome = "optimum";
  return point;
}

// Percent of the optimum; the hard budget, Kahn's peak, is added.
constexpr int kPercent[] = {50, 60, 70, 80, 90, 95, 100, 105, 110, 120, 130, 140, 150, 170};

}  // namespace

Result<Section> SchedulingTime(const std::vector<CellRun>& cells, const RunOptions& options,
                               Report* report) {
  Section section;
  section.id = "figure-13";
  section.title = "Figure 13: scheduling time";
  picture::Bars bars;
  bars.label = "Seconds to schedule by cell";
  bars.series = {"SERENITY's, operators", "SERENITY's, nodes", "Neap, operators", "Neap, nodes"};
  bars.unit = "s";
  bars.logarithmic = true;
  section.text = {fmt::format(
      "The paper: 40.6 s on average without rewriting, 48.8 s with it (its machine and language "
      "are not reported). Seconds here are of one thread on the machine above. SERENITY's "
      "algorithm (dynamic programming, divide and conquer, adaptive soft budget; `--order "
      "serenity`) is reimplemented from the paper and stops at {} states. The granularity decides "
      "the result, so both are shown. With four operators per RandWire node the algorithm's tables "
      "are too large; at the paper's granularity they are not. Rewritten: the paper's rewriter "
      "(its two rules wherever they fit, one-byte sums), then the search. The rewriter fixes the "
      "order in which the terms of a sum arrive.",
      FormatCount(MaxStates(options)))};
  std::vector<std::vector<double>> seconds(cells.size());
  for (const bool nodes : {false, true}) {
    Table table = nodes
                      ? TimesTable("scheduling-time-nodes", "In nodes of the paper", "nodes")
                      : TimesTable("scheduling-time", "In TensorFlow Lite operators", "operators");
    Totals totals;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      NEAP_CHECK_OK(AddTimes(cells[i], nodes, options, &table, &totals));
      for (const std::size_t column : {std::size_t{2}, std::size_t{5}}) {
        seconds[i].push_back(std::max(std::get<double>(table.rows[i][column].value), 1e-6));
      }
    }
    section.text.push_back(SummaryOf(totals, cells.size(), nodes ? "nodes" : "operators"));
    report->qualities.push_back(
        {nodes ? "nodes.proven_cells" : "operators.proven_cells", totals.exact_proven, true});
    section.tables.push_back(std::move(table));
  }
  for (std::size_t i = 0; i < cells.size(); ++i) {
    bars.groups.push_back(cells[i].cell.name);
    bars.values.push_back({seconds[i][0], seconds[i][2], seconds[i][1], seconds[i][3]});
    report->qualities.push_back(
        {cells[i].cell.id + ".search_peak_bytes", cells[i].in_operators.planned, false});
  }
  section.plots.push_back({"time-plot", "Seconds, logarithmic", std::move(bars)});
  return section;
}

Result<Section> StatesOverBudget(const std::vector<CellRun>& cells, const RunOptions& options,
                                 Report* report) {
  Section section;
  section.id = "figure-8b";
  section.title = "Figure 8(b): states over the soft budget";
  Table table;
  table.id = "budgets";
  table.title = "States of the dynamic program with one soft budget";
  table.columns = {{"cell", "cell"},
                   {"tau_bytes", "soft budget, bytes"},
                   {"percent", "% of the optimum"},
                   {"states", "states"},
                   {"outcome", "outcome"}};
  picture::Lines lines;
  lines.label = "States of SERENITY's dynamic program over the soft budget";
  lines.x_title = "soft budget, % of the optimal peak";
  lines.y_title = "states, logarithmic";
  lines.logarithmic_y = true;
  for (const char* id : {"swiftnet-a", "swiftnet-c", "randwire-10-a", "randwire-100-a"}) {
    const auto run = std::find_if(cells.begin(), cells.end(),
                                  [&](const CellRun& one) { return one.cell.id == id; });
    NEAP_CHECK(run != cells.end(), "a cell of figure 8(b) is missing");
    NEAP_TRY(const compile::OrderProblem problem,
             compile::OrderProblemOf(run->nodes, graph::SubgraphId(0), plan::Runtime::kIdeal));
    const std::int64_t optimum = run->in_nodes.planned;
    const std::int64_t hard = run->in_nodes.breadth_first;
    std::vector<std::int64_t> taus;
    for (const int percent : kPercent) {
      const std::int64_t tau = optimum * percent / 100;
      if (tau < hard) taus.push_back(tau);
      if (percent == 95) taus.push_back(optimum - 1);
    }
    taus.push_back(hard);
    picture::Curve curve{run->cell.name, {}, {}};
    std::int64_t at_optimum = 0;
    for (const std::int64_t tau : taus) {
      const BudgetPoint point = PointAt(problem, tau, options);
      if (tau == optimum) at_optimum = point.states;
      const double percent = 100.0 * static_cast<double>(tau) / static_cast<double>(optimum);
      table.rows.push_back({Text(run->cell.name), Count(tau), Real(percent, 1), Count(point.states),
                            Text(point.outcome)});
      curve.x.push_back(percent);
      curve.y.push_back(static_cast<double>(std::max<std::int64_t>(point.states, 1)));
    }
    lines.curves.push_back(std::move(curve));
    report->qualities.push_back({run->cell.id + ".states_at_the_optimum", at_optimum, false});
  }
  section.text = {
      "The paper plots explored schedules against the soft budget tau, without numbers. Here the "
      "dynamic program runs once per tau, at the granularity of nodes (`--order serenity "
      "--soft-budget SIZE`), up to the hard budget, the peak of Kahn's order. Below the optimum "
      "there is no solution, and a run that shows this is a proof. At the optimum the number of "
      "states is the smallest that still contains a solution. Above it the number grows until "
      "nothing is pruned."};
  section.plots.push_back({"budget-plot", "States over the soft budget", std::move(lines)});
  section.tables.push_back(std::move(table));
  return section;
}

}  // namespace neap::bench
