// SPDX-License-Identifier: Apache-2.0
//
// Writes docs/results/placement.md: other tools' heuristics and Neap on the instances under
// NEAP_SHARED (or ../shared), each placement judged by arena::FindViolation.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <map>

#include "lab/tables/placement_baselines.h"
#include "lab/tables/placement_files.h"
#include "neap/base/bytes.h"
#include "neap/solve/arena/arena.h"
#include "neap/solve/arena/check.h"

namespace neap::tables {
namespace {

using arena::Placement;
using arena::Problem;

struct Options {
  std::uint64_t first_seed = 2001;
  int seeds = 10;
  double seconds = 60;
  int vela_attempts = 20'000;
};

double ProcessorSeconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

struct Instance {
  std::string name;
  Problem problem;
  std::int64_t bound = 0;
};

std::vector<Instance> Load(const std::string& folder, std::size_t min_buffers) {
  std::vector<Instance> instances;
  for (const auto& path : PlacementFiles(folder)) {
    auto problem = ReadPlacement(path);
    if (!problem || problem->buffers.size() < min_buffers) continue;
    std::string name = path.filename().string();
    name.erase(name.find(".csv"));
    if (name.ends_with(".1048576")) name.erase(name.find('.'));  // MiniMalloc's capacity
    const std::int64_t bound = arena::LoadLowerBound(*problem);
    instances.push_back({std::move(name), std::move(*problem), bound});
  }
  return instances;
}

std::int64_t Checked(const Instance& instance, const Placement& placement, const char* who) {
  if (const auto violation = arena::FindViolation(instance.problem, placement)) {
    fmt::print(stderr, "{} on {}: {}\n", who, instance.name, *violation);
    std::exit(1);
  }
  return placement.height_bytes;
}

std::string Percent(std::int64_t height, std::int64_t bound) {
  const double over = 100.0 * static_cast<double>(height - bound) / static_cast<double>(bound);
  return height == bound ? "0" : fmt::format("{:.{}f}", over, over < 1 ? 2 : 1);
}

// Peers' heuristics and first answers of ours, in percent over the load bound.
void PrintHeuristics(const std::vector<Instance>& instances, const Options& options) {
  constexpr std::size_t kMaxForHillClimb = 2000;
  struct Column {
    const char* name;
    bool slow;
    std::function<Placement(const Problem&)> place;
  };
  const std::vector<Column> columns = {{"TFLM", false, arena::PlaceLikeTflm},
                                       {"LiteRT", false,
                                        [](const Problem& problem) {
                                          arena::Step last = 0;
                                          for (const auto& buffer : problem.buffers)
                                            last = std::max(last, buffer.last);
                                          return arena::PlaceLikeTflite(problem, last);
                                        }},
                                       {"area, best-fit", false, PlaceByAreaBestFit},
                                       {"memory pattern", false, PlaceLikeMemoryPattern},
                                       {"ExecuTorch", false, PlaceLikeExecutorch},
                                       {"TVM conflicts", false, PlaceByConflicts},
                                       {"TVM hill climb", true,
                                        [&](const Problem& problem) {
                                          Random random(options.first_seed);
                                          return PlaceLikeTvmHillClimb(problem, 500, random);
                                        }},
                                       {"Vela hill climb", true,
                                        [&](const Problem& problem) {
                                          Random random(options.first_seed);
                                          return PlaceLikeVelaHillClimb(
                                              problem, options.vela_attempts, random);
                                        }},
                                       {"Neap", false, [&](const Problem& problem) {
                                          arena::SolveOptions solve;
                                          solve.limits.max_states = kStatesForAFewSeconds;
                                          solve.seed = options.first_seed;
                                          return arena::Solve(problem, solve).placement;
                                        }}};
  fmt::print("| instance | buffers | bound |");
  for (const Column& column : columns) fmt::print(" {} |", column.name);
  fmt::print("\n|---|---|---|");
  for (std::size_t i = 0; i < columns.size(); ++i) fmt::print("---|");
  fmt::print("\n");
  for (const Instance& instance : instances) {
    fmt::print("| {} | {} | {} |", instance.name,
               FormatCount(static_cast<std::int64_t>(instance.problem.buffers.size())),
               FormatCount(instance.bound));
    for (const Column& column : columns) {
      if (column.slow && instance.problem.buffers.size() > kMaxForHillClimb) {
        fmt::print(" - |");
        continue;
      }
      const double before = ProcessorSeconds();
      const std::int64_t height = Checked(instance, column.place(instance.problem), column.name);
      fmt::print(" {}", Percent(height, instance.bound));
      const double seconds = ProcessorSeconds() - before;
      if (seconds >= 0.01) fmt::print(" ({:.2f} s)", seconds);
      fmt::print(" |");
      std::fflush(stdout);
    }
    fmt::print("\n");
  }
}

struct Runs {
  int reached = 0;
  double mean_seconds = 0;
  double worst_seconds = 0;
};

Runs RunSeeds(const Instance& instance, std::int64_t capacity, const Options& options) {
  Runs runs;
  for (int s = 0; s < options.seeds; ++s) {
    arena::SolveOptions solve;
    solve.seed = options.first_seed + static_cast<std::uint64_t>(s);
    solve.goal_bytes = capacity;
    solve.limits.max_seconds = options.seconds;
    const double before = ProcessorSeconds();
    const auto outcome = arena::Solve(instance.problem, solve);
    const double seconds = ProcessorSeconds() - before;
    runs.reached += Checked(instance, outcome.placement, "Neap") <= capacity ? 1 : 0;
    runs.mean_seconds += seconds / options.seeds;
    runs.worst_seconds = std::max(runs.worst_seconds, seconds);
  }
  return runs;
}

// Does it fit into the capacity that MiniMalloc was measured at?
void PrintCapacities(const std::vector<Instance>& instances, const Options& options) {
  constexpr std::int64_t kCapacity = 1'048'576;
  const std::map<std::string, double> minimalloc = {{"A", 3.74}, {"B", 2.84}, {"C", 0.50},
                                                    {"D", 2.19}, {"E", 2.66}, {"F", 3.81},
                                                    {"G", 0.90}, {"H", 1.35}};
  fmt::print("| instance | capacity | reached | mean s | worst s | MiniMalloc s |\n");
  fmt::print("|---|---|---|---|---|---|\n");
  double total = 0;
  double theirs = 0;
  const auto row = [&](const Instance& instance, std::int64_t capacity) {
    const Runs runs = RunSeeds(instance, capacity, options);
    const auto peer = minimalloc.find(instance.name);
    const bool measured = capacity == kCapacity && peer != minimalloc.end();
    fmt::print("| {} | {} | {}/{} | {:.3f} | {:.3f} | {} |\n", instance.name, FormatCount(capacity),
               runs.reached, options.seeds, runs.mean_seconds, runs.worst_seconds,
               measured ? fmt::format("{:.2f}", peer->second) : "-");
    std::fflush(stdout);
    if (!measured) return;
    total += runs.mean_seconds;
    theirs += peer->second;
  };
  for (const Instance& instance : instances) row(instance, kCapacity);
  fmt::print("| all | {} | | {:.3f} | | {:.2f} |\n", FormatCount(kCapacity), total, theirs);
  for (const Instance& instance : instances) {
    if (instance.bound < kCapacity) row(instance, instance.bound);
  }
}

void PrintLarge(const std::vector<Instance>& instances, const Options& options) {
  fmt::print(
      "| instance | buffers | bound | height | over bound, % | s |\n|---|---|---|---|---|---|\n");
  for (const Instance& instance : instances) {
    arena::SolveOptions solve;
    solve.seed = options.first_seed;
    solve.limits.max_seconds = 10;
    const double before = ProcessorSeconds();
    const auto outcome = arena::Solve(instance.problem, solve);
    const double seconds = ProcessorSeconds() - before;
    const std::int64_t height = Checked(instance, outcome.placement, "Neap");
    fmt::print("| {} | {} | {} | {} | {} | {:.2f} |\n", instance.name,
               FormatCount(static_cast<std::int64_t>(instance.problem.buffers.size())),
               FormatCount(instance.bound), FormatCount(height), Percent(height, instance.bound),
               seconds);
    std::fflush(stdout);
  }
}

int Run(const Options& options) {
  const auto minimalloc = Load("minimalloc", 100);
  auto all = minimalloc;
  for (auto& instance : Load("idealloc", 100)) all.push_back(std::move(instance));
  if (all.empty()) {
    fmt::print(stderr, "no instances under {}\n", PlacementFolder("").string());
    return 1;
  }
  fmt::print("# Benchmarks of placement\n\n");
  fmt::print(
      "Made by `build/release/lab/tables/placement_table --seed {} --seeds {} --seconds {} "
      "--attempts {}`.\nSeconds are processor time of one thread on a machine that was doing other "
      "work. Every\nplacement passed the independent checker. The instances (MiniMalloc's A to H, "
      "idealloc's others)\nare not part of this repository.\n\n",
      options.first_seed, options.seeds, options.seconds, options.vela_attempts);
  fmt::print(
      "## Percent over the load bound\n\nHeuristics of other tools as Neap implements them from "
      "descriptions (`lab/tables/placement_baselines.h`),\nnot runs of those tools; 500 swaps of "
      "TVM's "
      "hill climbing, {} of Vela's. Neap: `neap place FILE\n--seed {}`. Seconds where there are "
      "more than 0.01.\n\n",
      FormatCount(options.vela_attempts), options.first_seed);
  PrintHeuristics(all, options);
  fmt::print(
      "\n## Into a capacity\n\n{} seeds from {} on, at most {} s of wall time each. MiniMalloc's "
      "seconds were measured once,\non the same kind of machine, not beside these runs; it did not "
      "reach D's bound in 40 s.\n\n",
      options.seeds, options.first_seed, options.seconds);
  PrintCapacities(minimalloc, options);
  fmt::print("\n## Ten seconds\n\nSeed {}, at most ten seconds of wall time.\n\n",
             options.first_seed);
  PrintLarge(Load("idealloc", 100), options);
  return 0;
}

}  // namespace
}  // namespace neap::tables

int main(int argc, char** argv) {
  neap::tables::Options options;
  CLI::App app("Tables of docs/results/placement.md on standard output");
  app.add_option("--seed", options.first_seed);
  app.add_option("--seeds", options.seeds)->check(CLI::Range(1, 1000));
  app.add_option("--seconds", options.seconds);
  app.add_option("--attempts", options.vela_attempts)->check(CLI::Range(1, 99'999));
  CLI11_PARSE(app, argc, argv);
  return neap::tables::Run(options);
}
