// SPDX-License-Identifier: Apache-2.0
#include "neap/ops/macs.h"

#include <algorithm>
#include <cstddef>

#include "neap/base/bytes.h"
#include "neap/ops/op_rules.h"
#include "neap/ops/op_table.h"
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
  return std::min(CheckedMultiply(elements, weights / channels).value_or(kMaxBytes), kMaxBytes);
}

std::int64_t Product(const Tensor* out, std::int64_t terms) {
  if (out == nullptr || terms < 1) return 0;
  const std::int64_t elements = ElementCount(*out);
  return elements < 0 ? 0
                      : std::min(CheckedMultiply(elements, terms).value_or(kMaxBytes), kMaxBytes);
}

}  // namespace

std::int64_t macs::Conv(const Subgraph& subgraph, const Op& op) {
  const Tensor* const filter = graph::Operand(subgraph, op.inputs, 1);
  return PerElement(OutputOf(subgraph, op), filter, First(filter));
}

std::int64_t macs::QLinearConv(const Subgraph& subgraph, const Op& op) {
  const Tensor* const filter = graph::Operand(subgraph, op.inputs, 3);
  return PerElement(OutputOf(subgraph, op), filter, First(filter));
}

std::int64_t macs::LastAxis(const Subgraph& subgraph, const Op& op) {
  const Tensor* const filter = graph::Operand(subgraph, op.inputs, 1);
  return PerElement(OutputOf(subgraph, op), filter, Dimension(filter, 1));
}

std::int64_t macs::TransposeConv(const Subgraph& subgraph, const Op& op) {
  const Tensor* const filter = graph::Operand(subgraph, op.inputs, 1);
  return PerElement(graph::Operand(subgraph, op.inputs, 2), filter, Dimension(filter, 1));
}

std::int64_t macs::ConvTranspose(const Subgraph& subgraph, const Op& op) {
  const Tensor* const filter = graph::Operand(subgraph, op.inputs, 1);
  return PerElement(graph::Operand(subgraph, op.inputs, 0), filter, First(filter));
}

std::int64_t macs::FullyConnected(const Subgraph& subgraph, const Op& op) {
  return Product(OutputOf(subgraph, op), Dimension(graph::Operand(subgraph, op.inputs, 1), 1));
}

std::int64_t macs::BatchMatmul(const Subgraph& subgraph, const Op& op) {
  const std::size_t axis = IntegerAttribute(op, "adj_x", 0) != 0 ? 2 : 1;
  return Product(OutputOf(subgraph, op), Dimension(graph::Operand(subgraph, op.inputs, 0), axis));
}

std::int64_t macs::MatrixProduct(const Subgraph& subgraph, const Op& op) {
  const std::size_t axis = IntegerAttribute(op, "transA", 0) != 0 ? 2 : 1;
  return Product(OutputOf(subgraph, op), Dimension(graph::Operand(subgraph, op.inputs, 0), axis));
}

// Every weight matrix meets every row of the input.
std::int64_t macs::Recurrent(const Subgraph& subgraph, const Op& op) {
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
    total = std::min(CheckedAdd(total, part.value_or(kMaxBytes)).value_or(kMaxBytes), kMaxBytes);
  }
  return std::max<std::int64_t>(total, 0);
}

std::int64_t ElementCount(const Tensor& tensor) {
  if (!tensor.shape) return -1;
  std::int64_t count = 1;
  for (const std::int64_t dimension : *tensor.shape) {
    if (dimension < 0) return -1;
    const auto product = CheckedMultiply(count, dimension);
    if (!product || *product > kMaxBytes) return -1;
    count = *product;
  }
  return count;
}

std::int64_t MultiplyAccumulates(const Subgraph& subgraph, const Op& op) {
  if (op.domain == "layer") {
    return std::clamp<std::int64_t>(IntegerAttribute(op, "multiply_accumulates", 0), 0, kMaxBytes);
  }
  // In other domains, graph JSON for example, names count as ONNX's.
  const OpKind kind =
      op.domain == "tflite" || op.domain.empty() ? KindOf(op) : KindNamed(Dialect::kOnnx, op.type);
  const auto count = RowOf(kind).macs;
  return count == nullptr ? 0 : count(subgraph, op);
}

std::int64_t CostOf(const Subgraph& subgraph, const Op& op) {
  if (const auto found = op.attributes.find(kCost); found != op.attributes.end()) {
    const auto* cost = std::get_if<std::int64_t>(&found->second);
    if (cost != nullptr && op.domain == "json") return std::max<std::int64_t>(*cost, 1);
  }
  std::int64_t elements = 0;
  for (const graph::TensorId id : op.outputs) {
    if (!id.valid()) continue;
    const std::int64_t count = std::max<std::int64_t>(ElementCount(subgraph.tensors[id]), 0);
    elements = std::min(kMaxBytes, CheckedAdd(elements, count).value_or(kMaxBytes));
  }
  return std::max<std::int64_t>({MultiplyAccumulates(subgraph, op), elements, 1});
}

}  // namespace neap::ops
