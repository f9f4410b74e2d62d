// SPDX-License-Identifier: Apache-2.0
#include "neap/transform/rewrite/rules/common.h"

#include <cstring>
#include <utility>
#include <variant>

#include "neap/ops/op_table.h"

namespace neap::rewrite {

using graph::TensorId;
using ops::OpKind;

std::int64_t IntOr(const graph::Op& op, const char* name, std::int64_t value) {
  const auto found = op.attributes.find(name);
  if (found == op.attributes.end()) return value;
  const auto* integer = std::get_if<std::int64_t>(&found->second);
  return integer == nullptr ? value : *integer;
}

std::vector<std::int64_t> IntsOr(const graph::Op& op, const char* name) {
  const auto found = op.attributes.find(name);
  if (found == op.attributes.end()) return {};
  const auto* list = std::get_if<std::vector<std::int64_t>>(&found->second);
  return list == nullptr ? std::vector<std::int64_t>() : *list;
}

TensorId InputOf(const graph::Op& op, std::size_t index) {
  return index < op.inputs.size() ? op.inputs[index] : TensorId();
}

const graph::Shape* ShapeOf(const Draft& draft, TensorId id) {
  if (!id.valid() || !draft.TensorOf(id).shape) return nullptr;
  for (const std::int64_t size : *draft.TensorOf(id).shape) {
    if (size < 0) return nullptr;
  }
  return &*draft.TensorOf(id).shape;
}

std::optional<std::vector<std::int64_t>> IntegersOf(const graph::Tensor& tensor) {
  const bool wide = tensor.type == graph::ElementType::kInt64;
  if (!tensor.data || (!wide && tensor.type != graph::ElementType::kInt32)) return std::nullopt;
  const auto bytes = tensor.data->bytes;
  const std::size_t each = wide ? 8 : 4;
  std::vector<std::int64_t> values;
  for (std::size_t at = 0; at + each <= bytes.size(); at += each) {
    std::int64_t value = 0;
    std::int32_t narrow = 0;
    if (wide) std::memcpy(&value, bytes.data() + at, sizeof(value));
    if (!wide) std::memcpy(&narrow, bytes.data() + at, sizeof(narrow));
    values.push_back(wide ? value : narrow);
  }
  return values;
}

bool HasOneScale(const graph::Tensor& tensor) {
  return !tensor.quantization || tensor.quantization->scales.size() == 1;
}

bool SameNumbers(const graph::Tensor& a, const graph::Tensor& b) {
  if (a.type != b.type || a.quantization.has_value() != b.quantization.has_value()) return false;
  return !a.quantization ||
         (HasOneScale(a) && HasOneScale(b) && a.quantization->scales == b.quantization->scales &&
          a.quantization->zero_points == b.quantization->zero_points);
}

std::optional<std::size_t> AxisOf(std::int64_t axis, std::size_t rank) {
  const auto size = static_cast<std::int64_t>(rank);
  if (axis < -size || axis >= size) return std::nullopt;
  return static_cast<std::size_t>(axis < 0 ? axis + size : axis);
}

bool MayAdd(const Draft& draft, ops::OpKind tflite, ops::OpKind onnx, TensorId tensor) {
  const graph::Tensor& like = draft.TensorOf(tensor);
  const graph::OpId producer = draft.ProducerOf(tensor);
  if (producer.valid() && IsTflite(draft.SourceOp(producer))) {
    return ops::MayInsert(tflite, like.type, like.shape ? like.shape->size() : 0,
                          draft.settings().runtime);
  }
  return draft.opset() == 0 || ops::MayInsertOnnx(onnx, like.type, draft.opset());
}

std::int64_t SizeOf(const Pieces& pieces) {
  std::int64_t size = 0;
  for (const Piece& piece : pieces.pieces) size += piece.size;
  return size;
}

void RelaxReads(Draft* draft, const std::vector<TensorId>& read, TensorId out) {
  std::vector<graph::OpId> parts;
  for (const TensorId tensor : read) {
    graph::Op part;
    ops::SetKind(&part, OpKind::kNeapPart);
    part.inputs = draft->Readable(tensor);
    parts.push_back(draft->Emit(std::move(part)));
  }
  graph::Op end;
  ops::SetKind(&end, OpKind::kNeapEnd);
  end.outputs = {out};
  const graph::OpId ended = draft->Emit(std::move(end));
  for (const graph::OpId part : parts) draft->Edge(part, ended);
}

void Resize(graph::Tensor* tensor, std::size_t axis, std::int64_t size) {
  (*tensor->shape)[axis] = size;
}

}  // namespace neap::rewrite
