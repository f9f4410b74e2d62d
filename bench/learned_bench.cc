// SPDX-License-Identifier: Apache-2.0
//
// Inference of the pointer networks, from graph to repaired order, untrained weights of the width
// that comes with the program. The document's largest network has 782 nodes.
#include <benchmark/benchmark.h>

#include "neap/learn/network.h"
#include "neap/learn/repair.h"
#include "neap/learn/sampler.h"

namespace neap::learn {
namespace {

void Order(benchmark::State& state, Coder encoder, Coder decoder, Mask mask) {
  ModelConfig config;
  config.encoder = encoder;
  config.decoder = decoder;
  config.mask = mask;
  const Model model = InitialModel(config, 1);
  const Network network(model);
  SamplerOptions options;
  options.nodes = static_cast<std::int32_t>(state.range(0));
  options.min_levels = options.nodes / 6;
  options.max_levels = options.nodes / 4;
  Random random(1);
  const Dag dag = Sample(options, &random);
  for (auto _ : state) {
    benchmark::DoNotOptimize(Repair(dag, GreedyNodes(network, dag)).data());
  }
}

BENCHMARK_CAPTURE(Order, lstm_lstm_visited, Coder::kLstm, Coder::kLstm, Mask::kVisited)
    ->Arg(30)
    ->Arg(100)
    ->Arg(782)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Order, lstm_lstm_ready, Coder::kLstm, Coder::kLstm, Mask::kReady)
    ->Arg(30)
    ->Arg(100)
    ->Arg(782)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Order, transformer_lstm_visited, Coder::kTransformer, Coder::kLstm,
                  Mask::kVisited)
    ->Arg(30)
    ->Arg(782)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Order, lstm_transformer_visited, Coder::kLstm, Coder::kTransformer,
                  Mask::kVisited)
    ->Arg(30)
    ->Arg(100)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace neap::learn

BENCHMARK_MAIN();
