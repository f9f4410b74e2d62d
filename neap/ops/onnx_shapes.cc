// SPDX-License-Identifier: Apache-2.0
#include "neap/ops/onnx_shapes.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <utility>

#include "neap/base/topological_order.h"
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

// Operators in the order in which shapes are inferred. Operators of a cycle are left out: Verify()
// will refuse the graph.
std::vector<OpId> InferenceOrder(const Subgraph& subgraph) {
  const auto producer = graph::Producers(subgraph);
  IdVector<OpId, std::vector<OpId>> successors(subgraph.ops.size());
  for (const OpId id : subgraph.ops.Ids()) {
    const Op& op = subgraph.ops[id];
    for (const auto* list : {&op.inputs, &op.captures}) {
      for (const TensorId tensor : *list) {
        if (!tensor.valid() || !producer[tensor].valid()) continue;
        successors[producer[tensor]].push_back(id);
      }
    }
  }
  return TopologicalOrder(successors.Items());
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
  Inference(Subgraph* subgraph, const OnnxInference& options)
      : subgraph_(*subgraph), options_(options), values_(subgraph->tensors.size()) {}

  void Visit(OpId id) {
    if (subgraph_.ops[id].folded) return;
    if (!subgraph_.ops[id].bodies.empty()) {
      if (options_.control_flow) options_.control_flow(id);
      return;
    }
    const auto rule = onnx::FindRule(subgraph_.ops[id].domain, subgraph_.ops[id].type);
    if (rule == nullptr) return;
    onnx::OpView view(subgraph_, subgraph_.ops[id], options_.opset, &values_);
    rule(view);
    for (std::size_t i = 0; i < view.results().size(); ++i) {
      const TensorId tensor = subgraph_.ops[id].outputs[i];
      if (tensor.valid()) Merge(id, tensor, &view.results()[i]);
    }
    Fold(id);
  }

  void Finish(std::vector<std::string>* notes) const {
    if (contradictions_ == 0) return;
    notes->push_back(std::to_string(contradictions_) +
                     (contradictions_ == 1 ? " tensor is" : " tensors are") +
                     " declared with another shape than the operators compute; the " +
                     (options_.declared_shapes_win ? "declared" : "inferred") +
                     " shapes are used: " + first_contradiction_);
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
    if (result->shape && !tensor.shape) tensor.shape = result->shape;
    if (result->shape && !MergeShape(*result->shape, &*tensor.shape, &declared)) {
      inferred += ShapeText(*result->shape);
    }
    if (tensor.shape && tensor.symbols.size() != tensor.shape->size()) tensor.symbols.clear();
    if (!declared.empty() && contradictions_++ == 0) {
      first_contradiction_ = graph::Describe(tensor_id, tensor) + " is declared as " + declared +
                             ", operator " + graph::Describe(id, subgraph_.ops[id]) + " makes it " +
                             inferred;
    }
    const auto elements = onnx::FewElements(tensor.shape);
    if (result->values && elements &&
        result->values->size() == static_cast<std::size_t>(*elements)) {
      values_[tensor_id.index()] = std::move(result->values);
    }
  }

  // False where the two contradict each other; the text of `shape` as declared is then appended.
  bool MergeShape(const Shape& inferred, Shape* shape, std::string* declared) const {
    bool agree = shape->size() == inferred.size();
    for (std::size_t i = 0; agree && i < inferred.size(); ++i) {
      agree = inferred[i] < 0 || (*shape)[i] < 0 || (*shape)[i] == inferred[i];
    }
    if (!agree) {
      *declared += ShapeText(*shape);
      const bool whole =
          std::all_of(shape->begin(), shape->end(), [](std::int64_t dim) { return dim >= 0; });
      // A partial declaration is not used.
      if (!options_.declared_shapes_win || !whole) *shape = inferred;
      return false;
    }
    for (std::size_t i = 0; i < inferred.size(); ++i) {
      if ((*shape)[i] < 0) (*shape)[i] = inferred[i];
    }
    return true;
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
  const OnnxInference& options_;
  std::vector<std::optional<onnx::Values>> values_;
  std::size_t contradictions_ = 0;
  std::string first_contradiction_;
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

void InferOnnxShapes(Subgraph* subgraph, const OnnxInference& options,
                     std::vector<std::string>* notes) {
  Inference inference(subgraph, options);
  for (const OpId id : InferenceOrder(*subgraph)) inference.Visit(id);
  inference.Finish(notes);
}

}  // namespace neap::ops
