// SPDX-License-Identifier: Apache-2.0
//
// split-conv: a convolution gives its output channels in pieces, where its reader can take them one
// by one.
//
// Pattern: CONV_2D / Conv of one group -> an operator that works on pieces (kernel-wise or
//   channel-wise), and no other operator.
// Conditions: constant weights; the parameter is the number of pieces, all of one size.
// Memory: one piece of the output at a time, if what follows takes it at once. The input lives
//   until the last piece.
// Exactness: an output channel is a function of its own weights. Bitwise for integers, and for
//   floats in Neap's executor; stock libraries choose the blocks in which they sum the products by
//   the number of channels, so that floats there are Reassociates, as in channel-wise.
#include "neap/ops/op_table.h"
#include "neap/transform/rewrite/rules/common.h"
#include "neap/transform/rewrite/rules/per_channel.h"
#include "neap/transform/rewrite/rules/rules.h"
#include "neap/transform/rewrite/slice.h"

namespace neap::rewrite {
namespace {

using graph::ElementType;
using graph::Op;
using graph::OpId;
using graph::TensorId;
using ops::OpKind;

std::size_t ChannelAxis(const Op& op) { return IsTflite(op) ? 3 : 1; }

// The reader could work on pieces of the tensor.
bool TakesPieces(const Draft& draft, OpId reader, TensorId tensor, std::size_t axis) {
  const Op& op = draft.SourceOp(reader);
  if (!draft.IsPlain(reader) || op.inputs.empty() || op.inputs[0] != tensor) return false;
  // The seams of another operand would have to be these.
  for (std::size_t i = 1; i < op.inputs.size(); ++i) {
    if (op.inputs[i].valid() && !draft.TensorOf(op.inputs[i]).constant) return false;
  }
  if (IsType(op, OpKind::kConv2d, OpKind::kOnnxConv) && IntOr(op, "group", 1) == 1) {
    const graph::Shape* filter = ShapeOf(draft, InputOf(op, 1));
    return filter != nullptr && draft.TensorOf(op.inputs[1]).constant &&
           (*filter)[IsTflite(op) ? 3 : 1] == (*draft.TensorOf(tensor).shape)[axis];
  }
  return CutOf(draft, reader, axis).has_value();
}

bool IsPlainType(const Draft& draft, const Op& op) {
  const graph::Tensor& x = draft.TensorOf(op.inputs[0]);
  const graph::Tensor& w = draft.TensorOf(op.inputs[1]);
  const bool bytes = x.type == ElementType::kInt8 || x.type == ElementType::kUint8;
  return x.type == w.type && (bytes || x.type == ElementType::kFloat32);
}

std::optional<plan::Exactness> Match(const Draft& draft, OpId id) {
  const Op& op = draft.SourceOp(id);
  if (!IsType(op, OpKind::kConv2d, OpKind::kOnnxConv) || op.inputs.size() < 2 ||
      op.outputs.size() != 1) {
    return std::nullopt;
  }
  const TensorId out = op.outputs[0];
  const graph::Shape* shape = ShapeOf(draft, out);
  const graph::Shape* filter = ShapeOf(draft, op.inputs[1]);
  const graph::Shape* in = ShapeOf(draft, op.inputs[0]);
  const std::size_t axis = ChannelAxis(op);
  if (shape == nullptr || filter == nullptr || in == nullptr || shape->size() <= axis ||
      filter->size() != shape->size() || in->size() != shape->size() || draft.IsOutput(out)) {
    return std::nullopt;
  }
  const bool one_group = IsTflite(op) ? (*filter)[3] == (*in)[3] : IntOr(op, "group", 1) == 1;
  if (!one_group || !IsPlainType(draft, op) || !CanSlice(draft.TensorOf(op.inputs[1]), 0) ||
      !HasOneScale(draft.TensorOf(out))) {
    return std::nullopt;
  }
  const TensorId bias = InputOf(op, 2);
  if (bias.valid() && !CanSlice(draft.TensorOf(bias), 0)) return std::nullopt;
  const auto& readers = draft.ReadersOf(out);
  if (readers.size() != 1 || !TakesPieces(draft, readers.front(), out, axis)) return std::nullopt;
  if (!MayAdd(draft, OpKind::kConcatenation, OpKind::kOnnxConcat, out)) return std::nullopt;
  if ((*shape)[axis] % 2 != 0 || (*shape)[axis] < 16) return std::nullopt;
  const bool floats = draft.TensorOf(out).type == ElementType::kFloat32;
  return floats && !draft.settings().own_kernels ? plan::Exactness::kReassociates
                                                 : plan::Exactness::kBitwise;
}

std::vector<Parameters> Variants(const Draft& draft, OpId id) {
  const Op& op = draft.SourceOp(id);
  const std::int64_t channels = (*draft.TensorOf(op.outputs[0]).shape)[ChannelAxis(op)];
  std::vector<Parameters> variants = {{2}};
  if (channels % 4 == 0 && channels >= 32) variants.push_back({4});
  return variants;
}

void Split(Draft* draft, OpId id, std::int64_t count, bool free) {
  const Op& op = draft->SourceOp(id);
  const TensorId out = op.outputs[0];
  const std::size_t axis = ChannelAxis(op);
  const std::int64_t size = (*draft->TensorOf(out).shape)[axis] / count;
  Pieces made{axis, {}};
  for (std::int64_t k = 0; k < count; ++k) {
    const std::string suffix = "/part" + std::to_string(k);
    Op part = draft->Like(id, suffix);
    part.inputs = draft->Readable(op.inputs[0]);
    part.inputs.push_back(draft->Slice(op.inputs[1], 0, k * size, size));
    const TensorId bias = InputOf(op, 2);
    if (bias.valid()) part.inputs.push_back(draft->Slice(bias, 0, k * size, size));
    const TensorId tensor = draft->NewTensor(out, suffix);
    Resize(&draft->Edit(tensor), axis, size);
    part.outputs = {tensor};
    draft->Emit(std::move(part));
    made.pieces.push_back({tensor, size});
  }
  draft->SetPieces(out, std::move(made), free);
}

bool Apply(Draft* draft, OpId id, const Parameters& parameters) {
  const Op& op = draft->SourceOp(id);
  const std::int64_t count = parameters.empty() ? 2 : parameters.front();
  const std::int64_t channels = (*draft->TensorOf(op.outputs[0]).shape)[ChannelAxis(op)];
  if (parameters.size() > 1 || count < 2 || count > channels || channels % count != 0) return false;
  Split(draft, id, count, false);
  return true;
}

void Relax(Draft* draft, OpId id) { Split(draft, id, Variants(*draft, id).back().front(), true); }

}  // namespace

Rule SplitConvRule() {
  return {{"split-conv", "compute the output channels of a convolution in pieces", false},
          Match,
          Apply,
          Relax,
          Variants};
}

}  // namespace neap::rewrite
