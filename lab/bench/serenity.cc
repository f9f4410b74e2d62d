// SPDX-License-Identifier: Apache-2.0
//
// The suite `serenity`: every table and figure of the evaluation of Ahn et al., "Ordering Chaos:
// Memory-Aware Scheduling of Irregularly Wired Neural Networks for Edge Devices", MLSys 2020.
#include <fmt/format.h>

#include <cmath>

#include "lab/bench/granularity.h"
#include "lab/bench/serenity_parts.h"
#include "lab/bench/suites.h"
#include "lab/census/census.h"
#include "lab/zoo/zoo.h"
#include "neap/base/bytes.h"

namespace neap::bench {
namespace {

// The median of random orders: exact where all orders can be counted, else by samples.
Status AddRandomOrders(const graph::Graph& graph, const RunOptions& options, OrderPeaks* peaks) {
  NEAP_TRY(const compile::OrderProblem problem,
           compile::OrderProblemOf(graph, graph::SubgraphId(0), plan::Runtime::kIdeal));
  census::CensusLimits limits;
  limits.max_states = 60'000;
  limits.max_entries = 3'000'000;
  if (const auto all = census::CountOrders(problem.problem, limits)) {
    peaks->random_median = all->MedianPeak();
    peaks->random_method = "all orders counted";
    return {};
  }
  const std::int64_t orders = options.quick ? 51 : 501;
  const census::Sample sample =
      census::SampleOrders(problem.problem, problem.in_file, orders, 1, limits);
  peaks->random_median = sample.MedianPeak();
  peaks->random_method = fmt::format("{} orders, {}", orders, census::NameOf(sample.sampler));
  return {};
}

Result<OrderPeaks> PeaksOf(const graph::Graph& graph, const RunOptions& options) {
  OrderPeaks peaks;
  peaks.operators = static_cast<std::int64_t>(graph.subgraphs[graph::SubgraphId(0)].ops.size());
  NEAP_TRY(const Ordered file, SearchOrder(graph, compile::kFileOrder, options, 0));
  NEAP_TRY(const Ordered kahn, SearchOrder(graph, {schedule::Method::kKahn}, options, 0));
  NEAP_TRY(const Ordered planned, SearchOrder(graph, compile::kExactOrder, options, 0));
  peaks.file = file.peak_bytes;
  peaks.breadth_first = kahn.peak_bytes;
  peaks.planned = planned.peak_bytes;
  peaks.bound = planned.bound_bytes;
  NEAP_CHECK_OK(AddRandomOrders(graph, options, &peaks));
  return peaks;
}

void AddQualities(const CellRun& run, Report* report) {
  const auto add = [&](const char* what, std::int64_t value, bool more = false) {
    report->qualities.push_back({run.cell.id + "." + what, value, more});
  };
  add("peak_bytes", run.planned.peak_bytes);
  add("bound_bytes", run.planned.bound_bytes, true);
  add("arena_bytes", run.planned.arena_bytes);
  add("tflite_arena_bytes", run.planned.tflite_arena_bytes);
  if (run.narrow) add("rewritten_peak_bytes", run.narrow->measured.peak_bytes);
  if (run.exact) add("exactly_rewritten_peak_bytes", run.exact->measured.peak_bytes);
  add("nodes_peak_bytes", run.in_nodes.planned);
}

}  // namespace

Result<std::vector<CellRun>> RunCells(const RunOptions& options, Report* report) {
  std::vector<CellRun> runs;
  NEAP_TRY(std::vector<Cell> cells, SerenityCells());
  for (Cell& cell : cells) {
    ReportProgress(options, cell.name);
    CellRun run;
    run.cell = std::move(cell);
    NEAP_TRY(run.file, Measure(run.cell.graph, compile::kFileOrder, options, 0));
    NEAP_TRY(run.planned, Measure(run.cell.graph, compile::kExactOrder, options, 0));
    NEAP_TRY(run.in_operators, PeaksOf(run.cell.graph, options));
    run.nodes = InNodes(run.cell.graph, Concatenations::kFree);
    NEAP_TRY(run.in_nodes, PeaksOf(run.nodes, options));
    const graph::Graph rewritable = RewritableOf(run.cell);
    NEAP_TRY(run.executor, MeasureInExecutor(rewritable, options));
    NEAP_TRY(run.exact, Rewrite(rewritable, Rewriting::kExact, options));
    NEAP_TRY(run.narrow, Rewrite(rewritable, Rewriting::kNarrow, options));
    NEAP_TRY(run.serenity, Rewrite(rewritable, Rewriting::kSerenity, options));
    AddQualities(run, report);
    runs.push_back(std::move(run));
  }
  return runs;
}

Result<Section> Table1() {
  Section section;
  section.id = "table-1";
  section.title = "Table 1: the networks";
  section.text = {
      "The paper's graphs are not published. These networks come from the zoo, built from the "
      "published definitions. Weights are counted before batch normalisation is folded. The two "
      "RandWire networks have the sizes that the paper gives, with wirings from seeds 0 and 1. "
      "Accuracies are not reproduced, because no network is trained."};
  Table table;
  table.id = "networks";
  table.title = "Multiply-accumulates and weights";
  table.columns = {{"network", "network"},
                   {"dataset", "dataset"},
                   {"paper_macs", "MACs, paper"},
                   {"macs", "MACs, ours"},
                   {"paper_weights", "weights, paper"},
                   {"weights", "weights, ours"},
                   {"paper_accuracy", "top-1, paper"}};
  struct Row {
    const char* name;
    const char* zoo;
    const char* dataset;
    std::int64_t macs;
    std::int64_t weights;
    const char* accuracy;
  };
  constexpr Row kRows[] = {
      {"DARTS", "darts-imagenet", "ImageNet", 574'000'000, 4'700'000, "73.3 %"},
      {"SwiftNet", "swiftnet", "HPD", 57'400'000, 249'700, "95.1 %"},
      {"RandWire", "randwire-ws-cifar10", "CIFAR-10", 111'000'000, 1'200'000, "93.6 %"},
      {"RandWire", "randwire-ws-cifar100", "CIFAR-100", 160'000'000, 4'700'000, "74.5 %"}};
  for (const Row& row : kRows) {
    NEAP_TRY(const zoo::Network network, zoo::BuildNetwork(row.zoo, {.weights = false}));
    table.rows.push_back({Text(row.name), Text(row.dataset), Count(row.macs),
                          Count(network.facts.multiply_accumulates), Count(row.weights),
                          Count(network.facts.published_parameters), Text(row.accuracy)});
  }
  section.tables.push_back(std::move(table));
  return section;
}

namespace {

Section LeftOut() {
  Section section;
  section.id = "left-out";
  section.title = "Left out: figures 2 and 14";
  section.text = {
      "Figures 2 and 14 plot the ImageNet accuracy of published networks against their "
      "multiply-accumulates and parameters. They survey other papers to motivate the problem and "
      "measure nothing of SERENITY: neither an order nor an exact rewriting changes accuracy. "
      "Reproducing them requires training about twenty networks on ImageNet, which is not part of "
      "this project and not possible without the data. Rewriting with one-byte sums changes "
      "values. Its effect on accuracy is not measured, because the networks here have random "
      "weights.",
      "Figures 1, 3(a), 4 to 7, 9 and 16 are drawings without measurements."};
  return section;
}

constexpr const char* kWorkflow =
    "One command runs SERENITY's whole workflow (identity graph rewriting, dynamic programming, "
    "divide and conquer, adaptive soft budget): `neap plan MODEL --runtime neap --rewrite serenity "
    "--order serenity`. `--soft-budget` fixes the soft budget, `--step-states` its time-out, and "
    "`--accumulator-bytes 4` makes the rewriting exact.";

constexpr const char* kSubject =
    "Tables and figures of the evaluation of Ahn et al. (MLSys 2020), from networks that Neap "
    "generates: no download, no manual tuning. KB are 1000 bytes, as in the paper. The last "
    "section lists the omitted figures.";

constexpr const char* kBaselines =
    "Baselines were fixed before any measurement: the file order, which is the order of "
    "construction in the published definition, and the median of topological orders drawn "
    "uniformly. Neap's independent checkers accepted every result. A peak that equals its bound "
    "belongs to an optimal order (every order of the graph).";

constexpr const char* kElementSizes =
    "Element sizes were fixed beforehand, too: SwiftNet in 8 bits as published, DARTS in float32, "
    "RandWire in 8 bits. Ratios of peaks do not depend on them; traffic does.";

constexpr const char* kNineCells =
    "The nine cells are those of the paper: the normal cell of DARTS (the first of the network), "
    "the three cells of SwiftNet, and the random stages of RandWire for CIFAR-10 (two) and "
    "CIFAR-100 (three).";

}  // namespace

Result<Report> RunSerenity(const RunOptions& options) {
  Report report;
  report.suite = "serenity";
  report.title = "SERENITY's evaluation, reproduced";
  report.intro = {kSubject, kWorkflow, kBaselines, kElementSizes, kNineCells};
  NEAP_TRY(const std::vector<CellRun> cells, RunCells(options, &report));
  const auto add = [&](Result<Section> section) -> Status {
    if (!section) return Fail(std::move(section).error());
    report.sections.push_back(std::move(*section));
    return {};
  };
  NEAP_CHECK_OK(add(Table1()));
  NEAP_CHECK_OK(add(Peaks(cells)));
  NEAP_CHECK_OK(add(Granularity(cells)));
  ReportProgress(options, "rewriting");
  NEAP_CHECK_OK(add(RewritingSection(cells, options, &report)));
  ReportProgress(options, "traffic");
  NEAP_CHECK_OK(add(Traffic(cells, options, &report)));
  constexpr std::size_t kSwiftnetA = 1;
  NEAP_CHECK_OK(add(OverTime(cells[kSwiftnetA])));
  ReportProgress(options, "scheduling time");
  NEAP_CHECK_OK(add(SchedulingTime(cells, options, &report)));
  ReportProgress(options, "states over the soft budget");
  NEAP_CHECK_OK(add(StatesOverBudget(cells, options, &report)));
  ReportProgress(options, "strategies on SwiftNet");
  NEAP_CHECK_OK(add(Table2(options, &report)));
  ReportProgress(options, "all orders of SwiftNet cell A");
  NEAP_CHECK_OK(add(AllOrders(cells[kSwiftnetA], &report)));
  NEAP_CHECK_OK(add(LeftOut()));
  return report;
}

}  // namespace neap::bench
