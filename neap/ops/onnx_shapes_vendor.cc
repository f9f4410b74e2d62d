// SPDX-License-Identifier: Apache-2.0
//
// Operators outside the standard that models carry: ONNX Runtime's (com.microsoft), the quantisers
// of Brevitas and QONNX, and the integer operators of Deeploy, whose files put them into the
// default domain or into "PACTOps". Where files disagree about element types, the file's word
// counts.
#include <array>

#include "neap/ops/onnx_rules.h"

namespace neap::ops::onnx {
namespace {

// A, its scale, its zero point, B, ...
void InferQLinearBinary(OpView& op) {
  const std::array shapes = {op.ShapeOf(0), op.ShapeOf(3)};
  op.Set(0, op.TypeOf(0), Broadcast(shapes));
}

// scale, zero point, then (tensor, scale, zero point) for each input.
void InferQLinearConcat(OpView& op) {
  op.Set(0, op.TypeOf(1), std::nullopt);
  MaybeShape out = op.ShapeOf(2);
  if (!out) return;
  const auto axis = Axis(op.Int("axis", 0), out->size());
  if (!axis) return;
  for (std::size_t i = 5; i + 2 < op.inputs(); i += 3) {
    (*out)[*axis] = DimAdd((*out)[*axis], op.DimOf(i, *axis));
  }
  op.Set(0, op.TypeOf(1), out);
}

// input [batch, steps, in], weights [in, q+k+v], bias [q+k+v], mask, past [2, batch, heads, past,
// head].
void InferAttention(OpView& op) {
  const std::int64_t batch = op.DimOf(0, 0);
  const std::int64_t steps = op.DimOf(0, 1);
  const std::int64_t all = op.Has(2) ? op.DimOf(2, 0) : op.DimOf(1, 1);
  const auto sizes = op.Ints("qkv_hidden_sizes");
  std::int64_t width = all < 0 ? -1 : all / 3;
  if (sizes && sizes->size() == 3) width = (*sizes)[2];
  if (op.ShapeOf(0) && op.ShapeOf(0)->size() == 3) {
    op.Set(0, op.TypeOf(0), Shape{batch, steps, width});
  }
  const std::int64_t heads = op.Int("num_heads", 0);
  if (heads <= 0) return;
  const std::int64_t past = op.Has(4) ? op.DimOf(4, 3) : 0;
  op.Set(1, op.TypeOf(0),
         Shape{2, batch, heads, DimAdd(past, steps), width < 0 ? -1 : width / heads});
}

// ids [batch, steps], segments, word embedding [vocabulary, width], ...
void InferEmbedLayerNormalization(OpView& op) {
  const ElementType type = op.TypeOf(2);
  const Shape shape = {op.DimOf(0, 0), op.DimOf(0, 1), op.DimOf(2, 1)};
  op.Set(0, type, shape);
  op.Set(1, ElementType::kInt32, Shape{op.DimOf(0, 0)});
  op.Set(2, type, shape);
}

void InferSkipLayerNormalization(OpView& op) {
  SameAsFirst(op);
  MaybeShape statistics = op.ShapeOf(0);
  if (statistics && !statistics->empty()) statistics->back() = 1;
  op.Set(1, ElementType::kFloat32, statistics);
  op.Set(2, ElementType::kFloat32, statistics);
  op.Set(3, op.TypeOf(0), op.ShapeOf(0));
}

void InferIntegerDivision(OpView& op) {
  std::vector<MaybeShape> shapes;
  for (std::size_t i = 0; i < op.inputs(); ++i) shapes.push_back(op.ShapeOf(i));
  op.SetWeak(0, op.TypeOf(0), Broadcast(shapes));
}

void InferIntegerReduction(OpView& op) {
  InferReduction(op);
  op.results().at(0).weak_type = true;
}

constexpr auto kVendorRules = std::to_array<Rule>({
    {"com.microsoft", "Attention", InferAttention},
    {"com.microsoft", "BiasGelu", SameAsFirst},
    {"com.microsoft", "EmbedLayerNormalization", InferEmbedLayerNormalization},
    {"com.microsoft", "FastGelu", SameAsFirst},
    {"com.microsoft", "Gelu", SameAsFirst},
    {"com.microsoft", "QuickGelu", SameAsFirst},
    {"com.microsoft", "QLinearAdd", InferQLinearBinary},
    {"com.microsoft", "QLinearMul", InferQLinearBinary},
    {"com.microsoft", "QLinearConcat", InferQLinearConcat},
    {"com.microsoft", "QLinearLeakyRelu", SameAsFirst},
    {"com.microsoft", "QLinearSigmoid", SameAsFirst},
    {"com.microsoft", "QLinearSoftmax", SameAsFirst},
    {"com.microsoft", "SkipLayerNormalization", InferSkipLayerNormalization},
    {"com.microsoft", "SkipSimplifiedLayerNormalization", InferSkipLayerNormalization},
    {"", "SimplifiedLayerNormalization", SameAsFirst},
    {"onnx.brevitas", "Quant", SameAsFirst},
    {"onnx.brevitas", "BipolarQuant", SameAsFirst},
    {"onnx.brevitas", "Trunc", SameAsFirst},
    {"qonnx.custom_op.general", "Quant", SameAsFirst},
    {"qonnx.custom_op.general", "BipolarQuant", SameAsFirst},
    {"qonnx.custom_op.general", "Trunc", SameAsFirst},
    {"finn.custom_op.general", "Quant", SameAsFirst},
    {"", "RequantShift", SameShapeAsFirst},
    {"", "ITAMax", SameShapeAsFirst},
    {"", "RMSNorm", SameShapeAsFirst},
    {"", "iGELU", SameShapeAsFirst},
    {"", "iHardswish", SameShapeAsFirst},
    {"", "iLayerNorm", SameShapeAsFirst},
    {"", "iRMSNorm", SameShapeAsFirst},
    {"", "iSoftmax", SameShapeAsFirst},
    {"", "IntegerDiv", InferIntegerDivision},
    {"", "TrueIntegerDiv", InferIntegerDivision},
    {"", "IntegerMean", InferIntegerReduction},
    {"PACTOps", "RequantShift", SameShapeAsFirst},
    {"PACTOps", "ITAMax", SameShapeAsFirst},
    {"PACTOps", "RMSNorm", SameShapeAsFirst},
    {"PACTOps", "iGELU", SameShapeAsFirst},
    {"PACTOps", "iHardswish", SameShapeAsFirst},
    {"PACTOps", "iLayerNorm", SameShapeAsFirst},
    {"PACTOps", "iRMSNorm", SameShapeAsFirst},
    {"PACTOps", "iSoftmax", SameShapeAsFirst},
    {"PACTOps", "IntegerDiv", InferIntegerDivision},
    {"PACTOps", "TrueIntegerDiv", InferIntegerDivision},
    {"PACTOps", "IntegerMean", InferIntegerReduction},
});

}  // namespace

std::span<const Rule> VendorRules() { return kVendorRules; }

}  // namespace neap::ops::onnx
