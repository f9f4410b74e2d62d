// SPDX-License-Identifier: Apache-2.0
//
// Placement: networks of several sizes, and the instances of MiniMalloc where NEAP_SHARED (or
// ../shared) has them. Counters: height in percent of the bound, states.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <filesystem>

#include "bench/placement_files.h"
#include "neap/base/random.h"
#include "neap/solve/arena/arena.h"

namespace neap::arena {
namespace {

// A chain with skips; activations shrink in steps, as those of image networks do.
Problem RandomNetwork(int operators, std::uint64_t seed) {
  Random random(seed);
  Problem problem;
  for (Step op = 0; op < operators; ++op) {
    const std::int64_t level = std::int64_t{op} * 8 / operators;
    const std::int64_t bytes = (std::int64_t{1} << (18 - level)) * random.Between(1, 8);
    const auto reach = static_cast<Step>(random.Chance(1, 4) ? random.Between(2, 12) : 1);
    problem.buffers.push_back({bytes, op, op + 1 + reach, 16, {}});
  }
  return problem;
}

void Report(benchmark::State& state, const Outcome& outcome) {
  state.counters["states"] = static_cast<double>(outcome.states);
  state.counters["height_percent"] = 100.0 * static_cast<double>(outcome.placement.height_bytes) /
                                     static_cast<double>(outcome.lower_bound_bytes);
}

void SolveProblem(benchmark::State& state, const Problem& problem) {
  Limits limits;
  limits.max_states = 200'000;
  Outcome outcome;
  for (auto _ : state) {
    outcome = Solve(problem, limits);
    benchmark::DoNotOptimize(outcome);
  }
  Report(state, outcome);
}

void Networks(benchmark::State& state) {
  SolveProblem(state, RandomNetwork(static_cast<int>(state.range(0)), 1));
}
BENCHMARK(Networks)->Arg(20)->Arg(100)->Arg(500)->Arg(2000)->Arg(20000)->Unit(
    benchmark::kMillisecond);

void LikeTflm(benchmark::State& state) {
  const Problem problem = RandomNetwork(static_cast<int>(state.range(0)), 1);
  for (auto _ : state) benchmark::DoNotOptimize(PlaceLikeTflm(problem));
}
BENCHMARK(LikeTflm)->Arg(100)->Arg(2000)->Arg(20000)->Unit(benchmark::kMillisecond);

void SolveFile(benchmark::State& state, const std::filesystem::path& path) {
  const auto read = bench::ReadPlacement(path);
  if (!read) {
    state.SkipWithError("cannot be read");
    return;
  }
  SolveProblem(state, *read);
}

void RegisterFiles() {
  for (const auto& path : bench::PlacementFiles("minimalloc")) {
    benchmark::RegisterBenchmark(("MiniMalloc/" + path.stem().string()).c_str(),
                                 [path](benchmark::State& state) { SolveFile(state, path); })
        ->Unit(benchmark::kMillisecond)
        ->Iterations(1);
  }
}

}  // namespace
}  // namespace neap::arena

int main(int argc, char** argv) {
  neap::arena::RegisterFiles();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
