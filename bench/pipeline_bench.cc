// SPDX-License-Identifier: Apache-2.0
//
// Graph to checked plan, for networks of the zoo.
#include <benchmark/benchmark.h>

#include <string>

#include "lab/zoo/zoo.h"
#include "neap/compile/compile.h"

namespace neap {
namespace {

void PlanNetwork(benchmark::State& state, const std::string& name) {
  const auto graph = zoo::Build(name, zoo::ZooOptions{});
  if (!graph) return state.SkipWithError("the zoo refused");
  compile::Options options;
  options.limits.max_states = 10'000'000;
  for (auto _ : state) {
    const auto compiled = compile::Compile(*graph, options);
    if (!compiled) return state.SkipWithError("no plan");
    const plan::EntryPlan& entry = plan::LargestEntry(compiled->plan);
    state.counters["peak_bytes"] = static_cast<double>(entry.peak_bytes);
    state.counters["optimal"] = entry.order_status == plan::BoundStatus::kOptimal ? 1 : 0;
  }
}
BENCHMARK_CAPTURE(PlanNetwork, randwire_ws, "randwire-ws")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(PlanNetwork, randwire_cell_ws, "randwire-cell-ws")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(PlanNetwork, darts_cifar, "darts-cifar")->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace neap

BENCHMARK_MAIN();
