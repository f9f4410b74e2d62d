// SPDX-License-Identifier: Apache-2.0
#include "neap/deliver/measure.h"

#include <algorithm>

#include "neap/compile/headline.h"

namespace neap::deliver {

std::int64_t OperatorsOf(const graph::Graph& graph) {
  std::int64_t count = 0;
  for (const graph::Subgraph& subgraph : graph.subgraphs) {
    count += std::count_if(subgraph.ops.begin(), subgraph.ops.end(),
                           [](const graph::Op& op) { return !op.folded; });
  }
  return count;
}

Measure MeasureOf(const graph::Graph& graph, const compile::Compiled& compiled, bool placed,
                  const Budgets& budgets) {
  Measure measure;
  measure.operators = OperatorsOf(graph);
  measure.access_cycles = compiled.access_cycles;
  const std::int64_t headline = compile::HeadlineBytes(compiled, placed);
  const std::int64_t total =
      compiled.totals.empty() ? -1 : compiled.totals.front().total_arena_bytes;
  measure.bytes = headline;
  if (budgets.CountsTotal() && total >= 0) measure.bytes = total;
  measure.known = compiled.unknown_kernels.empty();
  if (budgets.Any() && !measure.known) measure.fits = false;
  if (budgets.arena_bytes && headline > *budgets.arena_bytes) measure.fits = false;
  if (budgets.total_bytes && (total < 0 || total > *budgets.total_bytes)) measure.fits = false;
  const std::int64_t reserved = total >= 0 ? total : headline;
  if (budgets.memory_bytes && reserved > *budgets.memory_bytes) measure.fits = false;
  return measure;
}

}  // namespace neap::deliver
