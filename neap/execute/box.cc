// SPDX-License-Identifier: Apache-2.0
#include "neap/execute/box.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "neap/execute/loops/strided.h"
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
bool VariesInSpace(const graph::Subgraph& subgraph, const graph::Op& op, std::size_t input) {
  const graph::Tensor& tensor = subgraph.tensors[op.inputs[input]];
  if (IsOnnx(op)) {
    const graph::Tensor& out = subgraph.tensors[op.outputs[0]];
    if (!tensor.shape || !out.shape || out.shape->size() != kRank) return true;
    ops::Box corner = ops::WholeBox(*out.shape);
    corner[2].end = corner[3].end = 1;
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

         Is(op, OpKind::kOnnxConcat, OpKind::kOnnxLogSoftmax, OpKind::kOnnxMatMul,
            OpKind::kOnnxSoftmax);
}

// Kernels whose part is that of smaller shapes.
bool RunsOnSmallerShapes(const graph::Op& op) {
  if (IsOnnx(op)) return RunsOnSmallerOnnxShapes(op);
  return IsWindow(op) || IsPad(op) || ops::IsElementwise(op) ||
         (Is(op, OpKind::kSplit) && op.outputs.size() == 1) ||
         Is(op, OpKind::kConcatenation, OpKind::kFullyConnected, OpKind::kGather,
            OpKind::kL2Normalization, OpKind::kLocalResponseNormalization, OpKind::kLogSoftmax,
            OpKind::kMean, OpKind::kReduceMax, OpKind::kReduceMin, OpKind::kSoftmax, OpKind::kSum);
}

// Kernels that place their elements by the size of the whole.
bool RunsWithinShapes(const graph::Op& op) {
  return Is(op, OpKind::kDepthToSpace, OpKind::kMirrorPad, OpKind::kResizeBilinear,
            OpKind::kResizeNearestNeighbor, OpKind::kSlice, OpKind::kSpaceToDepth,
            OpKind::kStridedSlice, OpKind::kTile, OpKind::kTransposeConv);
}

// The input that such an operator moves or resamples.
std::size_t DataInput(const graph::Op& op) { return Is(op, OpKind::kTransposeConv) ? 2 : 0; }

Status RequireParts(const graph::Subgraph& subgraph, const graph::Op& op) {
  const bool elementwise = ops::IsElementwise(op);
  const bool first = plan::HasChannelsFirst(subgraph);
  const bool known = (first ? IsOnnx(op) : op.domain == "tflite") && op.outputs.size() == 1 &&
                     op.outputs[0].valid() && (RunsOnSmallerShapes(op) || RunsWithinShapes(op));
  NEAP_CHECK_OK(Require(known, "has no kernel for a part of its output"));
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    const TensorId tensor = op.inputs[i];
    const bool varies = elementwise && tensor.valid() && subgraph.tensors[tensor].constant &&
                        VariesInSpace(subgraph, op, i);
    NEAP_CHECK_OK(Require(!varies, "has a constant that is not the same at every place"));
  }
  return {};
}

graph::Shape Cut(graph::Shape shape, const plan::StreamImage& image, const ImagePart& part) {
  if (shape.size() != kRank || shape[0] != 1) return shape;
  shape[image.RowAxis()] = part.rows.size();
  shape[image.ColumnAxis()] = part.columns.size();
  return shape;
}

// The shape of an input of which a part of a concatenation needs nothing.
graph::Shape WithoutAny(const graph::Op& op, graph::Shape shape, const plan::StreamImage& image,
                        const ImagePart& part) {
  std::int64_t axis = IntOr(op, "axis", 0);
  if (axis < 0) axis += static_cast<std::int64_t>(kRank);
  const bool columns = axis == static_cast<std::int64_t>(image.ColumnAxis());
  if (shape.size() != kRank) return shape;
  shape[image.RowAxis()] = columns ? part.rows.size() : 0;
  shape[image.ColumnAxis()] = columns ? 0 : part.columns.size();
  return shape;
}

Within::Range RangeOf(const plan::StreamRange& range) { return {range.first, range.last}; }

}  // namespace

struct BoxKernels::Shapes {
  std::vector<ImagePart> needs;
  std::vector<ops::Need::Padding> padding;  // of input 0, by dimension
};

Result<BoxKernels::Shapes> BoxKernels::ShapesOf(OpId id, const ImagePart& part) const {
  const graph::Subgraph& subgraph = program_.subgraph();
  const graph::Op& op = subgraph.ops[id];
  const graph::Shape& shape = *subgraph.tensors[op.outputs[0]].shape;
  ops::Box box = ops::WholeBox(shape);
  const plan::StreamImage& out = images_[op.outputs[0]];
  if (shape.size() == kRank && shape[0] == 1) {
    box[out.RowAxis()] = {part.rows.first, part.rows.last};
    box[out.ColumnAxis()] = {part.columns.first, part.columns.last};
  }
  NEAP_CHECK_OK(Require(ops::ComputesPart(subgraph, op, box),
                        "is cut, and its arithmetic depends on all of its input"));
  Shapes shapes;
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    shapes.needs.emplace_back();
    if (!op.inputs[i].valid() || program_.IsConstant(op.inputs[i])) continue;
    const auto need = ops::NeedOf(subgraph, op, i, box);
    NEAP_CHECK_OK(Require(need.has_value(), "has no dependence map"));
    if (i == 0) shapes.padding = need->padding;
    if (ops::IsEmpty(need->box)) continue;
    const plan::StreamImage& image = images_[op.inputs[i]];
    const bool whole = need->box.size() != kRank || image.height * image.width == 1;
    if (whole) {
      shapes.needs.back() = {{0, image.height}, {0, image.width}};
      continue;
    }
    const ops::Interval& rows = need->box[image.RowAxis()];
    const ops::Interval& columns = need->box[image.ColumnAxis()];
    shapes.needs.back() = {{rows.begin, rows.end}, {columns.begin, columns.end}};
  }
  return shapes;
}

Result<BoxNeed> BoxKernels::Prepare(OpId id, const ImagePart& part) {
  NEAP_TRY(Shapes shapes, ShapesOf(id, part));
  if (RunsWithinShapes(program_.subgraph().ops[id])) return PrepareWithin(id, part, &shapes);
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
    NEAP_CHECK_OK(RequireParts(program_.subgraph(), op));
    Program::PartShapes prepared;
    std::vector<std::byte> paddings;
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      const bool cut = op.inputs[i].valid() && !program_.IsConstant(op.inputs[i]);
      prepared.inputs.emplace_back();
      if (!cut) continue;
      const graph::Shape& whole = *program_.subgraph().tensors[op.inputs[i]].shape;
      const plan::StreamImage& image = images_[op.inputs[i]];
      const bool nothing =
          shapes.needs[i].empty() && Is(op, OpKind::kConcatenation, OpKind::kOnnxConcat);
      prepared.inputs.back() =
          nothing ? WithoutAny(op, whole, image, part) : Cut(whole, image, shapes.needs[i]);
    }
    const plan::StreamImage& out = images_[op.outputs[0]];
    prepared.output = Cut(*program_.subgraph().tensors[op.outputs[0]].shape, out, part);
    if (shapes.padding.size() == kRank) {
      const auto& rows = shapes.padding[out.RowAxis()];
      const auto& columns = shapes.padding[out.ColumnAxis()];
      prepared.pad = Padding{rows.before, rows.after, columns.before, columns.after};
    }
    NEAP_TRY(RunKernel kernel, program_.PreparePart(id, prepared, IsPad(op)));
    found = kernels_.emplace(std::move(key), std::move(kernel)).first;
  }
  return BoxNeed{std::move(shapes.needs), &found->second};
}

// Nearly every part has a kernel of its own, which is not kept.
Result<BoxNeed> BoxKernels::PrepareWithin(OpId id, const ImagePart& part, Shapes* shapes) {
  const graph::Op& op = program_.subgraph().ops[id];
  NEAP_CHECK_OK(RequireParts(program_.subgraph(), op));
  const ImagePart& need = shapes->needs[DataInput(op)];
  Program::PartShapes prepared;
  prepared.within = Within{{RangeOf(part.rows), RangeOf(part.columns)},
                           {RangeOf(need.rows), RangeOf(need.columns)}};
  NEAP_TRY(within_, program_.PreparePart(id, prepared, false));
  return BoxNeed{std::move(shapes->needs), &within_};
}

}  // namespace neap::execute
