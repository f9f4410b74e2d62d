// SPDX-License-Identifier: Apache-2.0
//
// Operators whose arithmetic on one part depends on values elsewhere.
#include <algorithm>
#include <array>

#include "neap/ops/dependence_rules.h"
#include "neap/ops/op_table.h"

namespace neap::ops {
namespace {

using graph::ElementType;

bool HasFractions(ElementType type) {
  return type == ElementType::kFloat16 || type == ElementType::kBfloat16 ||
         type == ElementType::kFloat32 || type == ElementType::kFloat64;
}

// Where products have their activations and their weights.
struct ProductInputs {
  OpKind kind;
  std::size_t data = 0;
  std::size_t weights = 1;
};
constexpr auto kProducts = std::to_array<ProductInputs>({
    {OpKind::kBatchMatmul, 0, 1},
    {OpKind::kConv2d, 0, 1},
    {OpKind::kConv3d, 0, 1},
    {OpKind::kConv3dTranspose, 2, 1},
    {OpKind::kDepthwiseConv2d, 0, 1},
    {OpKind::kFullyConnected, 0, 1},
    {OpKind::kTransposeConv, 2, 1},
});

bool SameSizes(const Box& a, const Box& b, std::size_t axes) {
  if (a.size() < axes || b.size() < axes) return false;
  return std::equal(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(axes), b.begin(),
                    [](const Interval& x, const Interval& y) { return x.size() == y.size(); });
}

bool HasOneValue(const graph::Subgraph& subgraph, const graph::Op& op, std::size_t input) {
  const graph::Tensor* const tensor = graph::Operand(subgraph, op.inputs, input);
  if (tensor == nullptr) return true;
  return tensor->shape && std::all_of(tensor->shape->begin(), tensor->shape->end(),
                                      [](std::int64_t size) { return size == 1; });
}

// A scale for every index of an axis would have to be cut with the data.
bool ScalesFit(const graph::Subgraph& subgraph, const graph::Op& op) {
  if (Is(op, OpKind::kOnnxQLinearMatMul)) {
    for (const std::size_t input : {1U, 2U, 4U, 5U, 6U, 7U}) {
      if (!HasOneValue(subgraph, op, input)) return false;
    }
  }
  if (!Is(op, OpKind::kOnnxQuantizeLinear, OpKind::kOnnxDequantizeLinear)) return true;
  const graph::Tensor* const scale = graph::Operand(subgraph, op.inputs, 1);
  return scale == nullptr || (scale->shape && scale->shape->size() <= 1);
}

// A part of the columns of a product with a constant, which kernels take as a whole.
bool CutsMatrix(const graph::Subgraph& subgraph, const graph::Op& op, const Box& output_box) {
  const graph::Tensor* const matrix = graph::Operand(subgraph, op.inputs, 1);
  if (!Is(op, OpKind::kOnnxMatMul) || matrix == nullptr || !matrix->constant) return false;
  const auto need = NeedOf(subgraph, op, 1, output_box);
  return !need || !matrix->shape || need->box != WholeBox(*matrix->shape);
}

}  // namespace

bool IsHybrid(const graph::Subgraph& subgraph, const graph::Op& op) {
  const OpKind kind = KindOf(op);
  const auto product = std::find_if(kProducts.begin(), kProducts.end(),
                                    [&](const ProductInputs& known) { return known.kind == kind; });
  if (product == kProducts.end()) return false;
  const graph::Tensor* data = graph::Operand(subgraph, op.inputs, product->data);
  const graph::Tensor* weights = graph::Operand(subgraph, op.inputs, product->weights);
  return data != nullptr && weights != nullptr && HasFractions(data->type) &&
         !HasFractions(weights->type);
}

bool ComputesPart(const graph::Subgraph& subgraph, const graph::Op& op, const Box& output_box) {
  const graph::Tensor* const out = graph::Operand(subgraph, op.outputs, 0);
  if (out == nullptr || !out->shape) return false;
  if (output_box == WholeBox(*out->shape) || IsEmpty(output_box)) return true;
  if (!ScalesFit(subgraph, op) || CutsMatrix(subgraph, op, output_box)) return false;
  const bool product = Is(op, OpKind::kFullyConnected);
  if (!product && IsHybrid(subgraph, op)) return false;
  if (!product && !Has(op, trait::kNormalises)) return true;
  const auto need = NeedOf(subgraph, op, 0, output_box);
  // Rows of FULLY_CONNECTED, each with a scale of its own.
  return need && need->box.size() == output_box.size() &&
         SameSizes(need->box, output_box, output_box.size() - (product ? 1 : 0));
}

namespace dependence {

void WidenToScale(const Subject& s, Need* need) {
  if (!IsHybrid(s.subgraph, s.op)) return;
  const graph::Tensor& tensor = s.subgraph.tensors[s.op.inputs[s.input]];
  if (!HasFractions(tensor.type)) return;
  if (s.kind == OpKind::kFullyConnected) return;  // whole rows as it is
  const bool by_image = s.kind == OpKind::kConv2d || s.kind == OpKind::kDepthwiseConv2d;
  for (std::size_t d = by_image ? 1 : 0; d < need->box.size(); ++d) need->box[d] = {0, s.in[d]};
}

}  // namespace dependence
}  // namespace neap::ops
