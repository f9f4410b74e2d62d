// SPDX-License-Identifier: Apache-2.0
#include "lab/bench/granularity.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "neap/base/check.h"

#include "neap/ops/op_table.h"

namespace neap::bench {
namespace {

using graph::Op;
using graph::OpId;
using graph::Subgraph;
using graph::TensorId;
using ops::Is;
using ops::OpKind;

// Places in the chain of a node; an operator of another type belongs to no chain.
enum class Part : std::uint8_t {
  kNone,
  kConcatenation,
  kSum,
  kRectifier,
  kPadding,
  kDepthwise,
  kPointwise
};

bool IsPointwise(const Subgraph& subgraph, const Op& op, std::size_t weights) {
  const graph::Tensor* tensor = Operand(subgraph, op.inputs, weights);
  // OHWI.
  return tensor != nullptr && tensor->shape && tensor->shape->size() == 4 &&
         (*tensor->shape)[1] == 1 && (*tensor->shape)[2] == 1;
}

Part PartOf(const Subgraph& subgraph, const Op& op, Concatenations concatenations) {
  if (Is(op, OpKind::kConcatenation) && concatenations == Concatenations::kFree) {
    return Part::kConcatenation;
  }
  if (op.domain == "neap") {
    constexpr std::size_t kWeights = 2;  // after accumulator and data
    const bool pointwise = Is(op, OpKind::kNeapAccumulate) && IsPointwise(subgraph, op, kWeights);
    return pointwise ? Part::kPointwise : Part::kNone;
  }
  if (Is(op, OpKind::kAdd)) return Part::kSum;
  if (Is(op, OpKind::kRelu, OpKind::kRelu6)) return Part::kRectifier;
  if (Is(op, OpKind::kPad)) return Part::kPadding;
  if (Is(op, OpKind::kDepthwiseConv2d)) return Part::kDepthwise;
  const bool pointwise = Is(op, OpKind::kConv2d) && IsPointwise(subgraph, op, 1);
  return pointwise ? Part::kPointwise : Part::kNone;
}

// The operator that alone reads what `op` computes.
OpId SoleReader(const IdVector<TensorId, std::vector<OpId>>& readers, const Op& op) {
  if (op.outputs.size() != 1 || !op.bodies.empty() || !op.captures.empty() || op.stateful) {
    return OpId();
  }
  const std::vector<OpId>& list = readers[op.outputs.front()];
  return list.size() == 1 ? list.front() : OpId();
}

// Inputs that no operator of the node computes, each once; the first input of the last operator
// stays the first one: an accumulator is found there.
std::vector<TensorId> InputsOf(const Subgraph& subgraph, const std::vector<OpId>& members) {
  std::vector<TensorId> inside;
  inside.reserve(members.size());
  for (const OpId id : members) inside.push_back(subgraph.ops[id].outputs.front());
  const auto has = [](const std::vector<TensorId>& list, TensorId id) {
    return std::find(list.begin(), list.end(), id) != list.end();
  };
  std::vector<TensorId> inputs;
  const Op& last = subgraph.ops[members.back()];
  if (last.domain == "neap") inputs.push_back(last.inputs.front());
  for (const OpId id : members) {
    for (const TensorId input : subgraph.ops[id].inputs) {
      if (input.valid() && !has(inside, input) && !has(inputs, input)) inputs.push_back(input);
    }
  }
  return inputs;
}

}  // namespace

graph::Graph InNodes(const graph::Graph& graph, Concatenations concatenations) {
  graph::Graph nodes = graph;
  Subgraph& subgraph = nodes.subgraphs[graph::SubgraphId(0)];
  NEAP_CHECK(subgraph.control_edges.empty(), "control edges name operators that nodes replace");
  IdVector<TensorId, std::vector<OpId>> readers(subgraph.tensors.size());
  for (const OpId id : subgraph.ops.Ids()) {
    for (const TensorId input : subgraph.ops[id].inputs) {
      if (input.valid()) readers[input].push_back(id);
    }
  }
  // The caller is a second consumer of outputs.
  for (const TensorId output : subgraph.outputs) {
    readers[output].push_back(OpId());
    readers[output].push_back(OpId());
  }
  std::vector<OpId> order;
  for (const OpId id : subgraph.ops.Ids()) order.push_back(id);
  IdVector<OpId, OpId> last(subgraph.ops.size());  // of the node that an operator is in
  for (auto id = order.rbegin(); id != order.rend(); ++id) {
    last[*id] = *id;
    const Part part = PartOf(subgraph, subgraph.ops[*id], concatenations);
    const OpId reader = SoleReader(readers, subgraph.ops[*id]);
    if (!reader.valid() || part == Part::kNone) continue;
    const Part next = PartOf(subgraph, subgraph.ops[reader], concatenations);
    const bool sums = part == Part::kSum && next == Part::kSum;
    // A sum of concatenations is none of the chains.
    const bool joins = part == Part::kConcatenation ? next > Part::kSum : next > part;
    if (sums || joins) last[*id] = last[reader];
  }
  IdVector<OpId, std::vector<OpId>> members(subgraph.ops.size());
  for (const OpId id : order) members[last[id]].push_back(id);
  IdVector<OpId, Op> kept;
  for (const OpId id : order) {
    if (last[id] != id) continue;
    Op op = subgraph.ops[id];
    if (members[id].size() > 1) {
      op.inputs = InputsOf(subgraph, members[id]);
      // No kernel has this: it must not be taken for one operator of its chain.
      if (op.domain != "neap") {
        op.domain = "node";
        op.type = "NODE";
        op.attributes.clear();
      }
    }
    op.source_index = static_cast<std::int32_t>(kept.size());
    kept.push_back(std::move(op));
  }
  subgraph.ops = std::move(kept);
  return nodes;
}

}  // namespace neap::bench
