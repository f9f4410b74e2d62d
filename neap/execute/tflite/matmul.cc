// SPDX-License-Identifier: Apache-2.0
//
// FULLY_CONNECTED and BATCH_MATMUL.
#include <utility>

#include "neap/execute/families.h"
#include "neap/execute/loops/conv.h"
#include "neap/execute/loops/strided.h"
#include "neap/execute/tflite/quantized.h"

namespace neap::execute::tflite {
namespace {

using enum graph::ElementType;

struct Product {
  std::int64_t rows = 0;
  std::int64_t depth = 0;
  std::int64_t columns = 0;
};

Result<Product> PlanFullyConnected(const Node& node) {
  NEAP_CHECK_OK(RequireOperands(node, 2, 3));
  const Operand& filter = node.In(1);
  NEAP_CHECK_OK(Require(IntOr(*node.op, "weights_format", 0) == 0,
                        "has no kernel for its format of weights"));
  NEAP_CHECK_OK(Require(filter.Rank() == 2, "expected weights of rank 2"));
  Product product;
  product.columns = filter.shape[0];
  product.depth = filter.shape[1];
  NEAP_CHECK_OK(Require(product.depth > 0 && product.columns > 0, "has no weights"));
  product.rows = node.In(0).elements / product.depth;
  NEAP_CHECK_OK(Require(product.rows * product.depth == node.In(0).elements &&
                            product.rows * product.columns == node.Out().elements,
                        "input, weights and output do not fit together"));
  NEAP_CHECK_OK(Require(!node.Has(2) || node.In(2).elements == product.columns,
                        "expected one bias for each output"));
  return product;
}

Result<RunKernel> PrepareFullyConnected(const Node& node) {
  NEAP_TRY(const Product product, PlanFullyConnected(node));
  if (IsQuantizedType(node.In(0).type)) {
    return QuantizedFullyConnected(node, product.rows, product.depth, product.columns);
  }
  if (node.In(0).type != kFloat32 || node.In(1).type != kFloat32) return UnsupportedType(node);
  if (node.Out().type != kFloat32 || (node.Has(2) && node.In(2).type != kFloat32)) {
    return UnsupportedType(node);
  }
  NEAP_TRY(const auto limits, FloatLimits(*node.op));
  const bool has_bias = node.Has(2);
  return RunKernel([=](const Arguments& arguments) -> Status {
    const auto* const filter = Input<float>(arguments, 1);
    auto* out = Output<float>(arguments);
    for (std::int64_t r = 0; r < product.rows; ++r) {
      const auto* const row = Input<float>(arguments, 0) + r * product.depth;
      for (std::int64_t c = 0; c < product.columns; ++c) {
        float sum = 0;
        AddDots<1>(row, filter + c * product.depth, 0, product.depth, 0.0F, 0.0F, &sum);
        if (has_bias) sum += Input<float>(arguments, 2)[c].value;
        (out++)->value = limits(sum);
      }
    }
    return {};
  });
}

// Both operands as stacks of matrices; a transposed operand is only read in another order.
Result<RunKernel> PrepareBatchMatmul(const Node& node) {
  NEAP_CHECK_OK(RequireOperands(node, 2, 2));
  const bool turn_a = IntOr(*node.op, "adj_x", 0) != 0;
  const bool turn_b = IntOr(*node.op, "adj_y", 0) != 0;
  graph::Shape a = node.In(0).shape;
  graph::Shape b = node.In(1).shape;
  graph::Shape out = node.Out().shape;
  NEAP_CHECK_OK(Require(a.size() >= 2 && b.size() >= 2 && out.size() >= 2, "expected matrices"));
  if (node.In(0).type != kFloat32 || node.In(1).type != kFloat32 || node.Out().type != kFloat32) {
    return UnsupportedType(node);
  }
  const std::int64_t a_columns = a.back();
  const std::int64_t b_columns = b.back();
  const std::int64_t rows = turn_a ? a.back() : a[a.size() - 2];
  const std::int64_t depth = turn_a ? a[a.size() - 2] : a.back();
  const std::int64_t columns = turn_b ? b[b.size() - 2] : b.back();
  NEAP_CHECK_OK(Require((turn_b ? b.back() : b[b.size() - 2]) == depth &&
                            out[out.size() - 2] == rows && out.back() == columns,
                        "the matrices do not fit together"));
  const std::int64_t a_size = rows * depth;
  const std::int64_t b_size = depth * columns;
  for (graph::Shape* shape : {&a, &b, &out}) shape->resize(shape->size() - 2);
  NEAP_TRY(const Strides a_strides, BroadcastStrides(a, out));
  NEAP_TRY(const Strides b_strides, BroadcastStrides(b, out));
  return RunKernel([=](const Arguments& arguments) -> Status {
    auto* to = Output<float>(arguments);
    Odometer<2> at(out, {&a_strides, &b_strides});
    const std::int64_t a_row = turn_a ? 1 : a_columns;
    const std::int64_t a_step = turn_a ? a_columns : 1;
    const std::int64_t b_row = turn_b ? 1 : b_columns;
    const std::int64_t b_step = turn_b ? b_columns : 1;
    for (std::int64_t n = 0; n < Elements(out); ++n, at.Next()) {
      const auto* const left = Input<float>(arguments, 0) + at.Offset(0) * a_size;
      const auto* const right = Input<float>(arguments, 1) + at.Offset(1) * b_size;
      for (std::int64_t r = 0; r < rows; ++r) {
        for (std::int64_t c = 0; c < columns; ++c) {
          float sum = 0;
          for (std::int64_t k = 0; k < depth; ++k) {
            sum += left[r * a_row + k * a_step].value * right[k * b_row + c * b_step].value;
          }
          (to++)->value = sum;
        }
      }
    }
    return {};
  });
}

constexpr KernelEntry kMatmulKernels[] = {
    {"FULLY_CONNECTED", PrepareFullyConnected},
    {"BATCH_MATMUL", PrepareBatchMatmul},
};

}  // namespace

std::span<const KernelEntry> MatmulKernels() { return kMatmulKernels; }

}  // namespace neap::execute::tflite
