// SPDX-License-Identifier: Apache-2.0
//
// The tables of docs/results/pipelines.md, as tab separated lines: ten networks as layer graphs,
// k = 4, 5, 6, every method (lab/tables/pipeline_report.py makes the tables of it). stages_table
// [--device NAME] [--objective time|parameters]
// [--children] [--cache BYTES] [--link PICOSECONDS] [--fixed PICOSECONDS] [--mac FEMTOSECONDS]
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "lab/zoo/zoo.h"
#include "neap/solve/partition/baselines.h"
#include "neap/solve/partition/check.h"
#include "neap/solve/partition/cut.h"
#include "neap/solve/partition/partition.h"
#include "neap/solve/partition/simulate.h"
#include "neap/stages/lower.h"

namespace {

using namespace neap;  // NOLINT(google-build-using-namespace)

constexpr std::array<const char*, 10> kNetworks = {
    "xception",     "resnet-50",    "resnet-101",    "resnet-152",    "densenet-121",
    "densenet-169", "densenet-201", "resnet-101-v2", "resnet-152-v2", "inception-resnet-v2"};
constexpr std::int64_t kProfilingThreshold = 1'000'000'000;  // 1 ms

template <typename F>
auto Timed(const F& work, double* milliseconds) {
  const auto start = std::chrono::steady_clock::now();
  auto result = work();
  *milliseconds =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  return result;
}

std::int64_t MaxParameters(const partition::Problem& problem, const partition::Assignment& cut) {
  std::int64_t most = 0;
  for (const auto& stage : partition::Evaluate(problem, cut.stage_of).stages) {
    most = std::max(most, stage.parameter_bytes);
  }
  return most;
}

// Until all items are done, as the published study ran them.
std::int64_t Simulated(const partition::Problem& problem, const partition::Assignment& cut,
                       bool shared_link) {
  partition::SimulationOptions options;
  options.items = 5000;
  options.shared_link = shared_link;
  return partition::Simulate(problem, cut.stage_of, options).all_done;
}

int Fail(const std::string& why) {
  fmt::print(stderr, "stages_table: {}\n", why);
  return 1;
}

struct Words {
  std::string device = "edgetpu-usb";
  std::string objective = "time";
  bool children = false;
  std::int64_t cache = -1;
  std::int64_t link = -1;
  std::int64_t fixed = -1;
  std::int64_t mac = -1;
  std::int64_t max_states = kStatesForAFewSeconds;
};

void AddWords(CLI::App* app, Words* words) {
  app->add_option("--device", words->device);
  app->add_option("--objective", words->objective);
  app->add_flag("--children", words->children);
  app->add_option("--cache", words->cache);
  app->add_option("--link", words->link);
  app->add_option("--fixed", words->fixed);
  app->add_option("--mac", words->mac);
  app->add_option("--max-states", words->max_states);
}

Result<stages::LowerOptions> ParseOptions(const Words& words) {
  const stages::Accelerator* const named = stages::AcceleratorNamed(words.device);
  if (named == nullptr) return neap::Fail(UsageError("no such device"));
  stages::LowerOptions options;
  stages::Accelerator& accelerator = options.accelerator;
  accelerator = *named;
  if (words.cache >= 0) accelerator.cache_bytes = words.cache;
  if (words.link >= 0) {
    accelerator.link_picoseconds_per_byte = words.link;
    accelerator.stream_picoseconds_per_byte = words.link;
  }
  if (words.fixed >= 0) accelerator.fixed_picoseconds = words.fixed;
  if (words.mac >= 0) accelerator.femtoseconds_per_mac = words.mac;
  options.children_together = words.children;
  if (words.objective == "parameters") options.objective = stages::Objective::kParameters;
  return options;
}

Status PrintRow(const char* name, const stages::LowerOptions& options, std::int64_t max_states) {
  NEAP_TRY(const zoo::Network network, zoo::BuildNetwork(name, {.weights = false}));
  NEAP_TRY(const stages::Lowered lowered, stages::Lower(network.layers, options));
  const partition::Problem& problem = lowered.problem;
  const auto order = partition::IndexOrder(problem);
  const auto compiler = partition::CutByParameterCount(problem, order);
  const auto profile = partition::CutByProfiling(problem, order, kProfilingThreshold);
  const auto balanced = partition::CutByLevels(problem);
  double contiguous_ms = 0;
  const auto contiguous =
      Timed([&] { return partition::CutOrder(problem, order); }, &contiguous_ms);
  Limits limits;
  limits.max_states = max_states;
  double solve_ms = 0;
  const auto outcome = Timed([&] { return partition::Solve(problem, limits); }, &solve_ms);
  if (!outcome || !contiguous) return neap::Fail(OverBudget("no assignment"));
  double check_ms = 0;
  const auto flaw =
      Timed([&] { return partition::FindFlaw(problem, outcome->certificate, 0); }, &check_ms);
  if (flaw) return neap::Fail(BadInput(*flaw));
  if (const auto wrong = partition::FindViolation(problem, outcome->best)) {
    return neap::Fail(BadInput(*wrong));
  }
  fmt::print("{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{:.2f}\t{:.2f}\t{:.2f}\t", name,
             options.stages, problem.num_ops, outcome->operators, outcome->downsets,
             outcome->states, compiler.bottleneck, profile.bottleneck, contiguous->bottleneck,
             balanced.bottleneck, outcome->best.bottleneck, outcome->lower_bound, solve_ms,
             check_ms, contiguous_ms);
  stages::LowerOptions time = options;
  time.objective = stages::Objective::kTime;
  NEAP_TRY(const stages::Lowered timed, stages::Lower(network.layers, time));
  const std::int64_t picoseconds =
      partition::Evaluate(timed.problem, outcome->best.stage_of).bottleneck;
  fmt::print("{}\t{}\t{}\t{}\t{}\t{}\t{}\n", picoseconds, MaxParameters(problem, compiler),
             MaxParameters(problem, outcome->best), Simulated(problem, compiler, false),
             Simulated(problem, outcome->best, false), Simulated(problem, compiler, true),
             Simulated(problem, outcome->best, true));
  return {};
}

int Run(int argc, char** argv) {
  CLI::App app("tables of docs/results/pipelines.md");
  Words words;
  AddWords(&app, &words);
  CLI11_PARSE(app, argc, argv);
  auto options = ParseOptions(words);
  if (!options) return Fail(options.error().ToString());
  fmt::print(
      "network\tk\toperators\tmerged\tdownsets\tstates\tcompiler\tprofile\tcontiguous\tbalanced\t"
      "exact\tbound\tsolve_ms\tcheck_ms\tcontiguous_ms\texact_picoseconds\tmax_parameters_"
      "compiler\t"
      "max_parameters_exact\tsimulated_compiler\tsimulated_exact\tshared_compiler\t"
      "shared_exact\n");
  for (const partition::Stage k : {4, 5, 6}) {
    options->stages = k;
    for (const char* const name : kNetworks) {
      const Status status = PrintRow(name, *options, words.max_states);
      if (!status) return Fail(status.error().ToString());
    }
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return Run(argc, argv);
  } catch (const std::exception& error) {
    return Fail(error.what());
  }
}
