// SPDX-License-Identifier: Apache-2.0
#include "neap/ops/macs.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include "neap/base/bytes.h"
#include "neap/ops/window.h"

namespace neap::ops {
namespace {

using graph::Op;
using graph::Subgraph;
using graph::Tensor;

const Tensor* OutputOf(const Subgraph& subgraph, const Op& op) {
  return graph::Operand(subgraph, op.outputs, 0);
}

// Dimension `from_end` of 1 is the last one; 0 where it is not known.
std::int64_t Dimension(const Tensor* tensor, std::size_t from_end) {
  if (tensor == nullptr || !tensor->shape || tensor->shape->size() < from_end) return 0;
  return std::max<std::int64_t>((*tensor->shape)[tensor->shape->size() - from_end], 0);
}
std::int64_t First(const Tensor* tensor) {
  return tensor == nullptr || !tensor->shape ? 0 : Dimension(tensor, tensor->shape->size());
}

// outer * (elements of `filter` / `channels`): every element of `outer` meets one filter.
std::int64_t PerElement(const Tensor* outer, const Tensor* filter, std::int64_t channels) {
  if (outer == nullptr || filter == nullptr || channels < 1) return 0;
  const std::int64_t elements = ElementCount(*outer);
  const std::int64_t weights = ElementCount(*filter);
  if (elements < 0 || weights < 0) return 0;
  return std::min(CheckedMultiply(elements, weights / channels).value_or(kMostBytes), kMostBytes);
}

std::int64_t Product(const Tensor* out, std::int64_t terms) {
  if (out == nullptr || terms < 1) return 0;
  const std::int64_t elements = ElementCount(*out);
  return elements < 0 ? 0
                      : std::min(CheckedMultiply(elements, terms).value_or(kMostBytes), kMostBytes);
}

// Every weight matrix meets every row of the input.
std::int64_t Recurrent(const Subgraph& subgraph, const Op& op) {
  const Tensor* const input = graph::Operand(subgraph, op.inputs, 0);
  const std::int64_t width = Dimension(input, 1);
  if (width == 0) return 0;
  const std::int64_t rows = ElementCount(*input) / width;
  std::int64_t total = 0;
  for (std::size_t i = 1; i < op.inputs.size(); ++i) {
    const Tensor* const weight = graph::Operand(subgraph, op.inputs, i);
    if (weight == nullptr || !weight->constant || !weight->shape || weight->shape->size() < 2) {
      continue;
    }
    // Of ONNX the biases have a dimension for the direction, too.
    if (op.domain != "tflite" && weight->shape->size() < 3) continue;
    const auto part = CheckedMultiply(rows, std::max<std::int64_t>(ElementCount(*weight), 0));
    total = std::min(CheckedAdd(total, part.value_or(kMostBytes)).value_or(kMostBytes), kMostBytes);
  }
  return std::max<std::int64_t>(total, 0);
}

bool IsOneOf(std::string_view type, std::initializer_list<std::string_view> types) {
  return std::find(types.begin(), types.end(), type) != types.end();
}

std::int64_t OfTflite(const Subgraph& subgraph, const Op& op) {
  const Tensor* const out = OutputOf(subgraph, op);
  const Tensor* const filter = graph::Operand(subgraph, op.inputs, 1);
  if (op.type == "CONV_2D") return PerElement(out, filter, First(filter));
  if (op.type == "DEPTHWISE_CONV_2D" || op.type == "CONV_3D") {
    return PerElement(out, filter, Dimension(filter, 1));
  }
  if (op.type == "FULLY_CONNECTED") return Product(out, Dimension(filter, 1));
  if (op.type == "TRANSPOSE_CONV") {
    return PerElement(graph::Operand(subgraph, op.inputs, 2), filter, Dimension(filter, 1));
  }
  if (op.type == "BATCH_MATMUL") {
    const std::size_t axis = IntegerAttribute(op, "adj_x", 0) != 0 ? 2 : 1;
    return Product(out, Dimension(graph::Operand(subgraph, op.inputs, 0), axis));
  }
  if (IsOneOf(op.type,
              {"LSTM", "UNIDIRECTIONAL_SEQUENCE_LSTM", "BIDIRECTIONAL_SEQUENCE_LSTM", "RNN",
               "UNIDIRECTIONAL_SEQUENCE_RNN", "BIDIRECTIONAL_SEQUENCE_RNN", "SVDF"})) {
    return Recurrent(subgraph, op);
  }
  return 0;
}

std::int64_t OfOnnx(const Subgraph& subgraph, const Op& op) {
  const Tensor* const out = OutputOf(subgraph, op);
  const Tensor* const a = graph::Operand(subgraph, op.inputs, 0);
  if (IsOneOf(op.type, {"Conv", "FusedConv", "ConvInteger"})) {
    const Tensor* const filter = graph::Operand(subgraph, op.inputs, 1);
    return PerElement(out, filter, First(filter));
  }
  if (op.type == "QLinearConv") {
    const Tensor* const filter = graph::Operand(subgraph, op.inputs, 3);
    return PerElement(out, filter, First(filter));
  }
  if (op.type == "ConvTranspose") {
    const Tensor* const filter = graph::Operand(subgraph, op.inputs, 1);
    return PerElement(a, filter, First(filter));
  }
  if (IsOneOf(op.type, {"Gemm", "FusedGemm", "QGemm"})) {
    return Product(out, Dimension(a, IntegerAttribute(op, "transA", 0) != 0 ? 2 : 1));
  }
  if (IsOneOf(op.type, {"MatMul", "FusedMatMul", "MatMulInteger", "QLinearMatMul"})) {
    return Product(out, Dimension(a, IntegerAttribute(op, "transA", 0) != 0 ? 2 : 1));
  }
  if (IsOneOf(op.type, {"LSTM", "GRU", "RNN"})) return Recurrent(subgraph, op);
  return 0;
}

}  // namespace

std::int64_t ElementCount(const Tensor& tensor) {
  if (!tensor.shape) return -1;
  std::int64_t count = 1;
  for (const std::int64_t dimension : *tensor.shape) {
    if (dimension < 0) return -1;
    const auto product = CheckedMultiply(count, dimension);
    if (!product || *product > kMostBytes) return -1;
    count = *product;
  }
  return count;
}

std::int64_t MultiplyAccumulates(const Subgraph& subgraph, const Op& op) {
  if (op.domain == "layer") {
    return std::clamp<std::int64_t>(IntegerAttribute(op, "multiply_accumulates", 0), 0, kMostBytes);
  }
  return op.domain == "tflite" ? OfTflite(subgraph, op) : OfOnnx(subgraph, op);
}

}  // namespace neap::ops
