// SPDX-License-Identifier: Apache-2.0
#include "neap/graph/graph.h"

#include <algorithm>
#include <utility>

#include "neap/base/bytes.h"

namespace neap::graph {
namespace {

Diagnostic In(const Subgraph& subgraph, OpId id, Diagnostic diagnostic) {
  return AtOp(std::move(diagnostic), id, subgraph.ops[id]);
}

Diagnostic In(const Subgraph& subgraph, TensorId id, Diagnostic diagnostic) {
  if (!subgraph.tensors.Has(id)) return diagnostic;
  return AtTensor(std::move(diagnostic), id, subgraph.tensors[id]);
}

// Ids in range, producers unique.
Status VerifyReferences(const Graph& graph, const Subgraph& subgraph) {
  IdVector<TensorId, OpId> producer(subgraph.tensors.size());
  for (const OpId id : subgraph.ops.Ids()) {
    const Op& op = subgraph.ops[id];
    for (const auto* list : {&op.inputs, &op.outputs, &op.captures}) {
      for (const TensorId tensor : *list) {
        if (tensor.valid() && !subgraph.tensors.Has(tensor)) {
          return Fail(In(subgraph, id,
                         BadInput("refers to tensor " + std::to_string(tensor.value()) +
                                  ", but there are " + std::to_string(subgraph.tensors.size()))));
        }
      }
    }
    for (const TensorId tensor : op.outputs) {
      if (!tensor.valid()) continue;
      if (producer[tensor].valid()) {
        return Fail(In(subgraph, tensor,
                       In(subgraph, id,
                          BadInput("is an output here and already of operator " +
                                   Describe(producer[tensor], subgraph.ops[producer[tensor]])))));
      }
      producer[tensor] = id;
      if (subgraph.tensors[tensor].constant && !op.folded) {
        return Fail(
            In(subgraph, tensor,
               In(subgraph, id,
                  BadInput("is a constant, expected a tensor that an operator may write"))));
      }
    }
    if (op.scratch_bytes < 0 || op.scratch_bytes > kMaxBytes) {
      return Fail(In(subgraph, id, BadInput("has a scratch size out of range")));
    }
    for (const SubgraphId body : op.bodies) {
      if (!graph.subgraphs.Has(body)) {
        return Fail(In(subgraph, id,
                       BadInput("calls subgraph " + std::to_string(body.value()) +
                                ", but there are " + std::to_string(graph.subgraphs.size()))));
      }
    }
  }
  for (const auto* list : {&subgraph.inputs, &subgraph.outputs}) {
    for (const TensorId tensor : *list) {
      if (!subgraph.tensors.Has(tensor)) {
        return Fail(BadInput("graph input or output refers to tensor " +
                             std::to_string(tensor.value()) + ", but there are " +
                             std::to_string(subgraph.tensors.size())));
      }
    }
  }
  for (const TensorId tensor : subgraph.inputs) {
    if (producer[tensor].valid() && !subgraph.tensors[tensor].constant) {
      return Fail(In(subgraph, tensor,
                     BadInput("is a graph input but is written by operator " +
                              Describe(producer[tensor], subgraph.ops[producer[tensor]]))));
    }
  }
  for (const ControlEdge& edge : subgraph.control_edges) {
    if (!subgraph.ops.Has(edge.before) || !subgraph.ops.Has(edge.after)) {
      return Fail(BadInput("a control dependency refers to an operator that does not exist"));
    }
  }
  return {};
}

Status VerifyAcyclic(const Subgraph& subgraph) {
  const auto producer = Producers(subgraph);
  IdVector<OpId, std::vector<OpId>> successors(subgraph.ops.size());
  IdVector<OpId, int> missing(subgraph.ops.size());
  const auto add = [&](OpId before, OpId after) {
    successors[before].push_back(after);
    ++missing[after];
  };
  for (const OpId id : subgraph.ops.Ids()) {
    const Op& op = subgraph.ops[id];
    for (const auto* list : {&op.inputs, &op.captures}) {
      for (const TensorId tensor : *list) {
        if (tensor.valid() && producer[tensor].valid()) add(producer[tensor], id);
      }
    }
  }
  for (const ControlEdge& edge : subgraph.control_edges) add(edge.before, edge.after);
  std::vector<OpId> ready;
  for (const OpId id : subgraph.ops.Ids()) {
    if (missing[id] == 0) ready.push_back(id);
  }
  std::size_t done = 0;
  while (!ready.empty()) {
    const OpId id = ready.back();
    ready.pop_back();
    ++done;
    for (const OpId next : successors[id]) {
      if (--missing[next] == 0) ready.push_back(next);
    }
  }
  if (done == subgraph.ops.size()) return {};
  for (const OpId id : subgraph.ops.Ids()) {
    if (missing[id] > 0) {
      return Fail(In(subgraph, id, BadInput("depends on its own output: the graph has a cycle")));
    }
  }
  return {};
}

// A body that contains itself would run for ever.
Status VerifyCalls(const Graph& graph) {
  enum class Mark : char { kNew, kOpen, kDone };
  IdVector<SubgraphId, Mark> mark(graph.subgraphs.size(), Mark::kNew);
  struct Frame {
    SubgraphId id;
    std::size_t op;
    std::size_t body;
  };
  for (const SubgraphId root : graph.subgraphs.Ids()) {
    if (mark[root] != Mark::kNew) continue;
    std::vector<Frame> stack = {{root, 0, 0}};
    mark[root] = Mark::kOpen;
    while (!stack.empty()) {
      Frame& top = stack.back();
      const auto& ops = graph.subgraphs[top.id].ops;
      if (top.op == ops.size()) {
        mark[top.id] = Mark::kDone;
        stack.pop_back();
        continue;
      }
      const Op& op = ops[OpId(top.op)];
      if (top.body == op.bodies.size()) {
        ++top.op;
        top.body = 0;
        continue;
      }
      const SubgraphId next = op.bodies[top.body++];
      if (mark[next] == Mark::kOpen) {
        return Fail(In(graph.subgraphs[top.id], OpId(top.op),
                       BadInput("calls subgraph " + std::to_string(next.value()) +
                                ", which contains this operator")));
      }
      if (mark[next] == Mark::kNew) {
        mark[next] = Mark::kOpen;
        stack.push_back({next, 0, 0});
      }
    }
  }
  return {};
}

}  // namespace

Result<std::int64_t> TensorBytes(const Tensor& tensor) {
  const int bits = BitsOf(tensor.type);
  if (bits == 0) {
    return Fail(MissingSize("has element type " + std::string(NameOf(tensor.type)) +
                            ", whose size is not known before it runs"));
  }
  if (!tensor.shape) return Fail(MissingSize("has no shape"));
  std::int64_t elements = 1;
  bool overflow = false;
  for (std::size_t i = 0; i < tensor.shape->size(); ++i) {
    const std::int64_t dimension = (*tensor.shape)[i];
    if (dimension < 0) {
      const bool named = i < tensor.symbols.size() && !tensor.symbols[i].empty();
      Diagnostic missing =
          MissingSize("dimension " + std::to_string(i) + " is " +
                      (named ? "the symbol '" + tensor.symbols[i] + "'" : std::string("unknown")));
      if (named) missing.hint = "bind the dimension '" + tensor.symbols[i] + "' to a number";
      return Fail(std::move(missing));
    }
    const auto product = CheckedMultiply(elements, dimension);
    // A zero further on makes the product zero in every case.
    if (!product) overflow = true;
    elements = dimension == 0 ? 0 : product.value_or(1);
    if (dimension == 0) return 0;
  }
  const auto total_bits = CheckedMultiply(elements, bits);
  if (overflow || !total_bits || *total_bits / 8 >= kMaxBytes / 2) {
    return Fail(BadInput("is too large: its size in bytes does not fit in 61 bits"));
  }
  return (*total_bits + 7) / 8;
}

std::string Describe(TensorId id, const Tensor& tensor) {
  std::string out = "#" + std::to_string(id.value());
  if (!tensor.name.empty()) out += " '" + tensor.name + "'";
  return out;
}

std::string Describe(OpId id, const Op& op) {
  std::string out = "#" + std::to_string(op.source_index >= 0 ? op.source_index : id.value()) +
                    " '" + op.type + "'";
  if (!op.name.empty()) out += " (" + op.name + ")";
  return out;
}

Diagnostic AtTensor(Diagnostic diagnostic, TensorId id, const Tensor& tensor) {
  if (diagnostic.tensor.empty()) diagnostic.tensor = Describe(id, tensor);
  return diagnostic;
}

Diagnostic AtOp(Diagnostic diagnostic, OpId id, const Op& op) {
  if (diagnostic.op.empty()) diagnostic.op = Describe(id, op);
  return diagnostic;
}

Status Verify(const Graph& graph) {
  for (const SubgraphId id : graph.subgraphs.Ids()) {
    const Subgraph& subgraph = graph.subgraphs[id];
    NEAP_CHECK_OK(VerifyReferences(graph, subgraph));
    NEAP_CHECK_OK(VerifyAcyclic(subgraph));
  }
  for (const Signature& signature : graph.signatures) {
    if (!graph.subgraphs.Has(signature.subgraph)) {
      return Fail(BadInput("signature '" + signature.key + "' refers to a subgraph out of range"));
    }
  }
  return VerifyCalls(graph);
}

IdVector<TensorId, OpId> Producers(const Subgraph& subgraph) {
  IdVector<TensorId, OpId> producer(subgraph.tensors.size());
  for (const OpId id : subgraph.ops.Ids()) {
    for (const TensorId tensor : subgraph.ops[id].outputs) {
      if (tensor.valid()) producer[tensor] = id;
    }
  }
  return producer;
}

std::vector<SubgraphId> EntrySubgraphs(const Graph& graph) {
  IdVector<SubgraphId, char> called(graph.subgraphs.size(), 0);
  IdVector<SubgraphId, char> entry(graph.subgraphs.size(), 0);
  for (const Subgraph& subgraph : graph.subgraphs) {
    for (const Op& op : subgraph.ops) {
      for (const SubgraphId body : op.bodies) called[body] = 1;
    }
  }
  for (const Signature& signature : graph.signatures) entry[signature.subgraph] = 1;
  std::vector<SubgraphId> entries;
  for (const SubgraphId id : graph.subgraphs.Ids()) {
    if (id.value() == 0 || entry[id] != 0 || called[id] == 0) entries.push_back(id);
  }
  return entries;
}

}  // namespace neap::graph
