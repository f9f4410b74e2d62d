// SPDX-License-Identifier: Apache-2.0
#include "neap/transform/rewrite/rules/key_axis.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <numeric>
#include <utility>

#include "neap/ops/op_table.h"
#include "neap/transform/rewrite/rules/common.h"
#include "neap/transform/rewrite/slice.h"

namespace neap::rewrite {
namespace {

using graph::ElementType;
using graph::Op;
using graph::OpId;
using graph::Shape;
using graph::Tensor;
using graph::TensorId;
using ops::OpKind;

bool IsAdjoint(const Op& op, const char* name) { return IsTflite(op) && IntOr(op, name, 0) != 0; }

std::int64_t CountBefore(const Shape& shape, std::size_t axis) {
  return std::accumulate(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(axis),
                         std::int64_t{1}, std::multiplies<>());
}

// The axis of `from` that the axis of `to`, the same elements in the same order, comes from.
InputAxis SameRows(const Shape& from, const Shape& to, std::size_t axis) {
  const std::int64_t before = CountBefore(to, axis);
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (from[i] == to[axis] && CountBefore(from, i) == before) return i;
  }
  return std::nullopt;
}

// The axis of an operand of a broadcasting operator; nullopt: all of it has one index there.
InputAxis Broadcast(const Shape& operand, const Shape& out, std::size_t axis) {
  const std::size_t missing = out.size() - operand.size();
  if (axis < missing || operand[axis - missing] == 1) return std::nullopt;
  return axis - missing;
}

class Stepper {
 public:
  Stepper(const Draft& draft, OpId id, std::size_t axis)
      : draft_(draft), op_(draft.SourceOp(id)), axis_(axis) {}

  std::optional<AxisStep> Step() {
    if (op_.outputs.size() != 1 || op_.inputs.empty()) return std::nullopt;
    out_ = ShapeOf(draft_, op_.outputs[0]);
    if (out_ == nullptr || axis_ >= out_->size() || !AreFloats()) return std::nullopt;
    step_.inputs.resize(op_.inputs.size());
    if (!Find()) return std::nullopt;
    bool any = false;
    for (std::size_t i = 0; i < op_.inputs.size(); ++i) {
      if (!step_.inputs[i]) continue;
      const Tensor& input = draft_.TensorOf(op_.inputs[i]);
      if ((*input.shape)[*step_.inputs[i]] != (*out_)[axis_]) return std::nullopt;
      if (input.constant && !CanSlice(input, *step_.inputs[i])) return std::nullopt;
      any = any || !input.constant;
    }
    if (!any) return std::nullopt;
    return std::move(step_);
  }

 private:
  const Shape* In(std::size_t i) const { return ShapeOf(draft_, InputOf(op_, i)); }
  bool IsConstant(std::size_t i) const {
    const TensorId id = InputOf(op_, i);
    return id.valid() && draft_.TensorOf(id).constant;
  }

  bool AreFloats() const {
    return draft_.TensorOf(op_.outputs[0]).type == ElementType::kFloat32 && op_.inputs[0].valid() &&
           draft_.TensorOf(op_.inputs[0]).type == ElementType::kFloat32;
  }

  bool Find() {
    if (IsType(op_, OpKind::kFullyConnected)) return FullyConnected();
    if (IsType(op_, OpKind::kBatchMatmul, OpKind::kOnnxMatMul)) return Product();
    if (IsType(op_, OpKind::kOnnxGemm)) return Gemm();
    if (IsType(op_, OpKind::kAdd, OpKind::kSub, OpKind::kMul, OpKind::kDiv, OpKind::kOnnxAdd,
               OpKind::kOnnxSub, OpKind::kOnnxMul, OpKind::kOnnxDiv)) {
      return TwoOperands();
    }
    if (IsType(op_, OpKind::kRelu, OpKind::kRelu6, OpKind::kReluN1To1, OpKind::kLeakyRelu,
               OpKind::kAbs, OpKind::kNeg, OpKind::kOnnxRelu, OpKind::kOnnxLeakyRelu,
               OpKind::kOnnxAbs, OpKind::kOnnxNeg)) {
      return In(0) != nullptr && *In(0) == *out_ && Cut(0, axis_);
    }
    if (IsType(op_, OpKind::kReshape, OpKind::kOnnxReshape)) {
      step_.new_shape = true;
      return op_.inputs.size() == 2 && IsConstant(1) && In(0) != nullptr &&
             Cut(0, SameRows(*In(0), *out_, axis_));
    }
    if (IsType(op_, OpKind::kSqueeze, OpKind::kExpandDims, OpKind::kOnnxSqueeze,
               OpKind::kOnnxUnsqueeze)) {
      return In(0) != nullptr && Cut(0, SameRows(*In(0), *out_, axis_));
    }
    if (IsType(op_, OpKind::kTranspose, OpKind::kOnnxTranspose)) return Transpose();
    if (IsType(op_, OpKind::kOnnxLayerNormalization)) return LayerNormalization();
    return false;
  }

  bool Cut(std::size_t input, InputAxis axis) {
    step_.inputs[input] = axis;
    return axis.has_value();
  }

  bool AreWeights(std::size_t i) const {
    return IsConstant(i) && draft_.TensorOf(op_.inputs[i]).type == ElementType::kFloat32;
  }

  bool FullyConnected() {
    if (In(0) == nullptr || op_.inputs.size() < 2 || !AreWeights(1)) return false;
    if (op_.inputs.size() > 2 && op_.inputs[2].valid() && !IsConstant(2)) return false;
    if (axis_ + 1 >= out_->size() || In(0)->empty()) return false;
    Shape from = *In(0);
    Shape to = *out_;
    from.pop_back();
    to.pop_back();
    return Cut(0, SameRows(from, to, axis_));
  }

  bool Product() {
    const Shape* const a = In(0);
    const Shape* const b = In(1);
    if (a == nullptr || b == nullptr || a->size() < 2 || b->size() < 2) return false;
    if (a->size() != out_->size() || (b->size() != a->size() && !IsConstant(1))) return false;
    if (draft_.TensorOf(op_.inputs[1]).type != ElementType::kFloat32) return false;
    if (axis_ + 1 == out_->size()) {
      return Cut(1, IsAdjoint(op_, "adj_y") ? b->size() - 2 : b->size() - 1);
    }
    if (axis_ + 2 != out_->size()) return IsConstant(1) && b->size() == 2 && Cut(0, axis_);
    return Cut(0, IsAdjoint(op_, "adj_x") ? a->size() - 1 : a->size() - 2);
  }

  bool Gemm() {
    if (IntOr(op_, "transA", 0) != 0 || axis_ != 0 || In(0) == nullptr || !AreWeights(1)) {
      return false;
    }
    const TensorId bias = InputOf(op_, 2);
    if (bias.valid()) {
      if (!IsConstant(2) || In(2) == nullptr || In(2)->size() > out_->size()) return false;
      step_.inputs[2] = Broadcast(*In(2), *out_, axis_);
    }
    return Cut(0, 0);
  }

  bool TwoOperands() {
    if (op_.inputs.size() != 2) return false;
    for (std::size_t i = 0; i < 2; ++i) {
      const Shape* const shape = In(i);
      if (shape == nullptr || shape->size() > out_->size()) return false;
      if (IsConstant(i) && !IsFinite(draft_.TensorOf(op_.inputs[i]))) return false;
      step_.inputs[i] = Broadcast(*shape, *out_, axis_);
    }
    return true;
  }

  bool Transpose() {
    const Shape* const shape = In(0);
    if (shape == nullptr || shape->size() != out_->size()) return false;
    std::vector<std::int64_t> order = IntsOr(op_, "perm");
    if (IsTflite(op_)) {
      const auto given = op_.inputs.size() == 2 && op_.inputs[1].valid()
                             ? IntegersOf(draft_.TensorOf(op_.inputs[1]))
                             : std::nullopt;
      if (!given) return false;
      order = *given;
    } else if (order.empty()) {
      order.resize(shape->size());
      std::iota(order.rbegin(), order.rend(), 0);
    }
    if (order.size() != shape->size()) return false;
    const auto from = AxisOf(order[axis_], shape->size());
    return from && Cut(0, *from);
  }

  bool LayerNormalization() {
    const Shape* const shape = In(0);
    if (shape == nullptr || *shape != *out_) return false;
    const auto first = AxisOf(IntOr(op_, "axis", -1), shape->size());
    return first && axis_ < *first && Cut(0, axis_);
  }

  const Draft& draft_;
  const Op& op_;
  const std::size_t axis_;
  const Shape* out_ = nullptr;
  AxisStep step_;
};

}  // namespace

bool IsFinite(const Tensor& constant) {
  if (!constant.data || constant.type != ElementType::kFloat32) return false;
  const auto bytes = constant.data->bytes;
  for (std::size_t at = 0; at + sizeof(float) <= bytes.size(); at += sizeof(float)) {
    float value = 0;
    std::memcpy(&value, bytes.data() + at, sizeof(value));
    if (!std::isfinite(value)) return false;
  }
  return true;
}

std::optional<AxisStep> StepThrough(const Draft& draft, OpId id, std::size_t axis) {
  return Stepper(draft, id, axis).Step();
}

bool IsProductOfActivations(const Draft& draft, OpId id) {
  const Op& op = draft.SourceOp(id);
  return IsType(op, OpKind::kBatchMatmul, OpKind::kOnnxMatMul) && op.inputs.size() == 2 &&
         !draft.TensorOf(op.inputs[0]).constant && !draft.TensorOf(op.inputs[1]).constant;
}

}  // namespace neap::rewrite
