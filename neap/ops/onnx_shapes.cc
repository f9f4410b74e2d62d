// SPDX-License-Identifier: Apache-2.0
#include "neap/ops/onnx_shapes.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <queue>
#include <utility>

#include "neap/ops/onnx_rules.h"
#include "neap/ops/traits.h"

namespace neap::ops {
namespace {

using graph::ElementType;
using graph::Op;
using graph::OpId;
using graph::Shape;
using graph::Subgraph;
using graph::Tensor;
using graph::TensorId;

constexpr std::size_t kMostNotes = 20;

// Operators whose inputs come first; among those that are ready, in file order. Operators of a
// cycle are left out: Verify() will refuse the graph.
std::vector<OpId> TopologicalOrder(const Subgraph& subgraph) {
  const auto producer = graph::Producers(subgraph);
  IdVector<OpId, std::vector<OpId>> successors(subgraph.ops.size());
  IdVector<OpId, int> missing(subgraph.ops.size());
  for (const OpId id : subgraph.ops.Ids()) {
    const Op& op = subgraph.ops[id];
    for (const auto* list : {&op.inputs, &op.captures}) {
      for (const TensorId tensor : *list) {
        if (!tensor.valid() || !producer[tensor].valid()) continue;
        successors[producer[tensor]].push_back(id);
        ++missing[id];
      }
    }
  }
  std::priority_queue<OpId, std::vector<OpId>, std::greater<>> ready;
  for (const OpId id : subgraph.ops.Ids()) {
    if (missing[id] == 0) ready.push(id);
  }
  std::vector<OpId> order;
  while (!ready.empty()) {
    const OpId id = ready.top();
    ready.pop();
    order.push_back(id);
    for (const OpId next : successors[id]) {
      if (--missing[next] == 0) ready.push(next);
    }
  }
  return order;
}

std::string ShapeText(const Shape& shape) {
  std::string out = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i != 0) out += ",";
    out += shape[i] < 0 ? "?" : std::to_string(shape[i]);
  }
  return out + "]";
}

class Inference {
 public:
  Inference(Subgraph* subgraph, int opset, std::vector<std::string>* notes)
      : subgraph_(*subgraph), opset_(opset), notes_(notes), values_(subgraph->tensors.size()) {}

  void Visit(OpId id, const ControlFlowInference& control_flow) {
    if (subgraph_.ops[id].folded) return;
    if (!subgraph_.ops[id].bodies.empty()) {
      if (control_flow) control_flow(id);
      values_.resize(subgraph_.tensors.size());
      return;
    }
    const auto rule = onnx::FindRule(subgraph_.ops[id].domain, subgraph_.ops[id].type);
    if (rule == nullptr) return;
    onnx::OpView view(subgraph_, subgraph_.ops[id], opset_, &values_);
    rule(view);
    for (std::size_t i = 0; i < view.results().size(); ++i) {
      const TensorId tensor = subgraph_.ops[id].outputs[i];
      if (tensor.valid()) Merge(id, tensor, &view.results()[i]);
    }
    Fold(id);
  }

  void Finish() {
    if (contradictions_ > kMostNotes) {
      notes_->push_back("and " + std::to_string(contradictions_ - kMostNotes) +
                        " more tensors whose declared type or shape is not the one inferred");
    }
  }

 private:
  void Merge(OpId id, TensorId tensor_id, onnx::OpView::Output* result) {
    Tensor& tensor = subgraph_.tensors[tensor_id];
    std::string declared;
    std::string inferred;
    if (result->type != ElementType::kUnknown && result->type != tensor.type) {
      if (tensor.type == ElementType::kUnknown) {
        tensor.type = result->type;
      } else if (!result->weak_type) {
        declared = graph::NameOf(tensor.type);
        inferred = graph::NameOf(result->type);
        tensor.type = result->type;
      }
    }
    if (result->shape) {
      const Shape before = tensor.shape.value_or(Shape());
      if (tensor.shape && MergeShape(&tensor, *result->shape)) {
        declared += ShapeText(before);
        inferred += ShapeText(*result->shape);
      } else if (!tensor.shape) {
        tensor.shape = result->shape;
      }
      if (tensor.symbols.size() != tensor.shape->size()) tensor.symbols.clear();
    }
    if (!declared.empty()) Contradiction(id, tensor_id, declared, inferred);
    const auto elements = onnx::FewElements(tensor.shape);
    if (result->values && elements &&
        result->values->size() == static_cast<std::size_t>(*elements)) {
      values_[tensor_id.index()] = std::move(result->values);
    }
  }

  // Whether the two contradict each other.
  static bool MergeShape(Tensor* tensor, const Shape& inferred) {
    Shape& shape = *tensor->shape;
    if (shape.size() != inferred.size()) {
      shape = inferred;
      return true;
    }
    bool contradiction = false;
    for (std::size_t i = 0; i < shape.size(); ++i) {
      if (inferred[i] < 0) continue;
      contradiction = contradiction || (shape[i] >= 0 && shape[i] != inferred[i]);
      shape[i] = inferred[i];
    }
    return contradiction;
  }

  void Contradiction(OpId id, TensorId tensor, const std::string& declared,
                     const std::string& inferred) {
    if (++contradictions_ > kMostNotes) return;
    notes_->push_back("tensor " + graph::Describe(tensor, subgraph_.tensors[tensor]) +
                      " is declared as " + declared + ", but operator " +
                      graph::Describe(id, subgraph_.ops[id]) + " makes it " + inferred);
  }

  // An operator whose outputs are all known, or that reads constants only, is no step of a plan.
  void Fold(OpId id) {
    Op& op = subgraph_.ops[id];
    if (op.stateful || op.type == "Dropout") return;
    bool any = false;
    bool constants = true;
    for (const auto* list : {&op.inputs, &op.captures}) {
      for (const TensorId tensor : *list) {
        if (!tensor.valid()) continue;
        any = true;
        constants = constants && subgraph_.tensors[tensor].constant;
      }
    }
    bool followed = true;
    bool produces = false;
    for (const TensorId tensor : op.outputs) {
      if (!tensor.valid()) continue;
      produces = true;
      const auto& values = values_[tensor.index()];
      followed = followed && values &&
                 std::all_of(values->begin(), values->end(),
                             [](const onnx::Number& value) { return value.known; });
    }
    if (!produces || !((any && constants) || followed)) return;
    op.folded = true;
    for (const TensorId tensor : op.outputs) {
      if (!tensor.valid()) continue;
      subgraph_.tensors[tensor].constant = true;
      const auto& values = values_[tensor.index()];
      if (values) subgraph_.tensors[tensor].data = Encode(subgraph_.tensors[tensor].type, *values);
    }
  }

  Subgraph& subgraph_;
  int opset_;
  std::vector<std::string>* notes_;
  std::vector<std::optional<onnx::Values>> values_;
  std::size_t contradictions_ = 0;
};

}  // namespace

ElementType OnnxElementType(std::int64_t code) {
  using enum ElementType;
  constexpr std::array kTypes = {
      kUnknown, kFloat32, kUint8,   kInt8,   kUint16, kInt16,     kInt32,      kInt64,    kString,
      kBool,    kFloat16, kFloat64, kUint32, kUint64, kComplex64, kComplex128, kBfloat16, kFloat8,
      kFloat8,  kFloat8,  kFloat8,  kUint4,  kInt4,   kFloat4,    kFloat8,     kUint2,    kInt2};
  if (code < 0 || code >= static_cast<std::int64_t>(kTypes.size())) return kUnknown;
  return kTypes.at(static_cast<std::size_t>(code));
}

void InferOnnxShapes(Subgraph* subgraph, int opset, std::vector<std::string>* notes,
                     const ControlFlowInference& control_flow) {
  Inference inference(subgraph, opset, notes);
  for (const OpId id : TopologicalOrder(*subgraph)) inference.Visit(id, control_flow);
  inference.Finish();
}

}  // namespace neap::ops
