// SPDX-License-Identifier: Apache-2.0
#include "lab/bench/facts.h"

#include <algorithm>
#include <cstdlib>
#include <span>
#include <utility>

#include "neap/base/check.h"
#include "neap/base/limits.h"
#include "neap/execute/evaluate.h"
#include "neap/execute/inputs.h"
#include "neap/show/report/text.h"
#include "neap/transform/rewrite/rewrite.h"

namespace neap::bench {
namespace {

compile::Options BaseOptions(compile::OrderStrategy order, const RunOptions& options,
                             std::int64_t max_states) {
  compile::Options base;
  base.order = order;
  base.limits.max_states = max_states > 0 ? max_states : kStatesForAFewSeconds;
  base.limits.stop = options.stop;
  return base;
}

}  // namespace

namespace {

Result<Measured> MeasureIn(const graph::Graph& graph, const compile::Options& options) {
  Measured measured;
  NEAP_TRY(measured.compiled, compile::Compile(graph, options));
  const plan::EntryPlan& entry = plan::LargestEntry(measured.compiled.plan);
  measured.operators = report::CountOf(graph).operators;
  measured.peak_bytes = entry.peak_bytes;
  measured.bound_bytes = entry.peak_lower_bound_bytes;
  measured.arena_bytes = entry.arena_bytes;
  measured.seconds = compile::OrderSeconds(measured.compiled);
  return measured;
}

}  // namespace

Result<Measured> Measure(const graph::Graph& graph, compile::OrderStrategy order,
                         const RunOptions& options, std::int64_t max_states) {
  const compile::Options ideal = BaseOptions(order, options, max_states);
  NEAP_TRY(Measured measured, MeasureIn(graph, ideal));
  compile::Options litert = ideal;
  litert.runtime = plan::Runtime::kLitert;
  litert.place = false;
  NEAP_TRY(const compile::Compiled delivered, compile::Compile(graph, litert));
  measured.tflite_arena_bytes = delivered.delivered_arena_bytes;
  return measured;
}

Result<Ordered> SearchOrder(const graph::Graph& graph, compile::OrderStrategy order,
                            const RunOptions& options, std::int64_t max_states,
                            plan::Runtime runtime) {
  compile::Options base = BaseOptions(order, options, max_states);
  base.runtime = runtime;
  base.place = false;
  NEAP_TRY(const compile::Compiled compiled, compile::Compile(graph, base));
  const plan::EntryPlan& entry = plan::LargestEntry(compiled.plan);
  Ordered ordered;
  ordered.peak_bytes = entry.peak_bytes;
  ordered.bound_bytes = entry.peak_lower_bound_bytes;
  ordered.states = entry.states;
  ordered.seconds = compile::OrderSeconds(compiled);
  ordered.proven = entry.order_status == plan::BoundStatus::kOptimal;
  return ordered;
}

namespace {

compile::Options ExecutorOptions(const RunOptions& options) {
  compile::Options neap = BaseOptions(compile::kExactOrder, options, 0);
  neap.runtime = plan::Runtime::kNeap;
  return neap;
}

}  // namespace

Result<Measured> MeasureInExecutor(const graph::Graph& graph, const RunOptions& options) {
  return MeasureIn(graph, ExecutorOptions(options));
}

Result<std::optional<RewrittenCell>> Rewrite(const graph::Graph& graph, Rewriting how,
                                             const RunOptions& options) {
  rewrite::SearchOptions search;
  const bool exact = how == Rewriting::kExact;
  search.exactness = exact ? plan::Exactness::kBitwise : plan::Exactness::kReassociates;
  search.settings.sums = rewrite::Sums::kInPlace;
  search.settings.accumulator_bytes = exact ? 4 : 1;
  search.settings.own_kernels = true;
  search.settings.keep_order = exact;
  if (how == Rewriting::kSerenity) {
    search.everywhere = true;
    search.rules = {"concat", "kernel-wise", "channel-wise"};
  }
  constexpr std::int64_t kQuickWork = 20'000;
  if (options.quick) search.max_work = kQuickWork;
  const compile::Options neap = ExecutorOptions(options);
  NEAP_TRY(rewrite::Found found, rewrite::Search(graph, neap, search));
  if (found.applications.empty()) return std::optional<RewrittenCell>();
  RewrittenCell rewritten;
  rewritten.applications = static_cast<std::int64_t>(found.applications.size());
  rewritten.bitwise = std::all_of(
      found.applications.begin(), found.applications.end(),
      [](const plan::Rewrite& one) { return one.exactness == plan::Exactness::kBitwise; });
  rewritten.graph = std::move(found.graph);
  rewritten.lower_bound_bytes = found.lower_bound_bytes;
  NEAP_TRY(rewritten.measured, MeasureIn(rewritten.graph, neap));
  return rewritten;
}

Result<Difference> Compare(const graph::Graph& graph, const graph::Graph& rewritten,
                           std::uint64_t seed) {
  const graph::SubgraphId main(0);
  const graph::Subgraph& subgraph = graph.subgraphs[main];
  constexpr std::int64_t kMaxInputBytes = std::int64_t{1} << 30;
  NEAP_TRY(const auto inputs, execute::RandomInputs(subgraph, seed, kMaxInputBytes));
  NEAP_TRY(const auto before, execute::Evaluate(graph, main, inputs, {}));
  NEAP_TRY(const auto after, execute::Evaluate(rewritten, main, inputs, {}));
  NEAP_CHECK(before.size() == after.size(), "rewriting keeps the outputs");
  Difference difference;
  for (std::size_t i = 0; i < before.size(); ++i) {
    const auto a = std::span(before[i].bytes);
    const auto b = std::span(after[i].bytes);
    NEAP_CHECK(a.size() == b.size(), "rewriting keeps the size of an output");
    for (std::size_t k = 0; k < a.size(); ++k) {
      const auto apart = std::abs(static_cast<int>(static_cast<std::int8_t>(a[k])) -
                                  static_cast<int>(static_cast<std::int8_t>(b[k])));
      ++difference.outputs;
      difference.different += apart > 0 ? 1 : 0;
      difference.largest = std::max<std::int64_t>(difference.largest, apart);
    }
  }
  return difference;
}

}  // namespace neap::bench
