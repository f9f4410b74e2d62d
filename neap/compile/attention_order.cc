// SPDX-License-Identifier: Apache-2.0
#include "neap/compile/attention_order.h"

#include <algorithm>
#include <cstddef>
#include <limits>

#include "neap/ops/op_table.h"

namespace neap::compile {
namespace {

using graph::Op;
using graph::OpId;
using graph::Subgraph;
using graph::TensorId;
using ops::OpKind;

constexpr std::size_t kNowhere = std::numeric_limits<std::size_t>::max();

bool IsActivation(const Subgraph& subgraph, const Op& op, std::size_t input) {
  return input < op.inputs.size() && op.inputs[input].valid() &&
         !subgraph.tensors[op.inputs[input]].constant;
}

bool IsProduct(const Subgraph& subgraph, const Op& op) {
  return ops::Is(op, OpKind::kBatchMatmul, OpKind::kOnnxMatMul, OpKind::kOnnxGemm) &&
         IsActivation(subgraph, op, 0) && IsActivation(subgraph, op, 1);
}

}  // namespace

std::vector<OpId> SecondMatricesFirst(const Subgraph& subgraph, const std::vector<OpId>& order) {
  const bool any = std::any_of(order.begin(), order.end(),
                               [&](OpId id) { return IsProduct(subgraph, subgraph.ops[id]); });
  if (!any || !subgraph.control_edges.empty()) return order;
  IdVector<OpId, std::size_t> place(subgraph.ops.size(), kNowhere);
  for (std::size_t at = 0; at < order.size(); ++at) place[order[at]] = at;
  const auto producers = graph::Producers(subgraph);
  // The operators that must come first, those that come first in the result last.
  const auto before = [&](OpId id) {
    const Op& op = subgraph.ops[id];
    const bool product = IsProduct(subgraph, op);
    std::vector<OpId> found;
    OpId second;
    for (const auto* list : {&op.inputs, &op.captures}) {
      for (const TensorId tensor : *list) {
        const OpId from = tensor.valid() ? producers[tensor] : OpId();
        if (!from.valid() || place[from] == kNowhere) continue;
        if (product && tensor == op.inputs[1]) second = from;
        found.push_back(from);
      }
    }
    std::sort(found.begin(), found.end(), [&](OpId a, OpId b) { return place[a] > place[b]; });
    if (second.valid()) found.push_back(second);
    return found;
  };
  std::vector<OpId> result;
  IdVector<OpId, bool> open(subgraph.ops.size(), false);
  IdVector<OpId, bool> done(subgraph.ops.size(), false);
  // From operators without consumers: all others lead to them.
  IdVector<OpId, bool> used(subgraph.ops.size(), false);
  for (const OpId id : order) {
    for (const OpId from : before(id)) used[from] = true;
  }
  std::vector<OpId> stack;
  for (std::size_t at = order.size(); at-- > 0;) {
    if (!used[order[at]]) stack.push_back(order[at]);
  }
  while (!stack.empty()) {
    const OpId id = stack.back();
    if (done[id]) {
      stack.pop_back();
      continue;
    }
    if (open[id]) {
      done[id] = true;
      result.push_back(id);
      stack.pop_back();
      continue;
    }
    open[id] = true;
    for (const OpId from : before(id)) {
      if (!done[from]) stack.push_back(from);
    }
  }
  return result;
}

}  // namespace neap::compile
