// SPDX-License-Identifier: Apache-2.0
#include "neap/transform/rewrite/rules/per_channel.h"

#include <algorithm>
#include <array>

#include "neap/ops/dependence.h"
#include "neap/ops/op_table.h"
#include "neap/transform/rewrite/rules/common.h"
#include "neap/transform/rewrite/slice.h"

namespace neap::rewrite {
namespace {

using graph::ElementType;
using graph::Op;
using graph::OpId;
using graph::TensorId;
using Kind = ChannelCut::Kind;
using ops::Is;
using ops::OpKind;

// Element by element, with results that do not depend on the position of an element in the tensor:
// kernels that compute several elements at a time approximate transcendental functions otherwise at
// the end of a row, and are left out unless a table contains their values (kTabled).
constexpr auto kUnary = std::to_array<OpKind>(
    {OpKind::kAbs, OpKind::kCeil, OpKind::kFloor, OpKind::kLeakyRelu, OpKind::kNeg, OpKind::kRelu,
     OpKind::kRelu6, OpKind::kRelu0To1, OpKind::kReluN1To1, OpKind::kRound, OpKind::kSquare,
     OpKind::kOnnxAbs, OpKind::kOnnxCeil, OpKind::kOnnxClip, OpKind::kOnnxFloor,
     OpKind::kOnnxLeakyRelu, OpKind::kOnnxNeg, OpKind::kOnnxRelu, OpKind::kOnnxSign});
constexpr auto kTabled =
    std::to_array<OpKind>({OpKind::kElu, OpKind::kExp, OpKind::kGelu, OpKind::kHardSwish,
                           OpKind::kLogistic, OpKind::kRsqrt, OpKind::kTanh});
constexpr auto kScaled =
    std::to_array<OpKind>({OpKind::kQuantize, OpKind::kDequantize, OpKind::kOnnxQuantizeLinear,
                           OpKind::kOnnxDequantizeLinear});
constexpr auto kBinary = std::to_array<OpKind>(
    {OpKind::kAdd, OpKind::kSub, OpKind::kMul, OpKind::kMaximum, OpKind::kMinimum,
     OpKind::kSquaredDifference, OpKind::kOnnxAdd, OpKind::kOnnxSub, OpKind::kOnnxMul,
     OpKind::kOnnxMax, OpKind::kOnnxMin, OpKind::kPrelu, OpKind::kOnnxPRelu});
constexpr auto kPools = std::to_array<OpKind>(
    {OpKind::kAveragePool2d, OpKind::kMaxPool2d, OpKind::kOnnxAveragePool, OpKind::kOnnxMaxPool,
     OpKind::kOnnxGlobalAveragePool, OpKind::kOnnxGlobalMaxPool});

template <typename List>
bool Contains(const List& list, OpKind kind) {
  return std::find(list.begin(), list.end(), kind) != list.end();
}

bool IsByte(const graph::Tensor& tensor) {
  return tensor.type == ElementType::kInt8 || tensor.type == ElementType::kUint8;
}

class Cutter {
 public:
  Cutter(const Draft& draft, OpId id, std::size_t axis)
      : draft_(draft), op_(draft.SourceOp(id)), axis_(axis) {
    cut_.inputs.resize(op_.inputs.size());
  }

  std::optional<ChannelCut> Run() {
    const TensorId data = InputOf(op_, 0);
    if (op_.outputs.size() != 1 || !data.valid()) return std::nullopt;
    const graph::Shape* in = ShapeOf(draft_, data);
    const graph::Shape* out = ShapeOf(draft_, op_.outputs.front());
    if (in == nullptr || out == nullptr || axis_ >= in->size()) return std::nullopt;
    if (!HasOneScale(draft_.TensorOf(data)) || !HasOneScale(draft_.TensorOf(op_.outputs.front()))) {
      return std::nullopt;
    }
    channels_ = (*in)[axis_];
    rank_ = in->size();
    cut_.inputs.front().kind = Kind::kPiece;
    if (!Dispatch() || out->size() != rank_ || (*out)[axis_] != channels_ * cut_.out_factor) {
      return std::nullopt;
    }
    return cut_;
  }

 private:
  bool Dispatch() {
    if (IsType(op_, OpKind::kDepthwiseConv2d)) return DepthwiseTflite();
    if (IsOnnx(op_) && Is(op_, OpKind::kOnnxConv)) return GroupedOnnx();
    const bool known = IsTflite(op_) || IsOnnx(op_);
    if (!known) return false;
    const OpKind kind = ops::KindOf(op_);
    if (Contains(kUnary, kind)) return true;
    if (Contains(kTabled, kind)) return IsByte(draft_.TensorOf(op_.inputs.front()));
    if (Contains(kScaled, kind)) return ScalarOperands();
    if (Contains(kBinary, kind)) return Binary();
    if (Contains(kPools, kind)) {
      // Batch and channels are apart from the window.
      return axis_ == (IsTflite(op_) ? rank_ - 1 : 1) && op_.inputs.size() == 1;
    }
    if (Is(op_, OpKind::kPad, OpKind::kPadv2)) return PadTflite();
    if (Is(op_, OpKind::kOnnxPad)) return PadOnnx();
    if (Is(op_, OpKind::kOnnxBatchNormalization)) return BatchNormalization();
    return false;
  }

  // Cuts input `index`, a constant with `factor` indices a channel along `axis`.
  bool Constant(std::size_t index, std::size_t axis, std::int64_t factor) {
    const TensorId id = InputOf(op_, index);
    if (!id.valid()) return true;
    const graph::Tensor& tensor = draft_.TensorOf(id);
    if (!CanSlice(tensor, axis) || (*tensor.shape)[axis] != channels_ * factor) return false;
    cut_.inputs[index] = {Kind::kConstant, axis, factor};
    return true;
  }

  bool DepthwiseTflite() {
    if (ops::IsHybrid(draft_.from(), op_)) return false;  // one scale for all of its input
    const graph::Shape* filter = ShapeOf(draft_, InputOf(op_, 1));
    if (filter == nullptr || filter->size() != 4 || axis_ != 3 || rank_ != 4) return false;
    if (channels_ <= 0 || (*filter)[3] % channels_ != 0) return false;
    cut_.out_factor = (*filter)[3] / channels_;
    return Constant(1, 3, cut_.out_factor) && Constant(2, 0, cut_.out_factor);
  }

  // Parts of whole groups.
  bool GroupedOnnx() {
    const graph::Shape* filter = ShapeOf(draft_, InputOf(op_, 1));
    const std::int64_t groups = IntOr(op_, "group", 1);
    if (filter == nullptr || axis_ != 1 || groups < 2 || channels_ % groups != 0) return false;
    if ((*filter)[0] % groups != 0) return false;
    cut_.groups_attribute = "group";
    cut_.group_channels = channels_ / groups;
    cut_.granularity = cut_.group_channels;
    // Output channels a data channel: whole for depthwise, else a fraction that granularity mends.
    const std::int64_t outputs = (*filter)[0];
    if (outputs % channels_ != 0) return false;
    cut_.out_factor = outputs / channels_;
    return Constant(1, 0, cut_.out_factor) && Constant(2, 0, cut_.out_factor);
  }

  // Scales and zero points of QuantizeLinear and similar operators: one for the tensor.
  bool ScalarOperands() const {
    for (std::size_t i = 1; i < op_.inputs.size(); ++i) {
      const TensorId id = op_.inputs[i];
      if (!id.valid()) continue;
      const graph::Shape* shape = ShapeOf(draft_, id);
      if (shape == nullptr || !draft_.TensorOf(id).constant) return false;
      for (const std::int64_t size : *shape) {
        if (size != 1) return false;
      }
    }
    return true;
  }

  // The other operand: in pieces at the same seams, a constant with one value for all channels or
  // one for each, or a tensor that is the same for all channels.
  bool Binary() {
    if (op_.inputs.size() != 2) return false;
    return Operand(0) && Operand(1);
  }

  bool Operand(std::size_t index) {
    const TensorId id = InputOf(op_, index);
    const graph::Shape* shape = ShapeOf(draft_, id);
    if (shape == nullptr || shape->size() > rank_) return false;
    const std::size_t missing = rank_ - shape->size();
    const bool same_for_all = axis_ < missing || (*shape)[axis_ - missing] == 1;
    ChannelCut::Input& input = cut_.inputs[index];
    if (draft_.TensorOf(id).constant) {
      if (same_for_all) {
        input = {Kind::kShared, 0, 1};
        return true;
      }
      return Constant(index, axis_ - missing, 1);
    }
    const Pieces* pieces = draft_.PiecesOf(id);
    if (pieces != nullptr && missing == 0 && pieces->axis == axis_ && !same_for_all) {
      input = {Kind::kPiece, axis_, 1};
      return true;
    }
    input = {Kind::kShared, 0, 1};
    return same_for_all;
  }

  bool PadTflite() {
    const auto amounts = IntegersOf(draft_.TensorOf(InputOf(op_, 1)));
    return amounts && amounts->size() == rank_ * 2 && (*amounts)[axis_ * 2] == 0 &&
           (*amounts)[axis_ * 2 + 1] == 0;
  }

  bool PadOnnx() {
    std::vector<std::int64_t> amounts = IntsOr(op_, "pads");
    if (amounts.empty()) {
      const TensorId given = InputOf(op_, 1);
      if (!given.valid() || InputOf(op_, 3).valid()) return false;
      const auto values = IntegersOf(draft_.TensorOf(given));
      if (!values) return false;
      amounts = *values;
    }
    return amounts.size() == rank_ * 2 && amounts[axis_] == 0 && amounts[rank_ + axis_] == 0;
  }

  bool BatchNormalization() {
    if (axis_ != 1 || op_.inputs.size() != 5) return false;
    // No map: statistics of the batch.
    const auto& shape = draft_.TensorOf(op_.outputs.front()).shape;
    if (!ops::NeedOf(draft_.from(), op_, 0, ops::WholeBox(*shape))) return false;
    for (std::size_t i = 1; i < 5; ++i) {
      if (!Constant(i, 0, 1)) return false;
    }
    return true;
  }

  const Draft& draft_;
  const Op& op_;
  std::size_t axis_;
  std::size_t rank_ = 0;
  std::int64_t channels_ = 0;
  ChannelCut cut_;
};

}  // namespace

std::optional<ChannelCut> CutOf(const Draft& draft, OpId op, std::size_t axis) {
  return Cutter(draft, op, axis).Run();
}

}  // namespace neap::rewrite
