// SPDX-License-Identifier: Apache-2.0
#include "neap/bench/facts.h"

#include <algorithm>
#include <utility>

#include "neap/base/limits.h"
#include "neap/report/text.h"
#include "neap/rewrite/rewrite.h"

namespace neap::bench {
namespace {

constexpr std::int64_t kFloatBytes = 4;

compile::Options BaseOptions(const std::string& order, const RunOptions& options,
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
  measured.seconds = measured.compiled.seconds.order_seconds;
  return measured;
}

}  // namespace

Result<Measured> Measure(const graph::Graph& graph, const std::string& order,
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

Result<Ordered> SearchOrder(const graph::Graph& graph, const std::string& order,
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
  ordered.seconds = compiled.seconds.order_seconds;
  ordered.proven = entry.order_status == plan::BoundStatus::kOptimal;
  return ordered;
}

Result<std::optional<RewrittenCell>> Rewrite(const Cell& cell, const RunOptions& options) {
  rewrite::SearchOptions search;
  search.exactness = plan::Exactness::kReassociates;
  search.settings.sums = rewrite::Sums::kInPlace;
  search.settings.accumulator_bytes = 1;
  search.settings.own_kernels = true;
  search.settings.keep_order = false;
  constexpr std::int64_t kQuickWork = 20'000;
  if (options.quick) search.max_work = kQuickWork;
  compile::Options neap = BaseOptions("exact", options, 0);
  neap.runtime = plan::Runtime::kNeap;
  NEAP_TRY(rewrite::Found found, rewrite::Search(cell.float_graph, neap, search));
  if (found.applications.empty()) return std::optional<RewrittenCell>();
  RewrittenCell rewritten;
  rewritten.applications = static_cast<std::int64_t>(found.applications.size());
  rewritten.graph = cell.int8 ? InBytes(std::move(found.graph)) : std::move(found.graph);
  rewritten.lower_bound_bytes = found.lower_bound_bytes / (cell.int8 ? kFloatBytes : 1);
  NEAP_TRY(rewritten.measured, MeasureIn(rewritten.graph, neap));
  return rewritten;
}

}  // namespace neap::bench
