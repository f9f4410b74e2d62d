// SPDX-License-Identifier: Apache-2.0
#include "neap/deliver/price.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <set>

#include "neap/ops/macs.h"

namespace neap::deliver {
namespace {

std::int64_t MacsOf(const graph::Subgraph& subgraph) {
  std::int64_t macs = 0;
  for (const graph::Op& op : subgraph.ops) {
    if (!op.folded) macs += ops::MultiplyAccumulates(subgraph, op);
  }
  return macs;
}

std::set<std::string> TypesOf(const graph::Graph& graph) {
  std::set<std::string> types;
  for (const graph::Subgraph& subgraph : graph.subgraphs) {
    for (const graph::Op& op : subgraph.ops) {
      if (!op.folded) types.insert(op.type);
    }
  }
  return types;
}

// Copies between the places of one tensor.
std::int64_t MovedBytes(const plan::EntryPlan& entry) {
  std::int64_t bytes = 0;
  for (const plan::Step& step : entry.steps) {
    if (!step.moved.valid()) continue;
    const auto placed = std::find_if(
        entry.tensors.begin(), entry.tensors.end(), [&](const plan::TensorPlacement& placement) {
          return placement.subgraph == entry.subgraph && placement.tensor == step.moved;
        });
    if (placed != entry.tensors.end()) bytes += placed->bytes;
  }
  return bytes;
}

}  // namespace

std::int64_t MacsOf(const graph::Graph& graph) {
  const graph::Subgraph& main = graph.subgraphs[graph::SubgraphId(0)];
  std::int64_t macs = MacsOf(main);
  for (const graph::Op& op : main.ops) {
    // A tile calls one body for every condition. Which of several bodies runs is not known.
    const auto& bodies = op.bodies;
    if (bodies.empty() || std::count(bodies.begin(), bodies.end(), bodies.front()) !=
                              static_cast<std::ptrdiff_t>(bodies.size())) {
      continue;
    }
    macs += MacsOf(graph.subgraphs[bodies.front()]);
  }
  return macs;
}

std::int64_t OperatorsOf(const graph::Graph& graph) {
  std::int64_t count = 0;
  for (const graph::Subgraph& subgraph : graph.subgraphs) {
    count += std::count_if(subgraph.ops.begin(), subgraph.ops.end(),
                           [](const graph::Op& op) { return !op.folded; });
  }
  return count;
}

std::vector<std::string> NewTypes(const graph::Graph& given, const graph::Graph& planned) {
  const std::set<std::string> before = TypesOf(given);
  const std::set<std::string> after = TypesOf(planned);
  std::vector<std::string> types;
  std::set_difference(after.begin(), after.end(), before.begin(), before.end(),
                      std::back_inserter(types));
  return types;
}

Price PriceOf(const formats::SourceModel& given, const formats::SourceModel& planned,
              const compile::Compiled& compiled) {
  // Moves may be operators of the written model.
  const graph::Graph& graph = compiled.edited ? *compiled.edited : planned.graph;
  Price price;
  price.model_macs = MacsOf(given.graph);
  price.macs = MacsOf(graph);
  if (const auto& stream = plan::LargestEntry(compiled.plan).stream) {
    price.macs += stream->macs - stream->layerwise_macs;
  }
  price.added_operators = OperatorsOf(graph) - OperatorsOf(given.graph);
  if (given.bytes && planned.bytes) {
    price.growth_bytes = static_cast<std::int64_t>(planned.bytes->size()) -
                         static_cast<std::int64_t>(given.bytes->size());
  }
  for (const plan::EntryPlan& entry : compiled.plan.entries) price.moved_bytes += MovedBytes(entry);
  price.new_types = NewTypes(given.graph, graph);
  price.kernels = compiled.plan.kernels;
  return price;
}

}  // namespace neap::deliver
