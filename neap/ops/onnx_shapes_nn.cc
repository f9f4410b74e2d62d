// SPDX-License-Identifier: Apache-2.0
//
// Matrix products, normalisation, recurrent layers, quantisation.
#include <algorithm>
#include <array>
#include <map>

#include "neap/ops/onnx_rules.h"

namespace neap::ops::onnx {
namespace {

// Numpy's matmul: vectors get a dimension that is dropped again.
MaybeShape ProductShape(MaybeShape a, MaybeShape b) {
  if (!a || !b || a->empty() || b->empty()) return std::nullopt;
  const bool row = a->size() == 1;
  const bool column = b->size() == 1;
  if (row) a->insert(a->begin(), 1);
  if (column) b->push_back(1);
  const std::array<MaybeShape, 2> batches = {Shape(a->begin(), a->end() - 2),
                                             Shape(b->begin(), b->end() - 2)};
  MaybeShape out = Broadcast(batches);
  if (!row) out->push_back((*a)[a->size() - 2]);
  if (!column) out->push_back(b->back());
  return out;
}

MaybeShape SwapLast(MaybeShape shape, bool swap) {
  if (swap && shape && shape->size() >= 2) {
    std::swap((*shape)[shape->size() - 1], (*shape)[shape->size() - 2]);
  }
  return shape;
}

void InferMatMul(OpView& op) {
  op.Set(0, op.TypeOf(0), ProductShape(op.ShapeOf(0), op.ShapeOf(1)));
}
void InferMatMulInteger(OpView& op) {
  op.Set(0, ElementType::kInt32, ProductShape(op.ShapeOf(0), op.ShapeOf(1)));
}
void InferQLinearMatMul(OpView& op) {
  op.Set(0, op.Has(7) ? op.TypeOf(7) : op.TypeOf(0), ProductShape(op.ShapeOf(0), op.ShapeOf(3)));
}
void InferFusedMatMul(OpView& op) {
  op.Set(0, op.TypeOf(0),
         ProductShape(SwapLast(op.ShapeOf(0), op.Int("transA", 0) != 0),
                      SwapLast(op.ShapeOf(1), op.Int("transB", 0) != 0)));
}
void InferFloatMatMul(OpView& op) {
  op.Set(0, ElementType::kFloat32, ProductShape(op.ShapeOf(0), op.ShapeOf(1)));
}

void InferGemmOf(OpView& op, std::size_t b, ElementType type) {
  const bool trans_a = op.Int("transA", 0) != 0;
  const bool trans_b = op.Int("transB", 0) != 0;
  op.Set(0, type, Shape{op.DimOf(0, trans_a ? 1 : 0), op.DimOf(b, trans_b ? 0 : 1)});
}
void InferGemm(OpView& op) { InferGemmOf(op, 1, op.TypeOf(0)); }
void InferQGemm(OpView& op) {
  InferGemmOf(op, 3, op.Has(8) ? op.TypeOf(8) : ElementType::kFloat32);
}

// Output 0 like the input; running statistics like the scale.
void InferBatchNormalization(OpView& op) {
  SameAsFirst(op);
  for (std::size_t i = 1; i < op.outputs(); ++i) {
    op.Set(i, op.Has(3) ? op.TypeOf(3) : op.TypeOf(1), op.ShapeOf(1));
  }
}

// Mean and inverse deviation keep the dimensions before `axis`.
void InferLayerNormalization(OpView& op) {
  SameAsFirst(op);
  MaybeShape shape = op.ShapeOf(0);
  if (shape) {
    const auto axis = Axis(op.Int("axis", -1), shape->size());
    if (!axis) {
      shape.reset();
    } else {
      std::fill(shape->begin() + static_cast<std::ptrdiff_t>(*axis), shape->end(), 1);
    }
  }
  op.Set(1, ElementType::kFloat32, shape);
  op.Set(2, ElementType::kFloat32, shape);
}

// X [steps, batch, in] (or batch first with layout=1), R [directions, gates*hidden, hidden].
void InferRecurrent(OpView& op) {
  const bool batch_first = op.Int("layout", 0) != 0;
  const ElementType type = op.TypeOf(0);
  const std::int64_t steps = op.DimOf(0, batch_first ? 1 : 0);
  const std::int64_t batch = op.DimOf(0, batch_first ? 0 : 1);
  const std::string direction = op.Text("direction", "forward");
  const std::int64_t directions = direction == "bidirectional" ? 2 : 1;
  std::int64_t hidden = op.Int("hidden_size", -1);
  if (hidden < 0) hidden = op.DimOf(2, 2);
  const Shape last =
      batch_first ? Shape{batch, directions, hidden} : Shape{directions, batch, hidden};
  op.Set(0, type,
         batch_first ? Shape{batch, steps, directions, hidden}
                     : Shape{steps, directions, batch, hidden});
  op.Set(1, type, last);
  op.Set(2, type, last);  // the LSTM's cell
}

void InferQuantize(OpView& op) {
  ElementType type = op.Has(2) ? op.TypeOf(2) : OnnxElementType(op.Int("output_dtype", 0));
  if (!op.Has(2) && type == ElementType::kUnknown) type = ElementType::kUint8;
  op.Set(0, type, op.ShapeOf(0));
}
void InferDequantize(OpView& op) {
  const ElementType asked = OnnxElementType(op.Int("output_dtype", 0));
  op.Set(0, asked != ElementType::kUnknown ? asked : op.TypeOf(1), op.ShapeOf(0));
}
void InferDynamicQuantize(OpView& op) {
  op.Set(0, ElementType::kUint8, op.ShapeOf(0));
  op.Set(1, ElementType::kFloat32, Shape{});
  op.Set(2, ElementType::kUint8, Shape{});
}

// "bij,bjk->bik": explicit output or the letters that occur once, in order.
void InferEinsum(OpView& op) {
  op.Set(0, op.TypeOf(0), std::nullopt);
  std::string equation = op.Text("equation", "");
  std::erase(equation, ' ');
  if (equation.empty() || equation.size() > 1024 || equation.find('.') != std::string::npos) return;
  const auto arrow = equation.find("->");
  const std::string left = equation.substr(0, arrow);
  std::map<char, std::int64_t> dims;
  std::map<char, int> count;
  std::size_t input = 0;
  std::size_t place = 0;
  for (const char c : left) {
    if (c == ',') {
      ++input;
      place = 0;
      continue;
    }
    const std::int64_t dim = op.DimOf(input, place++);
    auto& known = dims.emplace(c, -1).first->second;
    if (dim >= 0 && known <= 1) known = dim;
    ++count[c];
  }
  Shape out;
  if (arrow == std::string::npos) {
    for (const auto& [letter, times] : count) {
      if (times == 1) out.push_back(dims[letter]);
    }
  } else {
    for (const char c : equation.substr(arrow + 2)) {
      const auto found = dims.find(c);
      out.push_back(found == dims.end() ? -1 : found->second);
    }
  }
  op.Set(0, op.TypeOf(0), out);
}

void InferLoss(OpView& op) {
  if (op.Text("reduction", "mean") != "none") {
    op.Set(0, op.TypeOf(0), Shape{});
  } else {
    op.Set(0, op.TypeOf(0), op.ShapeOf(1));
  }
  op.Set(1, op.TypeOf(0), op.ShapeOf(0));
}

void InferDet(OpView& op) {
  MaybeShape shape = op.ShapeOf(0);
  if (shape && shape->size() >= 2) shape->resize(shape->size() - 2);
  op.Set(0, op.TypeOf(0), shape);
}

constexpr auto kNnRules = std::to_array<Rule>({
    {"", "MatMul", InferMatMul},
    {"", "MatMulInteger", InferMatMulInteger},
    {"", "QLinearMatMul", InferQLinearMatMul},
    {"", "Gemm", InferGemm},
    {"", "Einsum", InferEinsum},
    {"", "Det", InferDet},
    {"", "BatchNormalization", InferBatchNormalization},
    {"", "GroupNormalization", SameAsFirst},
    {"", "InstanceNormalization", SameAsFirst},
    {"", "LayerNormalization", InferLayerNormalization},
    {"", "LpNormalization", SameAsFirst},
    {"", "LRN", SameAsFirst},
    {"", "MeanVarianceNormalization", SameAsFirst},
    {"", "RMSNormalization", SameAsFirst},
    {"", "Hardmax", SameAsFirst},
    {"", "LogSoftmax", SameAsFirst},
    {"", "Softmax", SameAsFirst},
    {"", "RotaryEmbedding", SameAsFirst},
    {"", "LSTM", InferRecurrent},
    {"", "GRU", InferRecurrent},
    {"", "RNN", InferRecurrent},
    {"", "QuantizeLinear", InferQuantize},
    {"", "DequantizeLinear", InferDequantize},
    {"", "DynamicQuantizeLinear", InferDynamicQuantize},
    {"", "NegativeLogLikelihoodLoss", InferLoss},
    {"", "SoftmaxCrossEntropyLoss", InferLoss},
    {"com.microsoft", "FusedMatMul", InferFusedMatMul},
    {"com.microsoft", "TransposeMatMul", InferFusedMatMul},
    {"com.microsoft", "FusedGemm", InferGemm},
    {"com.microsoft", "QGemm", InferQGemm},
    {"com.microsoft", "MatMulIntegerToFloat", InferFloatMatMul},
    {"com.microsoft", "DynamicQuantizeMatMul", InferFloatMatMul},
    {"com.microsoft", "QuantizeLinear", InferQuantize},
    {"com.microsoft", "DequantizeLinear", InferDequantize},
});

}  // namespace

std::span<const Rule> NetworkRules() { return kNnRules; }

}  // namespace neap::ops::onnx
