// SPDX-License-Identifier: Apache-2.0
#include "neap/formats/onnx/order.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <string>

namespace neap::formats::onnx {
namespace {

using graph::Op;
using graph::OpId;
using graph::Subgraph;
using graph::TensorId;

constexpr std::size_t kMaxSources = std::size_t{1} << 22;

template <typename Visit>
void ForEachRead(const Op& op, Visit visit) {
  for (const auto* list : {&op.inputs, &op.captures}) {
    for (const TensorId tensor : *list) {
      if (tensor.valid()) visit(tensor);
    }
  }
}

void SortUnique(std::vector<OpId>* ids) {
  std::sort(ids->begin(), ids->end());
  ids->erase(std::unique(ids->begin(), ids->end()), ids->end());
}

// The operators that make what each operator reads, each once.
IdVector<OpId, std::vector<OpId>> Predecessors(const Subgraph& subgraph) {
  const auto producer = graph::Producers(subgraph);
  IdVector<OpId, std::vector<OpId>> predecessors(subgraph.ops.size());
  for (const OpId id : subgraph.ops.Ids()) {
    ForEachRead(subgraph.ops[id], [&](TensorId tensor) {
      if (producer[tensor].valid()) predecessors[id].push_back(producer[tensor]);
    });
    SortUnique(&predecessors[id]);
  }
  return predecessors;
}

// Folded operators with those that they read first; those of a cycle are left out.
std::vector<OpId> FoldedInOrder(const Subgraph& subgraph,
                                const IdVector<OpId, std::vector<OpId>>& predecessors) {
  IdVector<OpId, std::vector<OpId>> successors(subgraph.ops.size());
  IdVector<OpId, int> missing(subgraph.ops.size());
  std::vector<OpId> order;
  for (const OpId id : subgraph.ops.Ids()) {
    if (!subgraph.ops[id].folded) continue;
    for (const OpId before : predecessors[id]) {
      if (!subgraph.ops[before].folded) continue;
      successors[before].push_back(id);
      ++missing[id];
    }
    if (missing[id] == 0) order.push_back(id);
  }
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (const OpId next : successors[order[i]]) {
      if (--missing[next] == 0) order.push_back(next);
    }
  }
  return order;
}

Diagnostic BadOrder(const Subgraph& subgraph, OpId id, std::string message) {
  Diagnostic error = UsageError(std::move(message));
  if (subgraph.ops.Has(id)) error.op = graph::Describe(id, subgraph.ops[id]);
  return error;
}

// The operators of `steps` that are not folded; every such operator must be there once.
Result<std::vector<OpId>> StepsOnly(const Subgraph& subgraph, const std::vector<OpId>& steps) {
  IdVector<OpId, char> seen(subgraph.ops.size(), 0);
  std::vector<OpId> out;
  for (const OpId id : steps) {
    if (!subgraph.ops.Has(id)) {
      return Fail(BadOrder(subgraph, id,
                           "an order names operator " + std::to_string(id.value()) +
                               ", but there are " + std::to_string(subgraph.ops.size())));
    }
    if (seen[id] != 0) return Fail(BadOrder(subgraph, id, "comes twice in an order"));
    seen[id] = 1;
    if (!subgraph.ops[id].folded) out.push_back(id);
  }
  for (const OpId id : subgraph.ops.Ids()) {
    if (!subgraph.ops[id].folded && seen[id] == 0) {
      return Fail(BadOrder(subgraph, id, "is missing in an order"));
    }
  }
  return out;
}

}  // namespace

Status AddControlEdges(Subgraph* subgraph) {
  const auto predecessors = Predecessors(*subgraph);
  IdVector<OpId, std::vector<OpId>> sources(subgraph->ops.size());
  std::size_t total = 0;
  const auto too_many = [&](OpId id) {
    Diagnostic error =
        BadInput("too many operators depend on shape arithmetic over too many others");
    error.op = graph::Describe(id, subgraph->ops[id]);
    return Fail(std::move(error));
  };
  for (const OpId id : FoldedInOrder(*subgraph, predecessors)) {
    for (const OpId before : predecessors[id]) {
      if (!subgraph->ops[before].folded) {
        sources[id].push_back(before);
      } else {
        sources[id].insert(sources[id].end(), sources[before].begin(), sources[before].end());
      }
      if (sources[id].size() > kMaxSources) return too_many(id);
    }
    SortUnique(&sources[id]);
    total += sources[id].size();
    if (total > kMaxSources) return too_many(id);
  }
  for (const OpId id : subgraph->ops.Ids()) {
    if (subgraph->ops[id].folded) continue;
    std::vector<OpId> before;
    for (const OpId folded : predecessors[id]) {
      before.insert(before.end(), sources[folded].begin(), sources[folded].end());
      if (before.size() > kMaxSources) return too_many(id);
    }
    SortUnique(&before);
    for (const OpId source : before) {
      // A tensor shows the same already where the operator reads the source itself.
      if (std::binary_search(predecessors[id].begin(), predecessors[id].end(), source)) continue;
      subgraph->control_edges.push_back({source, id});
    }
    if (subgraph->control_edges.size() > kMaxSources) return too_many(id);
  }
  return {};
}

Result<std::vector<OpId>> FileOrder(const Subgraph& subgraph, const std::vector<OpId>& steps) {
  NEAP_TRY(const std::vector<OpId> kept, StepsOnly(subgraph, steps));
  std::vector<OpId> order;
  // No change is requested: the file keeps its order.
  if (std::is_sorted(kept.begin(), kept.end())) {
    for (const OpId id : subgraph.ops.Ids()) order.push_back(id);
    return order;
  }
  const auto predecessors = Predecessors(subgraph);
  IdVector<OpId, std::vector<OpId>> successors(subgraph.ops.size());
  IdVector<OpId, std::size_t> missing(subgraph.ops.size());
  std::priority_queue<OpId, std::vector<OpId>, std::greater<>> ready;
  for (const OpId id : subgraph.ops.Ids()) {
    for (const OpId before : predecessors[id]) successors[before].push_back(id);
    missing[id] = predecessors[id].size();
    if (missing[id] == 0 && subgraph.ops[id].folded) ready.push(id);
  }
  const auto put = [&](OpId id) {
    order.push_back(id);
    for (const OpId next : successors[id]) {
      if (--missing[next] == 0 && subgraph.ops[next].folded) ready.push(next);
    }
  };
  const auto put_ready = [&] {
    while (!ready.empty()) {
      const OpId id = ready.top();
      ready.pop();
      put(id);
    }
  };
  put_ready();
  for (const OpId id : kept) {
    if (missing[id] != 0) {
      return Fail(BadOrder(subgraph, id, "comes before a producer of its inputs in an order"));
    }
    put(id);
    put_ready();
  }
  if (order.size() == subgraph.ops.size()) return order;
  return Fail(UsageError("an order leaves out operators that are computed from constants"));
}

}  // namespace neap::formats::onnx
