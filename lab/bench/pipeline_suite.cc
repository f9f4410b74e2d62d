// SPDX-License-Identifier: Apache-2.0
//
// The suite `pipeline`: networks of the zoo cut into stages for several accelerators.
#include <chrono>
#include <iterator>
#include <utility>

#include "lab/bench/networks.h"
#include "lab/bench/suites.h"
#include "lab/zoo/zoo.h"
#include "neap/base/check.h"
#include "neap/solve/partition/baselines.h"
#include "neap/solve/partition/check.h"
#include "neap/solve/partition/cut.h"
#include "neap/solve/partition/partition.h"
#include "neap/stages/lower.h"

namespace neap::bench {
namespace {

constexpr const char* kQuick[] = {"xception", "resnet-50", "densenet-121"};
constexpr const char* kMore[] = {"resnet-101",         "resnet-152",    "densenet-169",
                                 "densenet-201",       "resnet-101-v2", "resnet-152-v2",
                                 "inception-resnet-v2"};
constexpr const char* kDevice = "edgetpu-usb";
constexpr partition::Stage kStages[] = {4, 5, 6};
constexpr std::int64_t kProfilingThreshold = 1'000'000'000;  // 1 ms
constexpr std::int64_t kPicosecondsPerMicrosecond = 1'000'000;

Value Microseconds(std::int64_t picoseconds) {
  return Count(picoseconds / kPicosecondsPerMicrosecond);
}

Status AddStages(const std::string& name, const graph::Graph& layers, partition::Stage stages,
                 const RunOptions& options, Table* table, std::vector<Quality>* qualities) {
  const stages::Accelerator* const device = stages::AcceleratorNamed(kDevice);
  NEAP_CHECK(device != nullptr, "there is no such device");
  stages::LowerOptions lower;
  lower.accelerator = *device;
  lower.stages = stages;
  NEAP_TRY(const stages::Lowered lowered, stages::Lower(layers, lower));
  const partition::Problem& problem = lowered.problem;
  const auto order = partition::IndexOrder(problem);
  const auto by_count = partition::CutByParameterCount(problem, order);
  const auto by_profile = partition::CutByProfiling(problem, order, kProfilingThreshold);
  const auto by_levels = partition::CutByLevels(problem);
  const auto contiguous = partition::CutOrder(problem, order);
  Limits limits;
  limits.stop = options.stop;
  const auto begin = std::chrono::steady_clock::now();
  const auto outcome = partition::Solve(problem, limits);
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (!outcome || !contiguous) return Fail(OverBudget("no assignment of " + name + " was found"));
  NEAP_CHECK(!partition::FindFlaw(problem, outcome->certificate, 0), "a certificate is wrong");
  NEAP_CHECK(!partition::FindViolation(problem, outcome->best), "an assignment is wrong");
  table->rows.push_back({Text(name), Count(stages), Microseconds(by_count.bottleneck),
                         Microseconds(by_profile.bottleneck), Microseconds(by_levels.bottleneck),
                         Microseconds(contiguous->bottleneck),
                         Microseconds(outcome->best.bottleneck), Microseconds(outcome->lower_bound),
                         Text(outcome->optimal() ? "optimal" : "bounded"),
                         Real(Ratio(by_count.bottleneck, outcome->best.bottleneck)),
                         Count(outcome->states), Real(seconds, 4)});
  const std::string id = name + "." + std::to_string(stages);
  qualities->push_back({id + ".bottleneck_picoseconds", outcome->best.bottleneck, false});
  qualities->push_back({id + ".bound_picoseconds", outcome->lower_bound, true});
  return {};
}

Table Means(const Table& table) {
  Table means;
  means.id = "means";
  means.title = "Geometric means of the slowest stage over the optimum's";
  means.columns = {{"stages", "stages"},
                   {"compiler", "compiler's rule"},
                   {"profile", "profiling"},
                   {"levels", "balanced levels"},
                   {"contiguous", "contiguous"}};
  const std::size_t best = ColumnOf(table, "best_microseconds");
  const std::size_t stages_column = ColumnOf(table, "stages");
  for (const partition::Stage stages : kStages) {
    std::vector<Value> row = {Count(stages)};
    for (const char* key : {"compiler_microseconds", "profile_microseconds", "levels_microseconds",
                            "contiguous_microseconds"}) {
      std::vector<double> ratios;
      for (const auto& of : table.rows) {
        if (std::get<std::int64_t>(of[stages_column].value) != stages) continue;
        ratios.push_back(Ratio(std::get<std::int64_t>(of[ColumnOf(table, key)].value),
                               std::get<std::int64_t>(of[best].value)));
      }
      row.push_back(Real(GeometricMean(ratios), 3));
    }
    means.rows.push_back(std::move(row));
  }
  return means;
}

Table EmptyTable() {
  Table table;
  table.id = "stages";
  table.title = "Slowest stage, microseconds";
  table.columns = {{"network", "network"},
                   {"stages", "stages"},
                   {"compiler_microseconds", "compiler's rule"},
                   {"profile_microseconds", "profiling"},
                   {"levels_microseconds", "balanced levels"},
                   {"contiguous_microseconds", "contiguous"},
                   {"best_microseconds", "Neap"},
                   {"bound_microseconds", "proven bound"},
                   {"status", "status"},
                   {"ratio", "rule / Neap"},
                   {"states", "states"},
                   {"seconds", "seconds"}};
  return table;
}

// One group for each network and number of stages.
void NameGroups(const Table& table, picture::Bars* bars) {
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    bars->groups[i] += ", " + std::to_string(std::get<std::int64_t>(table.rows[i][1].value));
  }
}

}  // namespace

Result<Report> RunPipeline(const RunOptions& options) {
  Table table = EmptyTable();
  std::vector<Quality> qualities;
  std::vector<std::string> names(std::begin(kQuick), std::end(kQuick));
  if (!options.quick) names.insert(names.end(), std::begin(kMore), std::end(kMore));
  for (const std::string& name : names) {
    ReportProgress(options, name);
    NEAP_TRY(const zoo::Network network, zoo::BuildNetwork(name, {.weights = false}));
    for (const partition::Stage stages : kStages) {
      NEAP_CHECK_OK(AddStages(name, network.layers, stages, options, &table, &qualities));
    }
  }
  Table means = Means(table);
  Report report = ReportOf(
      {"pipeline",
       "Pipelines of the zoo's networks",
       {"Layer graphs of networks, cut into 4, 5 and 6 stages for as many Edge TPUs behind USB "
        "(modelled in 8 bits, docs/algorithms/pipelines.md): the slowest stage under other rules "
        "and under Neap's, with the bound that its certificate proves. Nothing here ran on an Edge "
        "TPU."},
       "Slowest stage relative to Neap's",
       {"Slowest stage relative to Neap's",
        {"compiler_microseconds", "profile_microseconds", "levels_microseconds",
         "contiguous_microseconds"},
        "best_microseconds"}},
      table);
  Section& section = report.sections.front();
  NameGroups(table, &std::get<picture::Bars>(section.plots.front().drawing));
  section.tables.insert(section.tables.begin(), std::move(means));
  report.qualities = std::move(qualities);
  return report;
}

}  // namespace neap::bench
