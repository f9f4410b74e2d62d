// SPDX-License-Identifier: Apache-2.0
#include "neap/compile/lower.h"

#include <algorithm>
#include <utility>

#include "neap/base/bytes.h"
#include "neap/base/topological_order.h"
#include "neap/ops/traits.h"

namespace neap::compile {
namespace {

using graph::Op;
using graph::OpId;
using graph::Subgraph;
using graph::TensorId;

// Everything that must run before an operator, folded operators looked through: a constant computed
// from the shape of an activation still waits for that activation.
class Precedences {
 public:
  explicit Precedences(const Subgraph& subgraph)
      : subgraph_(subgraph), producer_(graph::Producers(subgraph)) {}

  // (before, after) pairs between operators that are not folded; may repeat.
  std::vector<std::pair<OpId, OpId>> All() const {
    std::vector<std::pair<OpId, OpId>> pairs;
    for (const OpId id : subgraph_.ops.Ids()) {
      const Op& op = subgraph_.ops[id];
      if (op.folded) continue;
      for (const auto* list : {&op.inputs, &op.captures}) {
        for (const TensorId tensor : *list) {
          if (!tensor.valid() || !producer_[tensor].valid()) continue;
          if (!subgraph_.ops[producer_[tensor]].folded) pairs.emplace_back(producer_[tensor], id);
        }
      }
    }
    // File readers have added an edge from the producers of a folded operator's inputs to the
    // consumers of its result.
    for (const graph::ControlEdge& edge : subgraph_.control_edges) {
      if (subgraph_.ops[edge.before].folded || subgraph_.ops[edge.after].folded) continue;
      pairs.emplace_back(edge.before, edge.after);
    }
    return pairs;
  }

 private:
  const Subgraph& subgraph_;
  IdVector<TensorId, OpId> producer_;
};

}  // namespace

bool IsPlanned(const graph::Tensor& tensor) { return !tensor.constant && !tensor.variable; }

Result<TensorSizes> SizesOf(const Subgraph& subgraph, const plan::Profile& profile) {
  TensorSizes sizes;
  sizes.exact.resize(subgraph.tensors.size());
  sizes.counted.resize(subgraph.tensors.size());
  IdVector<TensorId, char> seen(subgraph.tensors.size(), 0);
  std::int64_t total = 0;
  const auto measure = [&](TensorId id) -> Status {
    if (!id.valid() || seen[id] != 0) return {};
    seen[id] = 1;
    const graph::Tensor& tensor = subgraph.tensors[id];
    if (!IsPlanned(tensor)) return {};
    auto bytes = graph::TensorBytes(tensor);
    if (!bytes) {
      bytes.error().tensor = graph::Describe(id, tensor);
      return Fail(std::move(bytes).error());
    }
    sizes.exact[id] = *bytes;
    sizes.counted[id] = AlignUp(*bytes, profile.alignment);
    const auto sum = CheckedAdd(total, sizes.counted[id]);
    if (!sum || *sum > kMaxBytes / 4) {
      return Fail(BadInput("the sizes of all tensors together do not fit in 60 bits"));
    }
    total = *sum;
    return {};
  };
  for (const TensorId id : subgraph.inputs) NEAP_CHECK_OK(measure(id));
  for (const OpId op_id : subgraph.ops.Ids()) {
    const Op& op = subgraph.ops[op_id];
    if (op.folded) continue;
    for (const auto* list : {&op.inputs, &op.captures, &op.outputs}) {
      for (const TensorId id : *list) {
        auto status = measure(id);
        if (!status) {
          status.error().op = graph::Describe(op_id, op);
          return Fail(std::move(status).error());
        }
      }
    }
  }
  for (const TensorId id : subgraph.outputs) NEAP_CHECK_OK(measure(id));
  return sizes;
}

Lowered LowerOrder(const Subgraph& subgraph, const TensorSizes& sizes,
                   const IdVector<OpId, std::int64_t>& scratch_bytes,
                   const plan::Profile& profile) {
  Lowered lowered;
  schedule::Problem& problem = lowered.problem;
  IdVector<OpId, schedule::OpIndex> index_of(subgraph.ops.size(), -1);
  for (const OpId id : subgraph.ops.Ids()) {
    if (subgraph.ops[id].folded) continue;
    index_of[id] = static_cast<schedule::OpIndex>(lowered.ops.size());
    lowered.ops.push_back(id);
  }
  problem.num_ops = static_cast<schedule::OpIndex>(lowered.ops.size());
  for (const auto& [before, after] : Precedences(subgraph).All()) {
    problem.precedences.emplace_back(index_of[before], index_of[after]);
  }
  // Users of every tensor: its writer and its readers.
  IdVector<TensorId, std::vector<schedule::OpIndex>> users(subgraph.tensors.size());
  IdVector<TensorId, char> written(subgraph.tensors.size(), 0);
  bool any_scratch = false;
  for (const OpId id : lowered.ops) {
    const Op& op = subgraph.ops[id];
    for (const auto* list : {&op.inputs, &op.captures, &op.outputs}) {
      for (const TensorId tensor : *list) {
        if (!tensor.valid() || !IsPlanned(subgraph.tensors[tensor])) continue;
        auto& list_of = users[tensor];
        if (list_of.empty() || list_of.back() != index_of[id]) list_of.push_back(index_of[id]);
        if (list == &op.outputs) written[tensor] = 1;
      }
    }
    problem.scratch_bytes.push_back(scratch_bytes[id]);
    any_scratch = any_scratch || scratch_bytes[id] > 0;
  }
  if (!any_scratch) problem.scratch_bytes.clear();
  IdVector<TensorId, char> pinned(subgraph.tensors.size(), 0);
  for (const TensorId id : subgraph.outputs) pinned[id] = 1;
  IdVector<TensorId, schedule::BufferIndex> buffer_of(subgraph.tensors.size(), -1);
  for (const TensorId id : subgraph.tensors.Ids()) {
    if (!IsPlanned(subgraph.tensors[id])) continue;
    // A tensor without a producer has a value from the start: it counts as an input.
    const bool at_start = written[id] == 0;
    if (users[id].empty() && !(at_start && pinned[id] != 0)) continue;
    std::sort(users[id].begin(), users[id].end());
    buffer_of[id] = static_cast<schedule::BufferIndex>(problem.buffers.size());
    problem.buffers.push_back({sizes.counted[id], users[id], at_start, pinned[id] != 0});
    lowered.tensors.push_back(id);
  }
  if (!profile.in_place) return lowered;
  for (const OpId id : lowered.ops) {
    const Op& op = subgraph.ops[id];
    if (!ops::WritesOverFirstInput(subgraph, op)) continue;
    if (op.inputs.empty() || op.outputs.empty() || !op.bodies.empty()) continue;
    const TensorId input = op.inputs.front();
    const TensorId output = op.outputs.front();
    if (!input.valid() || !output.valid() || buffer_of[input] < 0 || buffer_of[output] < 0)
      continue;
    if (pinned[input] != 0 || sizes.exact[input] != sizes.exact[output]) continue;
    problem.in_place.push_back({index_of[id], buffer_of[input], buffer_of[output]});
  }
  return lowered;
}

std::vector<std::pair<OpId, OpId>> PrecedencesOf(const Subgraph& subgraph) {
  return Precedences(subgraph).All();
}

bool IsOnlyOrder(const Subgraph& subgraph, const std::vector<OpId>& order) {
  std::vector<std::pair<OpId, OpId>> pairs = PrecedencesOf(subgraph);
  std::sort(pairs.begin(), pairs.end());
  for (std::size_t at = 1; at < order.size(); ++at) {
    if (!std::binary_search(pairs.begin(), pairs.end(), std::pair(order[at - 1], order[at]))) {
      return false;
    }
  }
  return true;
}

std::vector<OpId> FileOrderOf(const Subgraph& subgraph) {
  IdVector<OpId, std::vector<OpId>> successors(subgraph.ops.size());
  for (const auto& [before, after] : Precedences(subgraph).All()) {
    successors[before].push_back(after);
  }
  std::vector<OpId> order = TopologicalOrder(successors.Items());
  std::erase_if(order, [&](OpId id) { return subgraph.ops[id].folded; });
  return order;
}

}  // namespace neap::compile
