// SPDX-License-Identifier: Apache-2.0
#include "neap/stages/parts.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "neap/base/index.h"
#include "neap/compile/compile.h"
#include "neap/solve/partition/cut.h"

namespace neap::stages {
namespace {

using graph::OpId;
using graph::SubgraphId;
using graph::TensorId;
using partition::OpIndex;
using partition::Stage;

// The graph with the operators of the part alone; tensors keep their indices, and get the sizes
// that they have on the accelerator.
graph::Graph GraphOf(const graph::Graph& graph, const StagePart& part,
                     const Accelerator& accelerator) {
  graph::Graph cut = graph;
  cut.signatures.clear();
  graph::Subgraph& main = cut.subgraphs[SubgraphId(0)];
  main.inputs = part.inputs;
  main.outputs = part.outputs;
  IdVector<OpId, OpId> new_id(main.ops.size());
  IdVector<OpId, graph::Op> ops;
  for (const OpId id : main.ops.Ids()) {
    if (main.ops[id].folded) new_id[id] = ops.push_back(main.ops[id]);
  }
  for (const OpId id : part.ops) new_id[id] = ops.push_back(main.ops[id]);
  main.ops = std::move(ops);
  std::vector<graph::ControlEdge> edges;
  for (const graph::ControlEdge& edge : main.control_edges) {
    if (new_id[edge.before].valid() && new_id[edge.after].valid()) {
      edges.push_back({new_id[edge.before], new_id[edge.after]});
    }
  }
  main.control_edges = std::move(edges);
  for (graph::Subgraph& subgraph : cut.subgraphs) {
    for (graph::Tensor& tensor : subgraph.tensors) {
      tensor.data.reset();
      if (accelerator.int8 && IsFloat(tensor.type)) tensor.type = graph::ElementType::kInt8;
    }
  }
  return cut;
}

}  // namespace

std::vector<StagePart> PartsOf(const Lowered& lowered, std::span<const Stage> stage_of) {
  const partition::Problem& problem = lowered.problem;
  std::vector<StagePart> parts(At(problem.num_stages));
  for (const OpIndex op : partition::IndexOrder(problem)) {
    parts[At(stage_of[At(op)])].ops.push_back(lowered.ops[At(op)]);
  }
  for (std::size_t t = 0; t < problem.tensors.size(); ++t) {
    const partition::Tensor& tensor = problem.tensors[t];
    const Stage made =
        tensor.producer == partition::kOutside ? Stage{-1} : stage_of[At(tensor.producer)];
    std::vector<bool> read(parts.size(), false);
    bool leaves = tensor.output;
    for (const OpIndex op : tensor.consumers) {
      const Stage stage = stage_of[At(op)];
      if (stage == made || read[At(stage)]) continue;
      read[At(stage)] = true;
      leaves = true;
      parts[At(stage)].inputs.push_back(lowered.tensors[t]);
    }
    if (leaves && made >= 0) parts[At(made)].outputs.push_back(lowered.tensors[t]);
  }
  for (std::size_t s = 0; s < parts.size(); ++s) parts[s].stage = static_cast<Stage>(s);
  std::erase_if(parts, [](const StagePart& part) { return part.ops.empty(); });
  return parts;
}

Result<ActivationPeak> PeakOf(const graph::Graph& graph, const StagePart& part,
                              const Accelerator& accelerator, const Limits& limits) {
  compile::Options options;
  options.runtime = plan::Runtime::kIdeal;
  options.limits = limits;
  options.place = false;
  NEAP_TRY(const compile::Compiled compiled,
           compile::Compile(GraphOf(graph, part, accelerator), options));
  ActivationPeak peak;
  for (const plan::EntryPlan& entry : compiled.plan.entries) {
    if (entry.subgraph != SubgraphId(0)) continue;
    peak.peak_bytes = entry.peak_bytes;
    peak.lower_bound_bytes = entry.peak_lower_bound_bytes;
  }
  return peak;
}

}  // namespace neap::stages
