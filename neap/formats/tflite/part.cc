// SPDX-License-Identifier: Apache-2.0
//
// A part of a .tflite file: a new file from the part of the graph, which is refused where the file
// has contents that the graph cannot represent.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "neap/formats/edit_check.h"
#include "neap/formats/tflite/model_view.h"
#include "neap/formats/tflite/tflite.h"

namespace neap::formats::tflite {
namespace {

using graph::OpId;
using graph::Subgraph;
using graph::SubgraphId;
using graph::TensorId;

// The graph of the part, and where its operators and tensors come from.
class PartGraph {
 public:
  PartGraph(const graph::Graph& source, const ModelPart& part)
      : source_(source.subgraphs[SubgraphId(0)]),
        new_tensor_(source_.tensors.size()),
        new_op_(source_.ops.size()) {
    graph_.subgraphs.push_back(Subgraph());
    Main().name = source_.name;
    AddFolded(part);
    for (const OpId op : part.ops) AddOp(op);
    Main().inputs = Mapped(part.inputs);
    Main().outputs = Mapped(part.outputs);
    for (const graph::ControlEdge& edge : source_.control_edges) {
      const OpId before = new_op_[edge.before];
      const OpId after = new_op_[edge.after];
      if (before.valid() && after.valid()) Main().control_edges.push_back({before, after});
    }
    bool calls = false;
    for (const graph::Op& op : Main().ops) calls = calls || !op.bodies.empty();
    if (!calls) return;
    for (std::size_t s = 1; s < source.subgraphs.size(); ++s) {
      graph_.subgraphs.push_back(source.subgraphs[SubgraphId(s)]);
    }
  }

  const graph::Graph& graph() const { return graph_; }
  // By new index.
  const std::vector<TensorId>& tensors() const { return tensors_; }
  const std::vector<OpId>& ops() const { return ops_; }

 private:
  Subgraph& Main() { return graph_.subgraphs[SubgraphId(0)]; }

  // Operators of the part read constants that others compute: those come along.
  void AddFolded(const ModelPart& part) {
    const auto producers = graph::Producers(source_);
    std::vector<OpId> found;
    std::vector<OpId> open = part.ops;
    IdVector<OpId, char> seen(source_.ops.size(), 0);
    while (!open.empty()) {
      const OpId id = open.back();
      open.pop_back();
      for (const TensorId tensor : source_.ops[id].inputs) {
        const OpId producer = tensor.valid() ? producers[tensor] : OpId();
        if (!producer.valid() || !source_.ops[producer].folded || seen[producer] != 0) continue;
        seen[producer] = 1;
        found.push_back(producer);
        open.push_back(producer);
      }
    }
    // Operators of this format are in an order that can be run.
    std::sort(found.begin(), found.end());
    for (const OpId op : found) AddOp(op);
  }

  TensorId MapTensor(TensorId id, bool computed_here) {
    if (!id.valid()) return id;
    if (!new_tensor_[id].valid()) {
      graph::Tensor tensor = source_.tensors[id];
      if (computed_here) {
        tensor.constant = false;
        tensor.data.reset();
      }
      new_tensor_[id] = Main().tensors.push_back(std::move(tensor));
      tensors_.push_back(id);
    }
    return new_tensor_[id];
  }

  std::vector<TensorId> Mapped(const std::vector<TensorId>& list) {
    std::vector<TensorId> mapped;
    mapped.reserve(list.size());
    for (const TensorId id : list) mapped.push_back(MapTensor(id, false));
    return mapped;
  }

  void AddOp(OpId id) {
    graph::Op op = source_.ops[id];
    op.inputs = Mapped(op.inputs);
    for (TensorId& output : op.outputs) output = MapTensor(output, op.folded);
    const auto found = op.attributes.find("intermediates");
    if (found != op.attributes.end()) {
      if (auto* list = std::get_if<std::vector<std::int64_t>>(&found->second)) {
        for (std::int64_t& number : *list) {
          const TensorId tensor(static_cast<std::int32_t>(number));
          if (new_tensor_.Has(tensor)) number = MapTensor(tensor, false).value();
        }
      }
    }
    op.folded = false;
    op.source_index = -1;
    new_op_[id] = Main().ops.push_back(std::move(op));
    ops_.push_back(id);
  }

  const Subgraph& source_;
  graph::Graph graph_;
  IdVector<TensorId, TensorId> new_tensor_;
  IdVector<OpId, OpId> new_op_;
  std::vector<TensorId> tensors_;
  std::vector<OpId> ops_;
};

Diagnostic CannotSay(const char* what) {
  Diagnostic error = BadInput(what);
  error.hint = "a part of this model cannot be written as a file of its own";
  return error;
}

Status CheckTensor(const schema::Tensor& tensor, bool compressed) {
  if (compressed) return Fail(CannotSay("is compressed (COMPRESSION_METADATA)"));
  if (tensor.sparsity() != nullptr) return Fail(CannotSay("is sparse"));
  if (SizeOf(tensor.variant_tensors()) > 0) return Fail(CannotSay("is a variant"));
  if (tensor.quantization() != nullptr && tensor.quantization()->details() != nullptr) {
    return Fail(CannotSay("has a custom quantisation"));
  }
  if (tensor.external_buffer() != 0) return Fail(CannotSay("has its data outside the model"));
  return {};
}

// Everything that the part refers to is represented in the graph.
Status CheckSource(const schema::SubGraph& source, const Subgraph& subgraph,
                   const PartGraph& part) {
  for (const TensorId id : part.tensors()) {
    Status status = CheckTensor(*source.tensors()->Get(static_cast<std::uint32_t>(id.value())),
                                subgraph.tensors[id].compressed);
    if (status) continue;
    status.error().tensor = graph::Describe(id, subgraph.tensors[id]);
    return status;
  }
  for (const OpId id : part.ops()) {
    const auto* op =
        source.operators()->Get(static_cast<std::uint32_t>(subgraph.ops[id].source_index));
    if (op->large_custom_options_offset() <= 1) continue;
    Diagnostic error = CannotSay("has options behind the model");
    error.op = graph::Describe(id, subgraph.ops[id]);
    return Fail(std::move(error));
  }
  return {};
}

}  // namespace

Result<std::vector<std::byte>> WritePart(const SourceModel& model, const ModelPart& part) {
  NEAP_TRY(const schema::Model* root, OpenModel(*model.bytes));
  const PartGraph graph(model.graph, part);
  NEAP_CHECK_OK(
      CheckSource(*root->subgraphs()->Get(0), model.graph.subgraphs[SubgraphId(0)], graph));
  NEAP_TRY(std::vector<std::byte> bytes, Export(graph.graph(), TextOf(root->description())));
  auto shared = std::make_shared<const std::vector<std::byte>>(bytes);
  SourceModel written;
  NEAP_TRY(written.graph, Read(shared, model.path, {}, &written));
  const std::string difference = FindDifference(model, graph.graph(), written.graph);
  if (!difference.empty()) return Fail(BadInput("a part of it, read back, differs: " + difference));
  return bytes;
}

}  // namespace neap::formats::tflite
