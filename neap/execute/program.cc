// SPDX-License-Identifier: Apache-2.0
#include "neap/execute/program.h"

#include <string>
#include <utility>

#include "neap/base/topological_order.h"
#include "neap/execute/loops/strided.h"
#include "neap/ops/recurrence.h"
#include "neap/ops/state.h"

namespace neap::execute {
namespace {

using graph::OpId;
using graph::TensorId;

// The predecessors of each operator: producers of its inputs, control edges, operators before it in
// the file that share state.
std::vector<std::pair<OpId, OpId>> EdgesOf(const graph::Graph& graph, graph::SubgraphId id) {
  const graph::Subgraph& subgraph = graph.subgraphs[id];
  const auto producers = graph::Producers(subgraph);
  std::vector<std::pair<OpId, OpId>> edges;
  for (const OpId op : subgraph.ops.Ids()) {
    for (const auto* list : {&subgraph.ops[op].inputs, &subgraph.ops[op].captures}) {
      for (const TensorId tensor : *list) {
        if (tensor.valid() && producers[tensor].valid()) edges.emplace_back(producers[tensor], op);
      }
    }
  }
  for (const graph::ControlEdge& edge : ops::StateTrace(graph).EdgesOf(subgraph, id)) {
    edges.emplace_back(edge.before, edge.after);
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
  NEAP_CHECK_OK(program.PrepareOrder(graph, subgraph));
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
      return Fail(AtTensor(BadInput("exceeds the memory limit of the run"), id, tensor));
    }
    bytes_[id] = *bytes;
    if (tensor.data) constants_[id] = tensor.data->bytes;
  }
  return {};
}

Status Program::PrepareOrder(const graph::Graph& graph, graph::SubgraphId subgraph) {
  const std::size_t count = subgraph_->ops.size();
  std::vector<std::vector<OpId>> successors(count);
  for (const auto& [before, after] : EdgesOf(graph, subgraph)) {
    successors[before.index()].push_back(after);
  }
  for (const OpId id : TopologicalOrder(successors)) {
    (subgraph_->ops[id].folded ? folded_order_ : order_).push_back(id);
  }
  return Require(order_.size() + folded_order_.size() == count,
                 "the operators depend on each other in a cycle");
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
  for (const std::int64_t index : IntsOr(op, "intermediates", {})) {
    const bool known = op.domain == "tflite" && index >= 0 &&
                       index < static_cast<std::int64_t>(subgraph_->tensors.size());
    const graph::Tensor* const tensor =
        known ? &subgraph_->tensors[TensorId(static_cast<std::int32_t>(index))] : nullptr;
    const bool quantized = tensor != nullptr && tensor->quantization;
    node.between.push_back(quantized ? &*tensor->quantization : nullptr);
  }
  return node;
}

Status Program::PrepareOps(Kernels kernels, std::int64_t max_memory_bytes) {
  kernels_ = IdVector<OpId, RunKernel>(subgraph_->ops.size());
  kernels_of_ = kernels;
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
  // A value that an operator writes to a variable is not kept, so no other operator may read it.
  IdVector<TensorId, bool> read(subgraph_->tensors.size(), false);
  for (const OpId id : order_) {
    NEAP_CHECK_OK(prepare(id));
    for (const TensorId input : subgraph_->ops[id].inputs) {
      if (!input.valid() || !subgraph_->tensors[input].variable) continue;
      if (read[input]) {
        return Fail(AtOp(BadInput("has no kernel for shared state"), id, subgraph_->ops[id]));
      }
      read[input] = true;
    }
  }
  for (const TensorId id : subgraph_->outputs) {
    const bool known =
        !IsConstant(id) || static_cast<std::int64_t>(constants_[id].size()) == bytes_[id];
    if (!known) return Fail(AtTensor(BadInput("has no data"), id, subgraph_->tensors[id]));
  }
  return {};
}

Result<RunKernel> Program::PrepareSteps(OpId id, std::int64_t steps) const {
  const graph::Op& op = subgraph_->ops[id];
  const auto fail = [&](Diagnostic error) { return Fail(AtOp(std::move(error), id, op)); };
  auto node = NodeOf(op, kernels_of_);
  if (!node) return fail(std::move(node).error());
  if (const auto recurrence = ops::RecurrenceOf(*subgraph_, op); !recurrence->variables.empty()) {
    for (Operand* operand : {&node->inputs[0], &node->outputs[0]}) {
      std::int64_t& size = operand->shape[recurrence->axis];
      operand->elements = operand->elements / size * steps;
      operand->bytes = operand->bytes / size * steps;
      size = steps;
    }
    auto kernel = FindKernel(op.domain, op.type)(*node);
    if (!kernel) return fail(std::move(kernel).error());
    return kernel;
  }
  const auto floats = [](graph::Shape shape) {
    Operand operand;
    operand.present = true;
    operand.type = graph::ElementType::kFloat32;
    operand.elements = Elements(shape);
    operand.bytes = operand.elements * static_cast<std::int64_t>(sizeof(float));
    operand.shape = std::move(shape);
    return operand;
  };
  const std::size_t states = StatesOf(op);
  const std::int64_t batch = node->In(0).shape[1];
  const std::int64_t hidden = node->In(2).shape[2];
  node->inputs[0] = floats({steps, batch, node->In(0).shape[2]});
  node->inputs.resize(std::max(node->inputs.size(), kInitialHidden + states));
  node->outputs.assign(1 + states, floats({1, batch, hidden}));
  node->outputs[0] = floats({steps, 1, batch, hidden});
  for (std::size_t i = 0; i < states; ++i) {
    node->inputs[kInitialHidden + i] = floats({1, batch, hidden});
  }
  auto kernel = FindKernel(op.domain, op.type)(*node);
  if (!kernel) return fail(std::move(kernel).error());
  return kernel;
}

Result<RunKernel> Program::PreparePart(OpId id, const PartShapes& shapes, bool pads) const {
  const graph::Op& op = subgraph_->ops[id];
  const auto fail = [&](Diagnostic error) { return Fail(AtOp(std::move(error), id, op)); };
  auto node = NodeOf(op, kernels_of_);
  if (!node) return fail(std::move(node).error());
  if (shapes.within) {
    node->within = shapes.within;
    auto kernel = FindKernel(op.domain, op.type)(*node);
    if (!kernel) return fail(std::move(kernel).error());
    return kernel;
  }
  const auto resize = [](Operand& operand, const graph::Shape& shape) {
    const std::int64_t bytes = operand.elements == 0 ? 0 : operand.bytes / operand.elements;
    operand.shape = shape;
    operand.elements = Elements(shape);
    operand.bytes = operand.elements * bytes;
  };
  for (std::size_t i = 0; i < node->inputs.size() && i < shapes.inputs.size(); ++i) {
    Operand& operand = node->inputs[i];
    if (operand.present && !operand.constant) resize(operand, shapes.inputs[i]);
  }
  resize(node->outputs[0], shapes.output);
  node->inputs[0].part_padding = shapes.pad;
  std::vector<std::byte> data;  // lives while the kernel is made
  if (pads && shapes.pad && node->Has(1)) {
    // Pairs for each dimension; channels are not cut.
    std::vector<std::int64_t> amounts = ReadIntegers(node->In(1).type, node->In(1).data);
    amounts.resize(8);
    amounts[2] = shapes.pad->top;
    amounts[3] = shapes.pad->bottom;
    amounts[4] = shapes.pad->left;
    amounts[5] = shapes.pad->right;
    const bool wide = node->In(1).type == graph::ElementType::kInt64;
    for (const std::int64_t amount : amounts) {
      const auto narrow = static_cast<std::int32_t>(amount);
      const auto* const from = wide ? reinterpret_cast<const std::byte*>(&amount)
                                    : reinterpret_cast<const std::byte*>(&narrow);
      data.insert(data.end(), from, from + (wide ? sizeof amount : sizeof narrow));
    }
    if (static_cast<std::int64_t>(data.size()) != node->In(1).bytes) {
      return fail(BadInput("has amounts of padding for other than four dimensions"));
    }
    node->inputs[1].data = data;
  }
  auto kernel = FindKernel(op.domain, op.type)(*node);
  if (!kernel) return fail(std::move(kernel).error());
  return kernel;
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
      return Fail(
          AtOp(BadInput("tensors computed from constants exceed the memory limit"), id, op));
    }
    auto value = std::make_shared<std::vector<std::byte>>(static_cast<std::size_t>(bytes_[output]));
    outputs.back() = *value;
    constants_[output] = *value;
    folded_values_.push_back(std::move(value));
  }
  return RunOp(id, Arguments{inputs, outputs});
}

std::byte Program::InitialByte(TensorId tensor) const {
  const graph::Tensor& data = subgraph_->tensors[tensor];
  const bool shifted = data.type == graph::ElementType::kInt8 && data.quantization &&
                       data.quantization->zero_points.size() == 1;
  return static_cast<std::byte>(shifted ? data.quantization->zero_points[0] : 0);
}

Status Program::RunOp(OpId op, const Arguments& arguments) const {
  auto status = kernels_[op](arguments);
  if (!status) return Fail(AtOp(std::move(status).error(), op, subgraph_->ops[op]));
  return status;
}

}  // namespace neap::execute
