// SPDX-License-Identifier: Apache-2.0
//
// Inspect(); its tests are in compile_test.cc.
#include <utility>
#include <vector>

#include "neap/compile/compile.h"
#include "neap/compile/measured.h"
#include "neap/compile/order.h"
#include "neap/compile/peak_cause.h"

namespace neap::compile {
namespace {

Result<Inspection> InspectEntry(const Measured& measured, graph::SubgraphId entry) {
  NEAP_TRY(const Timeline timeline,
           BuildTimeline(measured.merged(), entry, measured.file_orders, measured.profile));
  const auto live = LiveBytes(timeline, measured.sizes, measured.profile);
  Inspection inspection;
  inspection.subgraph = entry;
  for (std::size_t slot = 0; slot < live.size(); ++slot) {
    inspection.steps.push_back(
        {timeline.steps[slot].subgraph, timeline.steps[slot].op, live[slot]});
  }
  inspection.peak_bytes = Largest(live);
  inspection.peak_at = CauseOfPeak(timeline, live, measured.sizes, measured.profile);
  for (const graph::Tensor& tensor : measured.runtime_graph.file().subgraphs[entry].tensors) {
    const auto bytes = graph::TensorBytes(tensor);
    if (!bytes) continue;
    if (tensor.constant) inspection.constant_bytes += *bytes;
    if (tensor.variable && !tensor.constant) inspection.variable_bytes += *bytes;
  }
  return inspection;
}

}  // namespace

Result<std::vector<Inspection>> Inspect(const graph::Graph& graph, plan::Runtime runtime) {
  NEAP_TRY(const Measured measured, Measure(graph, plan::ProfileOf(runtime)));
  std::vector<Inspection> inspections;
  for (const graph::SubgraphId entry : graph::EntrySubgraphs(measured.merged())) {
    NEAP_TRY(Inspection inspection, InspectEntry(measured, entry));
    inspections.push_back(std::move(inspection));
  }
  return inspections;
}

}  // namespace neap::compile
