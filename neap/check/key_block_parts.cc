// SPDX-License-Identifier: Apache-2.0
#include "neap/check/key_block_parts.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <numeric>
#include <string>
#include <utility>
#include <variant>

#include "neap/ops/op_table.h"

namespace neap::check {
namespace {

using graph::ElementType;
using graph::Op;
using graph::OpId;
using graph::Shape;
using graph::Subgraph;
using graph::Tensor;
using graph::TensorId;
using ops::OpKind;

using Integers = std::vector<std::int64_t>;

std::optional<Integers> ListOf(const Subgraph& subgraph, const Op& op, std::size_t input) {
  const Tensor* const tensor = graph::Operand(subgraph, op.inputs, input);
  if (tensor == nullptr || !tensor->constant || !tensor->data) return std::nullopt;
  const auto bytes = tensor->data->bytes;
  const std::size_t each = tensor->type == ElementType::kInt64   ? 8
                           : tensor->type == ElementType::kInt32 ? 4
                                                                 : 0;
  if (each == 0 || bytes.size() % each != 0) return std::nullopt;
  Integers values(bytes.size() / each);
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::int32_t narrow = 0;
    if (each == 8) {
      std::memcpy(&values[i], bytes.data() + i * each, each);
    } else {
      std::memcpy(&narrow, bytes.data() + i * each, each);
      values[i] = narrow;
    }
  }
  return values;
}

Integers ListAttribute(const Op& op, const char* name) {
  const auto found = op.attributes.find(name);
  if (found == op.attributes.end()) return {};
  const auto* const list = std::get_if<Integers>(&found->second);
  return list == nullptr ? Integers() : *list;
}

const Shape* ShapeOf(const Subgraph& subgraph, const std::vector<TensorId>& ids, std::size_t i) {
  const Tensor* const tensor = graph::Operand(subgraph, ids, i);
  return tensor == nullptr || !tensor->shape ? nullptr : &*tensor->shape;
}

bool IsConstant(const Subgraph& subgraph, const Op& op, std::size_t input) {
  const Tensor* const tensor = graph::Operand(subgraph, op.inputs, input);
  return tensor != nullptr && tensor->constant;
}

std::int64_t Count(const Shape& shape, std::size_t first, std::size_t last) {
  return std::accumulate(shape.begin() + static_cast<std::ptrdiff_t>(first),
                         shape.begin() + static_cast<std::ptrdiff_t>(last), std::int64_t{1},
                         std::multiplies<>());
}

std::size_t Normal(std::int64_t axis, std::size_t rank) {
  return static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis);
}

// As lists of [outer][indices][inner] elements the two are the same. The last `kept` dimensions are
// counted apart: an index of the others is a row of them.
bool AreSameRows(Shape from, std::size_t from_axis, Shape to, std::size_t to_axis,
                 std::size_t kept) {
  if (from.size() < kept || to.size() < kept) return false;
  from.resize(from.size() - kept);
  to.resize(to.size() - kept);
  return from_axis < from.size() && to_axis < to.size() && from[from_axis] == to[to_axis] &&
         Count(from, 0, from_axis) == Count(to, 0, to_axis) &&
         Count(from, from_axis + 1, from.size()) == Count(to, to_axis + 1, to.size());
}

bool HasInfinity(const Tensor& tensor) {
  if (tensor.type != ElementType::kFloat32) return false;
  if (!tensor.data) return true;
  const auto bytes = tensor.data->bytes;
  for (std::size_t at = 0; at + 4 <= bytes.size(); at += 4) {
    float value = 0;
    std::memcpy(&value, bytes.data() + at, 4);
    if (!std::isfinite(value)) return true;
  }
  return false;
}

using Axes = std::vector<std::optional<std::size_t>>;

bool OnlyFirst(const Axes& axes) {
  return axes[0].has_value() && std::none_of(axes.begin() + 1, axes.end(),
                                             [](const auto& axis) { return axis.has_value(); });
}

// Each operand has the axis at its place from the end, or one index there.
bool Broadcasts(const Subgraph& subgraph, const Op& op, const Axes& axes, const Shape& out,
                std::size_t axis) {
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    const Shape* const shape = ShapeOf(subgraph, op.inputs, i);
    if (shape == nullptr || shape->size() > out.size()) return false;
    const std::size_t missing = out.size() - shape->size();
    const bool has = axis >= missing && (*shape)[axis - missing] != 1;
    if (axes[i].has_value() != has || (has && *axes[i] + missing != axis)) return false;
  }
  return true;
}

// Columns of the second matrix give columns of the product, rows of the first one its rows.
bool Multiplies(const Subgraph& subgraph, const Op& op, const Axes& axes, const Shape& out,
                std::size_t axis) {
  const Shape* const a = ShapeOf(subgraph, op.inputs, 0);
  const Shape* const b = ShapeOf(subgraph, op.inputs, 1);
  if (op.inputs.size() != 2 || a == nullptr || b == nullptr || a->size() < 2 || b->size() < 2) {
    return false;
  }
  const bool turn_a = IntegerOf(op, "adj_x", 0) != 0;
  const bool turn_b = IntegerOf(op, "adj_y", 0) != 0;
  if (axes[1]) {
    return !axes[0] && axis + 1 == out.size() && *axes[1] + (turn_b ? 2 : 1) == b->size();
  }
  if (!axes[0] || a->size() != out.size()) return false;
  if (axis + 2 == out.size()) return *axes[0] + (turn_a ? 1 : 2) == a->size();
  return axis + 2 < out.size() && *axes[0] == axis && b->size() == 2;
}

bool MultipliesRows(const Subgraph& subgraph, const Op& op, const Axes& axes, const Shape& in,
                    const Shape& out, std::size_t axis) {
  if (!ops::Is(op, OpKind::kOnnxGemm)) {
    return OnlyFirst(axes) && IsConstant(subgraph, op, 1) &&
           AreSameRows(in, *axes[0], out, axis, 1);
  }
  const Shape* const bias = ShapeOf(subgraph, op.inputs, 2);
  const bool has_rows = bias != nullptr && bias->size() == 2 && (*bias)[0] != 1;
  return axis == 0 && axes[0] && *axes[0] == 0 && IntegerOf(op, "transA", 0) == 0 && !axes[1] &&
         (axes.size() < 3 || (axes[2].has_value() == has_rows && axes[2].value_or(0) == 0));
}

bool Transposes(const Subgraph& subgraph, const Op& op, const Axes& axes, const Shape& in,
                std::size_t axis) {
  Integers order = ListAttribute(op, "perm");
  if (ops::Is(op, OpKind::kTranspose)) order = ListOf(subgraph, op, 1).value_or(Integers());
  if (order.empty()) {
    order.resize(in.size());
    std::iota(order.rbegin(), order.rend(), 0);
  }
  return OnlyFirst(axes) && order.size() == in.size() && Normal(order[axis], in.size()) == *axes[0];
}

}  // namespace

bool IsSameTensor(const Tensor& a, const Tensor& b) {
  return a.type == b.type && a.shape == b.shape && a.constant == b.constant &&
         a.variable == b.variable && a.data.has_value() == b.data.has_value() &&
         (!a.data || a.data->bytes.data() == b.data->bytes.data() ||
          std::equal(a.data->bytes.begin(), a.data->bytes.end(), b.data->bytes.begin(),
                     b.data->bytes.end()));
}

bool HaveSameAttributes(const Op& a, const Op& b) {
  if (a.attributes.size() != b.attributes.size()) return false;
  return std::all_of(a.attributes.begin(), a.attributes.end(), [&](const auto& entry) {
    const auto other = b.attributes.find(entry.first);
    if (other == b.attributes.end() || entry.second.index() != other->second.index()) return false;
    return std::visit(
        [&](const auto& value) {
          using T = std::decay_t<decltype(value)>;
          const T& same = std::get<T>(other->second);
          if constexpr (std::is_same_v<T, graph::ConstantData>) {
            return std::equal(value.bytes.begin(), value.bytes.end(), same.bytes.begin(),
                              same.bytes.end());
          } else {
            return value == same;
          }
        },
        entry.second);
  });
}

std::int64_t IntegerOf(const Op& op, const char* name, std::int64_t otherwise) {
  const auto found = op.attributes.find(name);
  if (found == op.attributes.end()) return otherwise;
  const auto* const value = std::get_if<std::int64_t>(&found->second);
  return value == nullptr ? otherwise : *value;
}

std::optional<Range> RangeOfSlice(const Subgraph& subgraph, const Op& op) {
  const Shape* const shape = ShapeOf(subgraph, op.inputs, 0);
  const auto begins = ListOf(subgraph, op, 1);
  const auto ends = ListOf(subgraph, op, 2);
  if (shape == nullptr || !begins || !ends || begins->size() != ends->size()) return std::nullopt;
  Integers axes(begins->size());
  std::iota(axes.begin(), axes.end(), 0);
  if (!ops::Is(op, OpKind::kSlice)) {
    if (op.inputs.size() > 4 && op.inputs[4].valid()) return std::nullopt;
    if (op.inputs.size() > 3) axes = ListOf(subgraph, op, 3).value_or(Integers());
  }
  if (axes.size() != begins->size()) return std::nullopt;
  std::optional<Range> found;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::size_t axis = Normal(axes[i], shape->size());
    if (axis >= shape->size()) return std::nullopt;
    const std::int64_t begin = (*begins)[i];
    const std::int64_t end = ops::Is(op, OpKind::kSlice) ? begin + (*ends)[i] : (*ends)[i];
    if (begin < 0 || end <= begin || end > (*shape)[axis]) return std::nullopt;
    if (begin == 0 && end == (*shape)[axis]) continue;
    if (found) return std::nullopt;
    found = Range{axis, begin, end};
  }
  return found;
}

std::optional<std::size_t> CutAxis(const Tensor& whole, const Tensor& part, std::int64_t size) {
  if (!whole.shape || !part.shape || whole.shape->size() != part.shape->size()) return std::nullopt;
  std::optional<std::size_t> axis;
  for (std::size_t d = 0; d < whole.shape->size(); ++d) {
    if ((*whole.shape)[d] == (*part.shape)[d]) continue;
    if (axis || (*part.shape)[d] != size) return std::nullopt;
    axis = d;
  }
  return axis;
}

std::optional<std::size_t> AxisOfConstant(const Tensor& whole, const Tensor& part,
                                          std::int64_t begin, std::int64_t end) {
  const auto axis = CutAxis(whole, part, end - begin);
  if (!axis || !whole.constant || !part.constant || !whole.data || !part.data ||
      whole.type != part.type) {
    return std::nullopt;
  }
  const Shape& shape = *whole.shape;
  const std::int64_t elements = Count(shape, 0, shape.size());
  if (elements == 0 || begin < 0 || end > shape[*axis]) return std::nullopt;
  const auto each = static_cast<std::int64_t>(whole.data->bytes.size()) / elements;
  const std::int64_t run = Count(shape, *axis + 1, shape.size()) * each;
  const std::int64_t outer = Count(shape, 0, *axis);
  const std::int64_t bytes = (end - begin) * run;
  if (static_cast<std::int64_t>(part.data->bytes.size()) != outer * bytes) return std::nullopt;
  for (std::int64_t i = 0; i < outer; ++i) {
    const std::byte* const from = whole.data->bytes.data() + (i * shape[*axis] + begin) * run;
    if (!std::equal(from, from + bytes, part.data->bytes.data() + i * bytes)) return std::nullopt;
  }
  return axis;
}

bool ReducesLastAxis(const Subgraph& subgraph, const Op& op, std::size_t rank) {
  const bool keeps = ops::Is(op, OpKind::kSum, OpKind::kReduceMax)
                         ? IntegerOf(op, "keep_dims", 0) == 1
                         : IntegerOf(op, "keepdims", 1) == 1;
  const Integers axes = op.inputs.size() > 1 ? ListOf(subgraph, op, 1).value_or(Integers())
                                             : ListAttribute(op, "axes");
  return keeps && axes.size() == 1 && Normal(axes[0], rank) + 1 == rank;
}

bool StatesItsShape(const Subgraph& subgraph, const Op& op) {
  const auto stated = ListOf(subgraph, op, 1);
  const Shape* const shape = ShapeOf(subgraph, op.outputs, 0);
  const Integers attribute = ListAttribute(op, "new_shape");
  return stated && shape != nullptr && *stated == *shape &&
         (attribute.empty() || attribute == *shape);
}

bool IsSoftmaxOfRows(const Op& softmax, std::size_t rank) {
  if (ops::Is(softmax, OpKind::kSoftmax)) {
    const auto beta = softmax.attributes.find("beta");
    if (beta == softmax.attributes.end()) return true;
    const auto* const value = std::get_if<double>(&beta->second);
    return value != nullptr && *value == 1;
  }
  const std::int64_t otherwise = softmax.version < 13 ? 1 : -1;
  return Normal(IntegerOf(softmax, "axis", otherwise), rank) + 1 == rank;
}

bool HasFiniteMasks(const Subgraph& subgraph, TensorId scores) {
  const auto producer = graph::Producers(subgraph);
  for (std::size_t steps = 0; steps <= subgraph.ops.size(); ++steps) {
    const OpId id = producer[scores];
    if (!id.valid()) return false;
    const Op& op = subgraph.ops[id];
    TensorId next;
    int computed = 0;
    for (const TensorId input : op.inputs) {
      if (!input.valid()) continue;
      const Tensor& tensor = subgraph.tensors[input];
      if (tensor.constant && HasInfinity(tensor)) return false;
      if (tensor.constant) continue;
      ++computed;
      next = input;
    }
    if (ops::Is(op, OpKind::kBatchMatmul, OpKind::kOnnxMatMul) && computed == 2) return true;
    if (computed != 1) return false;
    scores = next;
  }
  return false;
}

bool IsPartOfOutput(const Subgraph& subgraph, const Op& op, const Axes& axes, std::size_t axis) {
  const Shape* const in = ShapeOf(subgraph, op.inputs, 0);
  const Shape* const out = ShapeOf(subgraph, op.outputs, 0);
  if (in == nullptr || out == nullptr || axis >= out->size()) return false;
  switch (ops::KindOf(op)) {
    case OpKind::kRelu:
    case OpKind::kRelu6:
    case OpKind::kReluN1To1:
    case OpKind::kLeakyRelu:
    case OpKind::kAbs:
    case OpKind::kNeg:
    case OpKind::kOnnxRelu:
    case OpKind::kOnnxLeakyRelu:
    case OpKind::kOnnxAbs:
    case OpKind::kOnnxNeg:
      return *in == *out && OnlyFirst(axes) && *axes[0] == axis;
    case OpKind::kAdd:
    case OpKind::kSub:
    case OpKind::kMul:
    case OpKind::kDiv:
    case OpKind::kOnnxAdd:
    case OpKind::kOnnxSub:
    case OpKind::kOnnxMul:
    case OpKind::kOnnxDiv:
      return Broadcasts(subgraph, op, axes, *out, axis);
    case OpKind::kReshape:
    case OpKind::kOnnxReshape:
    case OpKind::kSqueeze:
    case OpKind::kExpandDims:
    case OpKind::kOnnxSqueeze:
    case OpKind::kOnnxUnsqueeze:
      return OnlyFirst(axes) && AreSameRows(*in, *axes[0], *out, axis, 0);
    case OpKind::kTranspose:
    case OpKind::kOnnxTranspose:
      return Transposes(subgraph, op, axes, *in, axis);
    case OpKind::kOnnxLayerNormalization:
      return *in == *out && OnlyFirst(axes) && *axes[0] == axis &&
             axis < Normal(IntegerOf(op, "axis", -1), in->size());
    case OpKind::kFullyConnected:
    case OpKind::kOnnxGemm:
      return MultipliesRows(subgraph, op, axes, *in, *out, axis);
    case OpKind::kBatchMatmul:
    case OpKind::kOnnxMatMul:
      return Multiplies(subgraph, op, axes, *out, axis);
    default:
      return false;
  }
}

}  // namespace neap::check
