// SPDX-License-Identifier: Apache-2.0
#include "neap/transform/cascade/graph_work.h"

#include "neap/transform/cascade/cost.h"

namespace neap::cascade {

Work WorkOf(const graph::Graph& graph, const Device& device) {
  const graph::Subgraph& main = graph.subgraphs[graph::SubgraphId(0)];
  Work work{MacsOf(main), CyclesOf(main, device)};
  for (const graph::Op& op : main.ops) {
    // Calls that the model has of its own count as before: not at all.
    if (op.source_index >= 0 || op.bodies.empty()) continue;
    const graph::Subgraph& body = graph.subgraphs[op.bodies.front()];
    work.macs += MacsOf(body);
    work.cycles += CyclesOf(body, device);
  }
  return work;
}

}  // namespace neap::cascade
