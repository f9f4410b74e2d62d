// SPDX-License-Identifier: Apache-2.0
#include "neap/execute/program.h"

#include <functional>
#include <queue>
#include <string>
#include <utility>

#include "neap/execute/loops/strided.h"

namespace neap::execute {
namespace {

using graph::OpId;
using graph::TensorId;

Diagnostic AtOp(Diagnostic error, OpId id, const graph::Op& op) {
  if (error.op.empty()) error.op = graph::Describe(id, op);
  return error;
}

Diagnostic AtTensor(Diagnostic error, TensorId id, const graph::Tensor& tensor) {
  if (error.tensor.empty()) error.tensor = graph::Describe(id, tensor);
  return error;
}

// What each operator waits for: producers of what it reads, control edges, and among operators
// with state the one before it.
std::vector<std::pair<OpId, OpId>> EdgesOf(const graph::Subgraph& subgraph) {
  const auto producers = graph::Producers(subgraph);
  std::vector<std::pair<OpId, OpId>> edges;
  OpId last_stateful;
  for (const OpId id : subgraph.ops.Ids()) {
    const graph::Op& op = subgraph.ops[id];
    for (const auto* list : {&op.inputs, &op.captures}) {
      for (const TensorId tensor : *list) {
        if (tensor.valid() && producers[tensor].valid()) edges.emplace_back(producers[tensor], id);
      }
    }
    if (op.stateful && !op.folded) {
      if (last_stateful.valid()) edges.emplace_back(last_stateful, id);
      last_stateful = id;
    }
  }
  for (const graph::ControlEdge& edge : subgraph.control_edges) {
    edges.emplace_back(edge.before, edge.after);
  }
  return edges;
}

}  // namespace

Result<Program> Program::Prepare(const graph::Graph& graph, graph::SubgraphId subgraph,
                                 Kernels kernels, std::int64_t max_memory_bytes) {
  Program program;
  program.subgraph_ = &graph.subgraphs[subgraph];
  NEAP_CHECK_OK(program.PrepareSizes(max_memory_bytes));
  NEAP_CHECK_OK(program.PrepareOrder());
  NEAP_CHECK_OK(program.PrepareOps(kernels, max_memory_bytes));
  return program;
}

Status Program::PrepareSizes(std::int64_t max_memory_bytes) {
  bytes_ = IdVector<TensorId, std::int64_t>(subgraph_->tensors.size(), 0);
  constants_ = IdVector<TensorId, std::span<const std::byte>>(subgraph_->tensors.size());
  IdVector<TensorId, bool> used(subgraph_->tensors.size(), false);
  const auto use = [&](const std::vector<TensorId>& tensors) {
    for (const TensorId tensor : tensors) {
      if (tensor.valid()) used[tensor] = true;
    }
  };
  for (const graph::Op& op : subgraph_->ops) {
    use(op.inputs);
    use(op.outputs);
  }
  use(subgraph_->inputs);
  use(subgraph_->outputs);
  for (const TensorId id : subgraph_->tensors.Ids()) {
    if (!used[id]) continue;
    const graph::Tensor& tensor = subgraph_->tensors[id];
    auto bytes = graph::TensorBytes(tensor);
    if (!bytes) return Fail(AtTensor(std::move(bytes).error(), id, tensor));
    // Kernels may keep eight bytes for each element of a dimension.
    if (*bytes > max_memory_bytes / 8) {
      return Fail(
          AtTensor(BadInput("is too large to be run with the memory that is allowed"), id, tensor));
    }
    bytes_[id] = *bytes;
    if (tensor.data) constants_[id] = tensor.data->bytes;
  }
  return {};
}

Status Program::PrepareOrder() {
  const std::size_t count = subgraph_->ops.size();
  std::vector<std::int32_t> waits(count, 0);
  std::vector<std::vector<OpId>> followers(count);
  for (const auto& [before, after] : EdgesOf(*subgraph_)) {
    ++waits[after.index()];
    followers[before.index()].push_back(after);
  }
  std::priority_queue<OpId, std::vector<OpId>, std::greater<>> ready;
  for (const OpId id : subgraph_->ops.Ids()) {
    if (waits[id.index()] == 0) ready.push(id);
  }
  while (!ready.empty()) {
    const OpId id = ready.top();
    ready.pop();
    (subgraph_->ops[id].folded ? folded_order_ : order_).push_back(id);
    for (const OpId next : followers[id.index()]) {
      if (--waits[next.index()] == 0) ready.push(next);
    }
  }
  return Require(order_.size() + folded_order_.size() == count,
                 "the operators wait for each other in a circle");
}

Result<Node> Program::NodeOf(const graph::Op& op, Kernels kernels) const {
  Node node;
  node.op = &op;
  node.kernels = kernels;
  const auto operand_of = [&](TensorId id, bool input) -> Result<Operand> {
    Operand operand;
    if (!id.valid()) return operand;
    const graph::Tensor& tensor = subgraph_->tensors[id];
    operand.present = true;
    operand.type = tensor.type;
    operand.shape = *tensor.shape;
    operand.elements = Elements(operand.shape);
    operand.bytes = bytes_[id];
    if (tensor.quantization && !tensor.quantization->scales.empty()) {
      operand.quantization = &*tensor.quantization;
    }
    operand.constant = tensor.constant;
    operand.data = constants_[id];
    const bool due = input ? tensor.constant || op.folded : false;
    if (!due || static_cast<std::int64_t>(operand.data.size()) == operand.bytes) return operand;
    return Fail(AtTensor(BadInput("a constant has " + std::to_string(operand.data.size()) +
                                  " bytes of data, expected " + std::to_string(operand.bytes)),
                         id, tensor));
  };
  for (const TensorId id : op.inputs) {
    NEAP_TRY(Operand operand, operand_of(id, true));
    node.inputs.push_back(std::move(operand));
  }
  for (const TensorId id : op.outputs) {
    NEAP_TRY(Operand operand, operand_of(id, false));
    node.outputs.push_back(std::move(operand));
  }
  return node;
}

Status Program::PrepareOps(Kernels kernels, std::int64_t max_memory_bytes) {
  kernels_ = IdVector<OpId, RunKernel>(subgraph_->ops.size());
  const auto prepare = [&](OpId id) -> Status {
    const graph::Op& op = subgraph_->ops[id];
    const PrepareKernel kernel = FindKernel(op.domain, op.type);
    if (kernel == nullptr) {
      return Fail(AtOp(BadInput("no kernel for operators of type '" + op.type + "'"), id, op));
    }
    auto node = NodeOf(op, kernels);
    if (!node) return Fail(AtOp(std::move(node).error(), id, op));
    auto run = kernel(*node);
    if (!run) return Fail(AtOp(std::move(run).error(), id, op));
    kernels_[id] = std::move(*run);
    return {};
  };
  std::int64_t memory_left = max_memory_bytes;
  for (const OpId id : folded_order_) {
    const graph::Op& op = subgraph_->ops[id];
    bool known = true;
    for (const TensorId output : op.outputs) {
      known = known && (!output.valid() ||
                        static_cast<std::int64_t>(constants_[output].size()) == bytes_[output]);
    }
    if (known) continue;
    NEAP_CHECK_OK(prepare(id));
    NEAP_CHECK_OK(Fold(id, &memory_left));
  }
  for (const OpId id : order_) NEAP_CHECK_OK(prepare(id));
  for (const TensorId id : subgraph_->outputs) {
    const bool known =
        !IsConstant(id) || static_cast<std::int64_t>(constants_[id].size()) == bytes_[id];
    if (!known) return Fail(AtTensor(BadInput("has no data"), id, subgraph_->tensors[id]));
  }
  return {};
}

Status Program::Fold(OpId id, std::int64_t* memory_left) {
  const graph::Op& op = subgraph_->ops[id];
  std::vector<std::span<const std::byte>> inputs;
  inputs.reserve(op.inputs.size());
  for (const TensorId input : op.inputs) {
    inputs.push_back(input.valid() ? constants_[input] : std::span<const std::byte>());
  }
  std::vector<std::span<std::byte>> outputs;
  for (const TensorId output : op.outputs) {
    outputs.emplace_back();
    if (!output.valid()) continue;
    *memory_left -= bytes_[output];
    if (*memory_left < 0) {
      return Fail(AtOp(BadInput("what is computed from constants needs too much memory"), id, op));
    }
    auto value = std::make_shared<std::vector<std::byte>>(static_cast<std::size_t>(bytes_[output]));
    outputs.back() = *value;
    constants_[output] = *value;
    folded_values_.push_back(std::move(value));
  }
  return RunOp(id, Arguments{inputs, outputs});
}

Status Program::RunOp(OpId op, const Arguments& arguments) const {
  auto status = kernels_[op](arguments);
  if (!status) return Fail(AtOp(std::move(status).error(), op, subgraph_->ops[op]));
  return status;
}

}  // namespace neap::execute
