// SPDX-License-Identifier: Apache-2.0
//
// Operators whose arithmetic on one part depends on values elsewhere.
#include <algorithm>
#include <array>
#include <string_view>

#include "neap/ops/dependence_rules.h"

namespace neap::ops {
namespace {

using graph::ElementType;

bool HasFractions(ElementType type) {
  return type == ElementType::kFloat16 || type == ElementType::kBfloat16 ||
         type == ElementType::kFloat32 || type == ElementType::kFloat64;
}

// Where products have their activations and their weights.
struct ProductInputs {
  std::string_view type;
  std::size_t data = 0;
  std::size_t weights = 1;
};
constexpr auto kProducts = std::to_array<ProductInputs>({
    {"BATCH_MATMUL", 0, 1},
    {"CONV_2D", 0, 1},
    {"CONV_3D", 0, 1},
    {"CONV_3D_TRANSPOSE", 2, 1},
    {"DEPTHWISE_CONV_2D", 0, 1},
    {"FULLY_CONNECTED", 0, 1},
    {"TRANSPOSE_CONV", 2, 1},
});

// The output has the shape of input 0 and every index of it needs all of some axes.
constexpr auto kNormalises = std::to_array<std::string_view>(
    {"L2_NORMALIZATION", "LOCAL_RESPONSE_NORMALIZATION", "LOG_SOFTMAX", "SOFTMAX", "Hardmax",
     "InstanceNormalization", "LRN", "LayerNormalization", "LogSoftmax", "LpNormalization",
     "Softmax"});

bool Normalises(std::string_view type) {
  return std::find(kNormalises.begin(), kNormalises.end(), type) != kNormalises.end();
}

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
  if (op.type == "QLinearMatMul") {
    for (const std::size_t input : {1U, 2U, 4U, 5U, 6U, 7U}) {
      if (!HasOneValue(subgraph, op, input)) return false;
    }
  }
  if (op.type != "QuantizeLinear" && op.type != "DequantizeLinear") return true;
  const graph::Tensor* const scale = graph::Operand(subgraph, op.inputs, 1);
  return scale == nullptr || (scale->shape && scale->shape->size() <= 1);
}

}  // namespace

bool IsHybrid(const graph::Subgraph& subgraph, const graph::Op& op) {
  if (op.domain != "tflite") return false;
  const auto product =
      std::find_if(kProducts.begin(), kProducts.end(),
                   [&](const ProductInputs& known) { return known.type == op.type; });
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
  if (!ScalesFit(subgraph, op)) return false;
  const bool product = op.type == "FULLY_CONNECTED";
  if (!product && IsHybrid(subgraph, op)) return false;
  if (!product && !Normalises(op.type)) return true;
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
  if (s.op.type == "FULLY_CONNECTED") return;  // whole rows as it is
  const bool by_image = s.op.type == "CONV_2D" || s.op.type == "DEPTHWISE_CONV_2D";
  for (std::size_t d = by_image ? 1 : 0; d < need->box.size(); ++d) need->box[d] = {0, s.in[d]};
}

}  // namespace dependence
}  // namespace neap::ops
