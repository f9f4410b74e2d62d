// SPDX-License-Identifier: Apache-2.0
#include "neap/execute/box.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "neap/execute/loops/strided.h"
#include "neap/execute/part_views.h"
#include "neap/ops/dependence.h"
#include "neap/ops/op_table.h"
#include "neap/ops/traits.h"

namespace neap::execute {
namespace {

using graph::OpId;
using graph::TensorId;
using ops::Is;
using ops::OpKind;

constexpr std::size_t kRank = 4;

bool IsOnnx(const graph::Op& op) { return ops::IsDefaultOnnxDomain(op.domain); }

bool IsWindow(const graph::Op& op) {
  return Is(op, OpKind::kConv2d, OpKind::kDepthwiseConv2d, OpKind::kMaxPool2d,
            OpKind::kAveragePool2d);
}

bool IsPad(const graph::Op& op) { return Is(op, OpKind::kPad, OpKind::kPadv2); }

// A constant beside an image must be the same at every place.
bool VariesInSpace(const graph::Subgraph& subgraph, const plan::StreamImages& images,
                   const graph::Op& op, std::size_t input) {
  const graph::Tensor& tensor = subgraph.tensors[op.inputs[input]];
  const graph::Tensor& out = subgraph.tensors[op.outputs[0]];
  const plan::StreamImage& image = images[op.outputs[0]];
  if (IsOnnx(op) || !image.column_axis || !ops::IsElementwise(op)) {
    if (!tensor.shape || !out.shape) return true;
    ops::Box corner = ops::WholeBox(*out.shape);
    if (image.row_axis) corner[*image.row_axis].end = 1;
    if (image.column_axis) corner[*image.column_axis].end = 1;
    const auto need = ops::NeedOf(subgraph, op, input, corner);
    return !need || need->box != ops::WholeBox(*tensor.shape);
  }
  if (!tensor.shape || tensor.shape->empty()) return false;
  const graph::Shape& shape = *tensor.shape;
  for (std::size_t d = 0; d + 1 < shape.size(); ++d) {
    if (shape[d] != 1) return true;
  }
  return false;
}

bool RunsOnSmallerOnnxShapes(const graph::Op& op) {
  const bool window = Is(op, OpKind::kOnnxAveragePool, OpKind::kOnnxConv, OpKind::kOnnxConvInteger,
                         OpKind::kOnnxMaxPool, OpKind::kOnnxQLinearConv);
  if (window) return IntOr(op, "ceil_mode", 0) == 0;
  return ops::IsElementwise(op) ||
         Is(op, OpKind::kOnnxConcat, OpKind::kOnnxGather, OpKind::kOnnxGemm,
            OpKind::kOnnxLayerNormalization, OpKind::kOnnxLogSoftmax, OpKind::kOnnxMatMul,
            OpKind::kOnnxReduceMax, OpKind::kOnnxReduceMean, OpKind::kOnnxReduceMin,
            OpKind::kOnnxReduceSum, OpKind::kOnnxSoftmax);
}

// Kernels whose part is that of smaller shapes.
bool RunsOnSmallerShapes(const graph::Op& op) {
  if (IsOnnx(op)) return RunsOnSmallerOnnxShapes(op);
  return IsWindow(op) || IsPad(op) || ops::IsElementwise(op) ||
         Is(op, OpKind::kArgMax, OpKind::kArgMin, OpKind::kBatchMatmul, OpKind::kConcatenation,
            OpKind::kFullyConnected, OpKind::kGather, OpKind::kL2Normalization,
            OpKind::kLocalResponseNormalization, OpKind::kLogSoftmax, OpKind::kMean,
            OpKind::kReduceMax, OpKind::kReduceMin, OpKind::kSoftmax, OpKind::kSum);
}

// Kernels that place their elements by the size of the whole.
bool RunsWithinShapes(const graph::Op& op) {
  return Is(op, OpKind::kDepthToSpace, OpKind::kMirrorPad, OpKind::kResizeBilinear,
            OpKind::kResizeNearestNeighbor, OpKind::kSlice, OpKind::kSpaceToDepth,
            OpKind::kStridedSlice, OpKind::kTile, OpKind::kTransposeConv,
            OpKind::kOnnxConvTranspose, OpKind::kOnnxDepthToSpace, OpKind::kOnnxPad,
            OpKind::kOnnxResize, OpKind::kOnnxSlice, OpKind::kOnnxSpaceToDepth, OpKind::kOnnxTile,
            OpKind::kOnnxUpsample);
}

// Kernels that place their elements by their number or index in the whole.
bool MovesElements(const graph::Op& op) {
  return ops::IsReshapeLike(op) || Is(op, OpKind::kTranspose, OpKind::kOnnxTranspose);
}

// The input that such an operator moves or resamples.
std::size_t DataInput(const graph::Op& op) { return Is(op, OpKind::kTransposeConv) ? 2 : 0; }

// Of four dimensions.
bool IsImage(const graph::Subgraph& subgraph, const plan::StreamImages& images, TensorId tensor) {
  const auto& shape = subgraph.tensors[tensor].shape;
  return images[tensor].column_axis.has_value() && shape && shape->size() == kRank;
}

// Rows of other tensors than images: operators whose kernels are made for four dimensions have
// none.
bool CutsAnyShape(const plan::StreamImages& images, const graph::Op& op) {
  if (MovesElements(op)) return true;
  if (IsPad(op) || RunsWithinShapes(op)) return false;
  const plan::StreamImage& out = images[op.outputs[0]];
  const std::size_t batch = 0;
  const bool onnx = Is(op, OpKind::kOnnxAveragePool, OpKind::kOnnxConv, OpKind::kOnnxConvInteger,
                       OpKind::kOnnxMaxPool, OpKind::kOnnxQLinearConv);
  if (!onnx && !IsWindow(op)) return true;
  return out.row_axis == batch || (onnx && out.channels_first);
}

Status RequireParts(const graph::Subgraph& subgraph, const plan::StreamImages& images,
                    const graph::Op& op) {
  const bool first = plan::HasChannelsFirst(subgraph);
  const bool known =
      (first ? IsOnnx(op) : op.domain == "tflite") && op.outputs.size() == 1 &&
      op.outputs[0].valid() &&
      (RunsOnSmallerShapes(op) || RunsWithinShapes(op) || MovesElements(op)) &&
      (!RunsWithinShapes(op) || IsImage(subgraph, images, op.inputs[DataInput(op)])) &&
      (IsImage(subgraph, images, op.outputs[0]) || CutsAnyShape(images, op));
  NEAP_CHECK_OK(Require(known, "has no kernel for a part of its output"));
  const bool takes_whole = ops::IsElementwise(op) ||
                           Is(op, OpKind::kBatchMatmul, OpKind::kGather, OpKind::kOnnxGather) ||
                           !IsImage(subgraph, images, op.outputs[0]);
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    const TensorId tensor = op.inputs[i];
    const bool varies = takes_whole && tensor.valid() && subgraph.tensors[tensor].constant &&
                        VariesInSpace(subgraph, images, op, i);
    NEAP_CHECK_OK(Require(!varies, "has a constant that is not the same at every place"));
  }
  return {};
}

graph::Shape Cut(graph::Shape shape, const plan::StreamImage& image, const ImagePart& part) {
  if (image.row_axis) shape[*image.row_axis] = part.rows.size();
  if (image.column_axis) shape[*image.column_axis] = part.columns.size();
  return shape;
}

// The shape of an input of which a part of a concatenation needs nothing, by that of the part.
graph::Shape WithoutAny(const graph::Op& op, graph::Shape part) {
  const std::int64_t axis = IntOr(op, "axis", 0);
  const auto rank = static_cast<std::int64_t>(part.size());
  part[static_cast<std::size_t>(axis < 0 ? axis + rank : axis)] = 0;
  return part;
}

ops::Box BoxOf(const graph::Tensor& tensor, const plan::StreamImage& image, const ImagePart& part) {
  ops::Box box = ops::WholeBox(*tensor.shape);
  if (image.row_axis) box[*image.row_axis] = {part.rows.first, part.rows.last};
  if (image.column_axis) box[*image.column_axis] = {part.columns.first, part.columns.last};
  return box;
}

Within::Range RangeOf(const plan::StreamRange& range) { return {range.first, range.last}; }

}  // namespace

struct BoxKernels::Shapes {
  std::vector<ImagePart> needs;
  std::vector<ops::Need::Padding> padding;  // of input 0, by dimension
};

Result<BoxKernels::Shapes> BoxKernels::ShapesOf(OpId id, const ImagePart& part,
                                                std::size_t output) const {
  const graph::Subgraph& subgraph = program_.subgraph();
  const graph::Op& op = subgraph.ops[id];
  const TensorId out = op.outputs[output];
  const ops::Box box = BoxOf(subgraph.tensors[out], images_[out], part);
  const bool splits = ops::Has(op, ops::trait::kSplits);
  NEAP_CHECK_OK(Require(splits || ops::ComputesPart(subgraph, op, box),
                        "is cut, and its arithmetic depends on all of its input"));
  Shapes shapes;
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    shapes.needs.emplace_back();
    if (!op.inputs[i].valid() || program_.IsConstant(op.inputs[i])) continue;
    const auto need = ops::NeedOf(subgraph, op, i, box, output);
    NEAP_CHECK_OK(Require(need.has_value(), "has no dependence map"));
    if (i == 0) shapes.padding = need->padding;
    if (ops::IsEmpty(need->box)) continue;
    const plan::StreamImage& image = images_[op.inputs[i]];
    const auto along = [&](const std::optional<std::size_t>& axis, std::int64_t size) {
      if (!axis || size == 1) return plan::StreamRange{0, size};
      return plan::StreamRange{need->box[*axis].begin, need->box[*axis].end};
    };
    shapes.needs.back() = {along(image.row_axis, image.height),
                           along(image.column_axis, image.width)};
  }
  return shapes;
}

Result<BoxNeed> BoxKernels::Prepare(OpId id, const ImagePart& part, std::size_t output) {
  NEAP_TRY(Shapes shapes, ShapesOf(id, part, output));
  if (ops::CopiesBoxes(program_.subgraph(), program_.subgraph().ops[id])) {
    return PreparePiece(id, part, output, &shapes);
  }
  if (RunsWithinShapes(program_.subgraph().ops[id])) return PrepareWithin(id, part, &shapes);
  if (MovesElements(program_.subgraph().ops[id])) return PrepareMoved(id, part, &shapes);
  if (IsPad(program_.subgraph().ops[id]) && shapes.padding.size() == kRank &&
      shapes.needs[0].empty()) {
    // Nothing but padding.
    shapes.padding[1] = {part.rows.size(), 0};
    shapes.padding[2] = {part.columns.size(), 0};
  }
  std::vector<std::int64_t> key = {id.value(), part.rows.size(), part.columns.size()};
  for (const ImagePart& need : shapes.needs) {
    key.push_back(need.rows.size());
    key.push_back(need.columns.size());
  }
  for (const auto& padding : shapes.padding) {
    key.push_back(padding.before);
    key.push_back(padding.after);
  }
  auto found = kernels_.find(key);
  if (found == kernels_.end()) {
    const graph::Op& op = program_.subgraph().ops[id];
    NEAP_CHECK_OK(RequireParts(program_.subgraph(), images_, op));
    Program::PartShapes prepared;
    const plan::StreamImage& out = images_[op.outputs[0]];
    prepared.output = Cut(*program_.subgraph().tensors[op.outputs[0]].shape, out, part);
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      const bool cut = op.inputs[i].valid() && !program_.IsConstant(op.inputs[i]);
      prepared.inputs.emplace_back();
      if (!cut) continue;
      const graph::Shape& whole = *program_.subgraph().tensors[op.inputs[i]].shape;
      const plan::StreamImage& image = images_[op.inputs[i]];
      const bool nothing =
          shapes.needs[i].empty() && Is(op, OpKind::kConcatenation, OpKind::kOnnxConcat);
      prepared.inputs.back() =
          nothing ? WithoutAny(op, prepared.output) : Cut(whole, image, shapes.needs[i]);
    }
    if (shapes.padding.size() + 1 == kRank && out.channels_first) {
      prepared.pad = Padding{shapes.padding[2].before, shapes.padding[2].after, 0, 0};
    } else if (shapes.padding.size() == kRank) {
      const std::size_t axis = IsOnnx(op) ? 2 : 1;
      const auto& rows = shapes.padding[axis];
      const auto& columns = shapes.padding[axis + 1];
      prepared.pad = Padding{rows.before, rows.after, columns.before, columns.after};
    }
    if (Is(op, OpKind::kGather, OpKind::kOnnxGather)) {
      NEAP_TRY(const auto indices, IndicesOf(op, part, shapes, &prepared));
      if (indices) {
        NEAP_TRY(RunKernel whole, program_.PreparePart(id, prepared, false));
        within_ = WithPartOfIndices(std::move(whole), indices->first, indices->size());
        return BoxNeed{std::move(shapes.needs), &within_};
      }
    }
    NEAP_TRY(RunKernel kernel, program_.PreparePart(id, prepared, IsPad(op)));
    found = kernels_.emplace(std::move(key), std::move(kernel)).first;
  }
  return BoxNeed{std::move(shapes.needs), &found->second};
}

// Rows that are those of the indices of a gather, which has one pixel of them: the bytes of the
// indices that the part takes. nullopt: it takes all that it is given.
Result<std::optional<plan::StreamRange>> BoxKernels::IndicesOf(
    const graph::Op& op, const ImagePart& part, const Shapes& shapes,
    Program::PartShapes* prepared) const {
  const graph::Subgraph& subgraph = program_.subgraph();
  const auto row = images_[op.outputs[0]].row_axis;
  const TensorId tensor = op.inputs[1];
  const graph::Shape& whole = *subgraph.tensors[tensor].shape;
  NEAP_TRY(const std::size_t axis,
           NormalAxis(IntOr(op, "axis", 0), subgraph.tensors[op.inputs[0]].shape->size()));
  const bool cuts = row && *row >= axis && *row < axis + whole.size();
  if (!cuts || part.rows.size() == images_[op.outputs[0]].height) return std::nullopt;
  NEAP_CHECK_OK(Require(
      !program_.IsConstant(tensor) && shapes.needs[1].pixels() == 1 && images_[tensor].height == 1,
      "is cut along indices that are not one pixel"));
  prepared->inputs[1] = whole;
  prepared->inputs[1][*row - axis] = part.rows.size();
  const std::int64_t row_bytes = images_[tensor].pixel_bytes / whole[*row - axis];
  return std::optional(plan::StreamRange{part.rows.first * row_bytes, part.rows.last * row_bytes});
}

Result<BoxNeed> BoxKernels::PrepareMoved(OpId id, const ImagePart& part, Shapes* shapes) {
  const graph::Subgraph& subgraph = program_.subgraph();
  const graph::Op& op = subgraph.ops[id];
  NEAP_CHECK_OK(RequireParts(subgraph, images_, op));
  const graph::Tensor& in = subgraph.tensors[op.inputs[0]];
  const graph::Tensor& out = subgraph.tensors[op.outputs[0]];
  std::vector<std::int64_t> given;
  if (Is(op, OpKind::kTranspose)) {
    given = ReadIntegers(subgraph.tensors[op.inputs[1]].type, program_.ConstantBytes(op.inputs[1]));
  } else if (Is(op, OpKind::kOnnxTranspose)) {
    given = IntsOr(op, "perm", {});
    for (std::size_t d = in.shape->size(); given.size() < in.shape->size();) {
      given.push_back(static_cast<std::int64_t>(--d));
    }
  }
  std::vector<std::size_t> order;
  for (const std::int64_t axis : given) {
    NEAP_TRY(const std::size_t at, NormalAxis(axis, in.shape->size()));
    order.push_back(at);
  }
  NEAP_TRY(within_, MovedPart(in, BoxOf(in, images_[op.inputs[0]], shapes->needs[0]), out,
                              BoxOf(out, images_[op.outputs[0]], part), order));
  return BoxNeed{std::move(shapes->needs), &within_};
}

// The part of a split's output is that box of its input which the part needs.
Result<BoxNeed> BoxKernels::PreparePiece(OpId id, const ImagePart& part, std::size_t output,
                                         Shapes* shapes) {
  const graph::Subgraph& subgraph = program_.subgraph();
  const graph::Op& op = subgraph.ops[id];
  const TensorId to = op.outputs[output];
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    const TensorId from = op.inputs[i];
    if (!from.valid() || program_.IsConstant(from)) continue;
    const auto need =
        ops::NeedOf(subgraph, op, i, BoxOf(subgraph.tensors[to], images_[to], part), output);
    NEAP_CHECK_OK(Require(need.has_value(), "has no dependence map"));
    NEAP_TRY(within_, PieceOf(subgraph.tensors[from],
                              BoxOf(subgraph.tensors[from], images_[from], shapes->needs[i]),
                              need->box, i, output));
    return BoxNeed{std::move(shapes->needs), &within_};
  }
  return Fail(BadInput("has no input that it splits"));
}

// Nearly every part has a kernel of its own, which is not kept.
Result<BoxNeed> BoxKernels::PrepareWithin(OpId id, const ImagePart& part, Shapes* shapes) {
  const graph::Op& op = program_.subgraph().ops[id];
  NEAP_CHECK_OK(RequireParts(program_.subgraph(), images_, op));
  const ImagePart& need = shapes->needs[DataInput(op)];
  Program::PartShapes prepared;
  prepared.within = Within{{RangeOf(part.rows), RangeOf(part.columns)},
                           {RangeOf(need.rows), RangeOf(need.columns)}};
  NEAP_TRY(within_, program_.PreparePart(id, prepared, false));
  return BoxNeed{std::move(shapes->needs), &within_};
}

}  // namespace neap::execute
