// SPDX-License-Identifier: Apache-2.0
#include "neap/check/bound_model.h"

#include <algorithm>
#include <cstddef>

#include "neap/base/bytes.h"
#include "neap/check/replay.h"
#include "neap/ops/traits.h"

namespace neap::check {
namespace {

using graph::Op;
using graph::OpId;
using graph::TensorId;

void SortUnique(std::vector<std::int32_t>* list) {
  std::sort(list->begin(), list->end());
  list->erase(std::unique(list->begin(), list->end()), list->end());
}

// Direct predecessors among operators that run, folded ones looked through.
std::vector<std::vector<std::int32_t>> PredecessorsOf(const graph::Subgraph& subgraph) {
  std::vector<std::vector<std::int32_t>> direct(subgraph.ops.size());
  std::vector<std::vector<std::int32_t>> successors(subgraph.ops.size());
  std::vector<std::int32_t> missing(subgraph.ops.size(), 0);
  for (const auto& [before, after] : Dependencies(subgraph)) {
    direct[after.index()].push_back(before.value());
    successors[before.index()].push_back(after.value());
    ++missing[after.index()];
  }
  // In topological order, so that the predecessors of a folded operator are known before they are
  // used.
  std::vector<std::int32_t> ready;
  for (std::size_t op = 0; op < missing.size(); ++op) {
    if (missing[op] == 0) ready.push_back(static_cast<std::int32_t>(op));
  }
  std::vector<std::vector<std::int32_t>> settled(subgraph.ops.size());
  for (std::size_t at = 0; at < ready.size(); ++at) {
    const auto op = static_cast<std::size_t>(ready[at]);
    for (const std::int32_t before : direct[op]) {
      if (subgraph.ops[OpId(before)].folded) {
        const auto& through = settled[static_cast<std::size_t>(before)];
        settled[op].insert(settled[op].end(), through.begin(), through.end());
      } else {
        settled[op].push_back(before);
      }
    }
    SortUnique(&settled[op]);
    for (const std::int32_t next : successors[op]) {
      if (--missing[static_cast<std::size_t>(next)] == 0) ready.push_back(next);
    }
  }
  for (const OpId op : subgraph.ops.Ids()) {
    if (subgraph.ops[op].folded) settled[op.index()].clear();
  }
  return settled;
}

}  // namespace

BoundModel::BoundModel(const graph::Subgraph& subgraph, const plan::Profile& profile)
    : num_ops(static_cast<std::int32_t>(subgraph.ops.size())),
      runs(subgraph.ops.size(), 0),
      values(subgraph.tensors.size()),
      values_of(subgraph.ops.size()),
      predecessors(PredecessorsOf(subgraph)),
      successors(subgraph.ops.size()),
      scratch(subgraph.ops.size(), 0),
      in_place(subgraph.ops.size(), {-1, -1}) {
  std::vector<char> written(subgraph.tensors.size(), 0);
  for (const OpId id : subgraph.ops.Ids()) {
    const Op& op = subgraph.ops[id];
    if (op.folded) continue;
    runs[id.index()] = 1;
    any_bodies = any_bodies || !op.bodies.empty();
    scratch[id.index()] = AlignUp(op.scratch_bytes, profile.alignment);
    for (const auto* list : {&op.inputs, &op.captures, &op.outputs}) {
      for (const TensorId tensor : *list) {
        if (!tensor.valid()) continue;
        const graph::Tensor& value = subgraph.tensors[tensor];
        if (value.constant || value.variable) continue;
        values[tensor.index()].users.push_back(id.value());
        if (list == &op.outputs) written[tensor.index()] = 1;
      }
    }
  }
  for (const TensorId tensor : subgraph.outputs) values[tensor.index()].at_end = true;
  for (const TensorId id : subgraph.tensors.Ids()) {
    Value& value = values[id.index()];
    SortUnique(&value.users);
    value.at_start = written[id.index()] == 0;
    const graph::Tensor& tensor = subgraph.tensors[id];
    if (tensor.constant || tensor.variable) continue;
    if (value.users.empty() && !value.at_end) continue;
    value.bytes = AlignUp(graph::TensorBytes(tensor).value_or(0), profile.alignment);
    for (const std::int32_t op : value.users) {
      values_of[static_cast<std::size_t>(op)].push_back(id.value());
    }
  }
  for (std::int32_t op = 0; op < num_ops; ++op) {
    for (const std::int32_t before : predecessors[static_cast<std::size_t>(op)]) {
      successors[static_cast<std::size_t>(before)].push_back(op);
    }
  }
  if (!profile.in_place) return;
  for (const OpId id : subgraph.ops.Ids()) {
    const Op& op = subgraph.ops[id];
    if (op.folded || !op.bodies.empty() || op.inputs.empty() || op.outputs.empty()) continue;
    if (!ops::WritesOverFirstInput(subgraph, op)) continue;
    const TensorId input = op.inputs.front();
    const TensorId output = op.outputs.front();
    if (!input.valid() || !output.valid()) continue;
    const Value& from = values[input.index()];
    const Value& to = values[output.index()];
    if (from.users.empty() || to.users.empty() || from.at_end) continue;
    // The exact bytes: two sizes may be one when they are rounded.
    const auto exact = [&](TensorId tensor) {
      return graph::TensorBytes(subgraph.tensors[tensor]).value_or(0);
    };
    if (exact(input) != exact(output)) continue;
    in_place[id.index()] = {input.value(), output.value()};
  }
}

bool BoundModel::IsDirect(std::int32_t before, std::int32_t after) const {
  const auto& list = predecessors[static_cast<std::size_t>(after)];
  return std::binary_search(list.begin(), list.end(), before);
}

}  // namespace neap::check
