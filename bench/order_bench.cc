// SPDX-License-Identifier: Apache-2.0
//
// The order search on seeded layered graphs. Counters: states, and whether the search ended.
#include <benchmark/benchmark.h>

#include <cstdint>

#include "neap/base/random.h"
#include "neap/solve/schedule/schedule.h"

namespace neap {
namespace {

// Layers of `width` operators; each reads one to three outputs of the layer before.
schedule::Problem LayeredProblem(std::int32_t layers, std::int32_t width) {
  Random random(7);
  schedule::Problem problem;
  problem.num_ops = layers * width;
  problem.buffers.resize(static_cast<std::size_t>(problem.num_ops));
  for (std::int32_t op = 0; op < problem.num_ops; ++op) {
    auto& own = problem.buffers[static_cast<std::size_t>(op)];
    own.bytes = random.Between(1, 1000);
    own.users.push_back(op);
    if (op < width) continue;
    const std::int32_t layer_before = op / width * width - width;
    for (std::int64_t reads = random.Between(1, 3); reads > 0; --reads) {
      const auto read = layer_before + static_cast<std::int32_t>(random.Between(0, width - 1));
      auto& users = problem.buffers[static_cast<std::size_t>(read)].users;
      if (users.back() == op) continue;
      users.push_back(op);
      problem.precedences.emplace_back(read, op);
    }
  }
  return problem;
}

void OrderExact(benchmark::State& state) {
  const auto problem = LayeredProblem(12, static_cast<std::int32_t>(state.range(0)));
  Limits limits;
  limits.max_states = 200'000;
  for (auto _ : state) {
    const auto outcome = schedule::Solve(problem, limits);
    state.counters["states"] = static_cast<double>(outcome.states);
    state.counters["optimal"] = outcome.optimal() ? 1 : 0;
  }
}
BENCHMARK(OrderExact)->Arg(4)->Arg(8)->Arg(12)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace neap

BENCHMARK_MAIN();
