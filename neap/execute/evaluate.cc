// SPDX-License-Identifier: Apache-2.0
#include "neap/execute/evaluate.h"

#include <algorithm>
#include <string>
#include <utility>

#include "neap/execute/inputs.h"
#include "neap/execute/program.h"

namespace neap::execute {
namespace {

using graph::OpId;
using graph::TensorId;

// Tensors that come and go, each with memory of its own.
class Tensors {
 public:
  Tensors(const Program& program, std::int64_t max_memory_bytes)
      : program_(program),
        memory_left_(max_memory_bytes),
        readers_(program.subgraph().tensors.size(), 0),
        values_(program.subgraph().tensors.size()) {
    for (const OpId op : program.order()) {
      for (const TensorId input : program.subgraph().ops[op].inputs) {
        if (input.valid()) ++readers_[input];
      }
    }
    for (const TensorId output : program.subgraph().outputs) ++readers_[output];
  }

  std::span<const std::byte> Read(TensorId tensor) const {
    if (!tensor.valid()) return {};
    return program_.IsConstant(tensor) ? program_.ConstantBytes(tensor)
                                       : std::span<const std::byte>(values_[tensor]);
  }
  Result<std::span<std::byte>> Make(TensorId tensor) {
    if (!tensor.valid()) return std::span<std::byte>();
    memory_left_ -= program_.BytesOf(tensor);
    if (memory_left_ < 0) return Fail(BadInput("the tensors exceed the memory limit"));
    values_[tensor].resize(static_cast<std::size_t>(program_.BytesOf(tensor)));
    return std::span<std::byte>(values_[tensor]);
  }
  void DoneReading(TensorId tensor) {
    if (tensor.valid() && --readers_[tensor] == 0) Drop(tensor);
  }
  void DropIfUnread(TensorId tensor) {
    if (tensor.valid() && readers_[tensor] == 0) Drop(tensor);
  }

 private:
  void Drop(TensorId tensor) {
    memory_left_ += static_cast<std::int64_t>(values_[tensor].size());
    std::vector<std::byte>().swap(values_[tensor]);
  }

  const Program& program_;
  std::int64_t memory_left_;
  IdVector<TensorId, std::int64_t> readers_;
  IdVector<TensorId, std::vector<std::byte>> values_;
};

Status RunOne(const Program& program, OpId id, const TensorObserver& observer, Tensors* tensors) {
  const graph::Op& op = program.subgraph().ops[id];
  std::vector<std::span<const std::byte>> inputs;
  inputs.reserve(op.inputs.size());
  for (const TensorId input : op.inputs) inputs.push_back(tensors->Read(input));
  std::vector<std::span<std::byte>> outputs;
  for (const TensorId output : op.outputs) {
    NEAP_TRY(const auto bytes, tensors->Make(output));
    outputs.push_back(bytes);
  }
  NEAP_CHECK_OK(program.RunOp(id, Arguments{inputs, outputs}));
  for (std::size_t i = 0; i < op.outputs.size(); ++i) {
    if (op.outputs[i].valid() && observer) observer(op.outputs[i], outputs[i]);
    tensors->DropIfUnread(op.outputs[i]);
  }
  for (const TensorId input : op.inputs) tensors->DoneReading(input);
  return {};
}

}  // namespace

Result<std::vector<Value>> Evaluate(const graph::Graph& graph, graph::SubgraphId subgraph,
                                    std::span<const Value> inputs, const EvaluateOptions& options) {
  NEAP_TRY(const Program program,
           Program::Prepare(graph, subgraph, options.kernels, options.max_memory_bytes));
  const graph::Subgraph& part = program.subgraph();
  NEAP_CHECK_OK(CheckInputs(part, inputs));
  Tensors tensors(program, options.max_memory_bytes);
  for (std::size_t i = 0; i < part.inputs.size(); ++i) {
    NEAP_TRY(const auto bytes, tensors.Make(part.inputs[i]));
    std::copy(inputs[i].bytes.begin(), inputs[i].bytes.end(), bytes.begin());
    if (options.observer) options.observer(part.inputs[i], bytes);
  }
  // Variables, and tensors without a producer.
  const auto producers = graph::Producers(part);
  for (const TensorId id : part.tensors.Ids()) {
    const bool given = std::find(part.inputs.begin(), part.inputs.end(), id) != part.inputs.end();
    if (producers[id].valid() || given || program.IsConstant(id)) continue;
    NEAP_TRY(const auto bytes, tensors.Make(id));
    std::fill(bytes.begin(), bytes.end(), program.InitialByte(id));
  }
  for (const OpId op : program.order()) {
    NEAP_CHECK_OK(RunOne(program, op, options.observer, &tensors));
  }
  std::vector<Value> results;
  for (const TensorId output : part.outputs) {
    const auto bytes = tensors.Read(output);
    const graph::Tensor& tensor = part.tensors[output];
    results.push_back({tensor.type, *tensor.shape, {bytes.begin(), bytes.end()}});
  }
  return results;
}

}  // namespace neap::execute
