// SPDX-License-Identifier: Apache-2.0
#include "neap/transform/stream/maps.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "neap/ops/dependence.h"
#include "neap/ops/op_table.h"
#include "neap/ops/traits.h"
#include "neap/ops/window.h"

namespace neap::stream {
namespace {

using graph::Op;
using graph::Subgraph;
using graph::TensorId;
using ops::Is;
using ops::OpKind;

constexpr std::size_t kRank = 4;

bool IsOnnx(const Op& op) { return ops::IsDefaultOnnxDomain(op.domain); }

// Whole numbers of a constant of 32 bits.
std::optional<std::vector<std::int64_t>> Integers(const Subgraph& subgraph, TensorId id) {
  if (!id.valid() || !subgraph.tensors[id].constant || !subgraph.tensors[id].data) {
    return std::nullopt;
  }
  const graph::Tensor& tensor = subgraph.tensors[id];
  if (tensor.type != graph::ElementType::kInt32) return std::nullopt;
  std::vector<std::int64_t> values;
  for (std::size_t at = 0; at + 4 <= tensor.data->bytes.size(); at += 4) {
    std::int32_t value = 0;
    std::memcpy(&value, tensor.data->bytes.data() + at, 4);
    values.push_back(value);
  }
  return values;
}

// The same place, or the only one.
std::optional<AxisMap> SamePlace(std::int64_t in, std::int64_t out) {
  if (in == out) return AxisMap{};
  if (in == 1) return AxisMap{0, 0, 1};
  return std::nullopt;
}

std::optional<Maps> SameMaps(const graph::Shape& in, const graph::Shape& out) {
  const auto rows = SamePlace(in[1], out[1]);
  const auto columns = SamePlace(in[2], out[2]);
  if (!rows || !columns) return std::nullopt;
  return Maps{*rows, *columns};
}

std::optional<Maps> PadMaps(const Subgraph& subgraph, const Op& op, bool pads_channels) {
  const auto amounts = Integers(subgraph, op.inputs[1]);
  if (!amounts || amounts->size() != 2 * kRank) return std::nullopt;
  if ((*amounts)[0] != 0 || (*amounts)[1] != 0) return std::nullopt;
  if (!pads_channels && ((*amounts)[6] != 0 || (*amounts)[7] != 0)) return std::nullopt;
  return Maps{{1, (*amounts)[2], 1}, {1, (*amounts)[4], 1}};
}

std::optional<Maps> MeanMaps(const Subgraph& subgraph, const Op& op, const graph::Shape& in,
                             const graph::Shape& out) {
  const auto axes = op.inputs.size() == 2 ? Integers(subgraph, op.inputs[1]) : std::nullopt;
  if (!axes) return std::nullopt;
  Maps maps;
  for (std::int64_t axis : *axes) {
    axis = axis < 0 ? axis + static_cast<std::int64_t>(kRank) : axis;
    if (axis == 1 && out[1] == 1) {
      maps.rows = {in[1], 0, in[1]};
    } else if (axis == 2 && out[2] == 1) {
      maps.columns = {in[2], 0, in[2]};
    } else {
      return std::nullopt;
    }
  }
  return maps;
}

// A map by a list; `in` is the size of the axis of the input.
AxisMap MapOfList(std::vector<plan::StreamRange> needs, std::int64_t in) {
  const auto out = static_cast<std::int64_t>(needs.size());
  // An index is kept for all later ones that need it.
  for (std::size_t y = 1; y < needs.size(); ++y) {
    needs[y].last = std::max(needs[y].last, needs[y - 1].last);
  }
  for (std::size_t y = needs.size() - 1; y-- > 0;) {
    needs[y].first = std::min(needs[y].first, needs[y + 1].first);
  }
  AxisMap map;
  map.scale = in;
  map.parts = out;
  map.extent = std::numeric_limits<std::int64_t>::min();
  for (std::int64_t y = 0; y < out; ++y) {
    const std::int64_t last = needs[static_cast<std::size_t>(y)].last;
    if (last > 0) map.extent = std::max(map.extent, last - y * in / out);
  }
  map.extent = std::max(map.extent, -in - out);
  map.listed = std::make_shared<const std::vector<plan::StreamRange>>(std::move(needs));
  return map;
}

// Of ONNX: kernels that place elements of images by the size of the whole.
bool IsMovedOnnx(const Op& op) {
  return Is(op, OpKind::kOnnxConvTranspose, OpKind::kOnnxDepthToSpace, OpKind::kOnnxPad,
            OpKind::kOnnxResize, OpKind::kOnnxSlice, OpKind::kOnnxSpaceToDepth, OpKind::kOnnxTile,
            OpKind::kOnnxUpsample);
}

// Kernels of parts that place elements themselves, and take whole pixels even if they need parts of
// them.
bool PlacesElements(const Op& op) {
  return ops::IsReshapeLike(op) || IsMovedOnnx(op) || ops::Has(op, ops::trait::kSplits) ||
         Is(op, OpKind::kDepthToSpace, OpKind::kGather, OpKind::kMirrorPad, OpKind::kOnnxGather,
            OpKind::kOnnxTranspose, OpKind::kSlice, OpKind::kSpaceToDepth, OpKind::kStridedSlice,
            OpKind::kTile, OpKind::kTranspose);
}

// Whether an operator reads all of every pixel of the part of an input that it is given.
bool NeedsWholePixels(const ops::Box& need, const graph::Shape& shape,
                      const plan::StreamImage& image) {
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (image.row_axis == d || image.column_axis == d) continue;
    if (need[d] != ops::Interval{0, shape[d]}) return false;
  }
  return true;
}

// The map of one axis as the dependence map has it, index by index; nullopt: it has none, or every
// index needs all of an input where that is not permitted. Without an axis there is one index.
std::optional<AxisMap> ListedMap(const Imaged& imaged, const Op& op, std::size_t input,
                                 std::size_t output, std::optional<std::size_t> from,
                                 std::optional<std::size_t> to, bool may_need_all) {
  const Subgraph& subgraph = imaged.subgraph;
  const graph::Shape& in_shape = *subgraph.tensors[op.inputs[input]].shape;
  const graph::Shape& out_shape = *subgraph.tensors[op.outputs[output]].shape;
  const std::int64_t in = from ? in_shape[*from] : 1;
  const std::int64_t out = to ? out_shape[*to] : 1;
  const plan::StreamImage& image = imaged.images[op.inputs[input]];
  std::vector<plan::StreamRange> needs;
  bool all = true;
  bool same = in == out;
  for (std::int64_t y = 0; y < out; ++y) {
    ops::Box box = ops::WholeBox(out_shape);
    if (to) box[*to] = {y, y + 1};
    const auto need = ops::NeedOf(subgraph, op, input, box, output);
    if (!need || need->box.size() != in_shape.size()) return std::nullopt;
    const ops::Interval along = from ? need->box[*from] : ops::Interval{0, 1};
    const bool none = ops::IsEmpty(need->box);
    if (!none && !PlacesElements(op) && !NeedsWholePixels(need->box, in_shape, image)) {
      return std::nullopt;
    }
    needs.push_back({along.begin, none ? along.begin : along.end});
    all = all && needs.back().size() == in;
    same = same && needs.back() == plan::StreamRange{y, y + 1};
  }
  if (same) return AxisMap{};
  if (all && in == 1) return AxisMap{0, 0, 1};
  if (all && out > 1 && !may_need_all) return std::nullopt;
  AxisMap map = MapOfList(std::move(needs), in);
  map.all = all && out > 1;
  return map;
}

bool IsWindow(const Op& op) {
  if (IsOnnx(op)) {
    return Is(op, OpKind::kOnnxAveragePool, OpKind::kOnnxConv, OpKind::kOnnxConvInteger,
              OpKind::kOnnxMaxPool, OpKind::kOnnxQLinearConv);
  }
  return Is(op, OpKind::kConv2d, OpKind::kDepthwiseConv2d, OpKind::kMaxPool2d,
            OpKind::kAveragePool2d);
}

// Operators that are cut along rows and columns of images with four dimensions as their dependence
// maps state.
bool IsListed(const Op& op) {
  if (ops::Has(op, ops::trait::kSplits)) return true;
  if (IsOnnx(op)) {
    if (IsWindow(op)) return ops::IntegerAttribute(op, "ceil_mode", 0) == 0;
    return IsMovedOnnx(op) || ops::IsElementwise(op) || ops::IsReshapeLike(op) ||
           Is(op, OpKind::kOnnxConcat, OpKind::kOnnxLogSoftmax, OpKind::kOnnxMatMul,
              OpKind::kOnnxSoftmax, OpKind::kOnnxTranspose);
  }
  return ops::IsReshapeLike(op) ||
         Is(op, OpKind::kArgMax, OpKind::kArgMin, OpKind::kBatchMatmul, OpKind::kConcatenation,
            OpKind::kDepthToSpace, OpKind::kFullyConnected, OpKind::kGather,
            OpKind::kL2Normalization, OpKind::kLocalResponseNormalization, OpKind::kLogSoftmax,
            OpKind::kMean, OpKind::kMirrorPad, OpKind::kReduceMax, OpKind::kReduceMin,
            OpKind::kResizeBilinear, OpKind::kResizeNearestNeighbor, OpKind::kSlice,
            OpKind::kSoftmax, OpKind::kSpaceToDepth, OpKind::kStridedSlice, OpKind::kSum,
            OpKind::kTile, OpKind::kTranspose, OpKind::kTransposeConv);
}

// GATHER whose rows are those of indices that are constants, or whose columns are those of indices:
// kernels cut neither.
bool CutsTooManyIndices(const Imaged& imaged, const Op& op) {
  const Subgraph& subgraph = imaged.subgraph;
  const plan::StreamImage& out = imaged.images[op.outputs[0]];
  const graph::Tensor& data = subgraph.tensors[op.inputs[0]];
  const graph::Tensor& indices = subgraph.tensors[op.inputs[1]];
  if (!data.shape || !indices.shape) return true;
  const auto rank = static_cast<std::int64_t>(data.shape->size());
  const std::int64_t axis = ops::IntegerAttribute(op, "axis", 0);
  const auto first = static_cast<std::size_t>(axis < 0 ? axis + rank : axis);
  const auto within = [&](const std::optional<std::size_t>& at) {
    return at && *at >= first && *at < first + indices.shape->size();
  };
  return (within(out.row_axis) && indices.constant) || (within(out.column_axis) && out.width > 1);
}

// Those that are cut along rows of tensors of any shape.
bool IsListedOfAnyShape(const Imaged& imaged, const Op& op) {
  if (Is(op, OpKind::kGather, OpKind::kOnnxGather) && CutsTooManyIndices(imaged, op)) {
    return false;
  }
  if (ops::CopiesBoxes(imaged.subgraph, op)) return true;
  if (IsWindow(op)) {
    // Images of a batch, or time steps of ONNX.
    const plan::StreamImage& out = imaged.images[op.outputs[0]];
    const std::size_t batch = 0;
    const bool time = IsOnnx(op) && out.channels_first;
    return (out.row_axis == batch || time) && IsListed(op) == IsOnnx(op);
  }
  if (IsOnnx(op)) {
    return (IsListed(op) && !IsMovedOnnx(op)) ||
           Is(op, OpKind::kOnnxGather, OpKind::kOnnxGemm, OpKind::kOnnxLayerNormalization,
              OpKind::kOnnxReduceMax, OpKind::kOnnxReduceMean, OpKind::kOnnxReduceMin,
              OpKind::kOnnxReduceSum);
  }
  return ops::IsElementwise(op) || ops::IsReshapeLike(op) ||
         Is(op, OpKind::kArgMax, OpKind::kArgMin, OpKind::kBatchMatmul, OpKind::kConcatenation,
            OpKind::kFullyConnected, OpKind::kGather, OpKind::kL2Normalization, OpKind::kLogSoftmax,
            OpKind::kMean, OpKind::kReduceMax, OpKind::kReduceMin, OpKind::kSoftmax, OpKind::kSum,
            OpKind::kTranspose);
}

// Those of them that the kernels of emitted C run in boxes.
bool IsEmittedInBoxes(const Op& op) {
  return Is(op, OpKind::kDepthToSpace, OpKind::kResizeBilinear, OpKind::kResizeNearestNeighbor,
            OpKind::kSlice, OpKind::kSplit, OpKind::kSplitV, OpKind::kStridedSlice,
            OpKind::kTransposeConv);
}

std::optional<Maps> ListedMaps(const Imaged& imaged, const Op& op, std::size_t input,
                               std::size_t output) {
  const plan::StreamImage& in = imaged.images[op.inputs[input]];
  const plan::StreamImage& out = imaged.images[op.outputs[output]];
  const auto rows =
      ListedMap(imaged, op, input, output, in.row_axis, out.row_axis, IsSecondMatrix(op, input));
  const auto columns =
      rows ? ListedMap(imaged, op, input, output, in.column_axis, out.column_axis, true)
           : std::nullopt;
  if (!columns) return std::nullopt;
  // Complete before the first row.
  if (rows->all) return Maps{{0, 0, in.height}, {0, 0, in.width}};
  // Arithmetic that depends on all of an axis is not cut along it.
  const bool mixes = ops::Has(op, ops::trait::kNormalises) || Is(op, OpKind::kFullyConnected);
  if (mixes && rows->listed) return std::nullopt;
  return Maps{*rows, *columns};
}

}  // namespace

const graph::Shape* ImageShape(const Subgraph& subgraph, TensorId id) {
  if (!id.valid() || !subgraph.tensors[id].shape) return nullptr;
  const graph::Shape& shape = *subgraph.tensors[id].shape;
  const bool image =
      shape.size() == kRank && shape[0] == 1 && shape[1] > 0 && shape[2] > 0 && shape[3] > 0;
  return image ? &shape : nullptr;
}

// A constant beside an image must be the same at every place.
bool VariesInSpace(const Imaged& imaged, const Op& op, std::size_t input) {
  const Subgraph& subgraph = imaged.subgraph;
  const graph::Tensor& tensor = subgraph.tensors[op.inputs[input]];
  if (!tensor.shape) return true;
  const plan::StreamImage& out = imaged.images[op.outputs[0]];
  if (IsOnnx(op) || !out.column_axis || !ops::IsElementwise(op)) {
    ops::Box corner = ops::WholeBox(*subgraph.tensors[op.outputs[0]].shape);
    if (out.row_axis) corner[*out.row_axis].end = 1;
    if (out.column_axis) corner[*out.column_axis].end = 1;
    const auto need = ops::NeedOf(subgraph, op, input, corner);
    return !need || need->box != ops::WholeBox(*tensor.shape);
  }
  const graph::Shape& shape = *tensor.shape;
  for (std::size_t d = 0; d + 1 < shape.size(); ++d) {
    if (shape[d] != 1) return true;
  }
  return false;
}

bool IsSecondMatrix(const Op& op, std::size_t input) {
  return input == 1 && Is(op, OpKind::kOnnxMatMul, OpKind::kOnnxGemm, OpKind::kBatchMatmul);
}

bool TakesConstantsWhole(const Subgraph& subgraph, const Op& op) {
  return ops::IsElementwise(op) ||
         Is(op, OpKind::kBatchMatmul, OpKind::kGather, OpKind::kOnnxGather) ||
         ImageShape(subgraph, op.outputs[0]) == nullptr;
}

std::optional<Maps> MapsOf(const Imaged& imaged, const Op& op, std::size_t input,
                           std::size_t output, bool emits) {
  const Subgraph& subgraph = imaged.subgraph;
  if (!imaged.images[op.outputs[output]].row_axis || !subgraph.tensors[op.inputs[input]].shape) {
    return std::nullopt;
  }
  const graph::Shape* out = ImageShape(subgraph, op.outputs[output]);
  const graph::Shape* in = ImageShape(subgraph, op.inputs[input]);
  // Every plan is checked and executed by dependence maps; shapes that contradict an operator have
  // none.
  const ops::Box all = ops::WholeBox(*subgraph.tensors[op.outputs[output]].shape);
  if (!ops::NeedOf(subgraph, op, input, all, output)) return std::nullopt;
  if (out == nullptr || in == nullptr) {
    const bool cut = !emits && IsListedOfAnyShape(imaged, op);
    return cut ? ListedMaps(imaged, op, input, output) : std::nullopt;
  }
  if (IsOnnx(op)) return IsListed(op) ? ListedMaps(imaged, op, input, output) : std::nullopt;
  if (IsWindow(op)) {
    const auto window = ops::WindowOf(subgraph, op);
    if (!window || input != 0) return std::nullopt;
    return Maps{{window->stride_height, window->pad_top,
                 (window->kernel_height - 1) * window->dilation_height + 1},
                {window->stride_width, window->pad_left,
                 (window->kernel_width - 1) * window->dilation_width + 1}};
  }
  if (ops::IsElementwise(op)) return SameMaps(*in, *out);
  if (Is(op, OpKind::kConcatenation)) {
    const std::int64_t axis = ops::IntegerAttribute(op, "axis", 0);
    const bool plain = (axis == 3 || axis == -1) && (*in)[1] == (*out)[1] && (*in)[2] == (*out)[2];
    if (plain) return Maps{};
  }
  if ((Is(op, OpKind::kPad, OpKind::kPadv2)) && input == 0) return PadMaps(subgraph, op, !emits);
  if (Is(op, OpKind::kMean) && input == 0) {
    auto maps = MeanMaps(subgraph, op, *in, *out);
    if (maps) return maps;
  }
  if (emits ? IsEmittedInBoxes(op) : IsListed(op)) return ListedMaps(imaged, op, input, output);
  return std::nullopt;
}

std::optional<AxisMap> Join(const AxisMap& a, const AxisMap& b, std::int64_t in, std::int64_t out) {
  if ((a.scale == 0) != (b.scale == 0)) return std::nullopt;
  if (a.listed || b.listed) {
    std::vector<plan::StreamRange> needs;
    for (std::int64_t y = 0; y < out; ++y) {
      const plan::StreamRange one = a.Need(y, y + 1, in);
      const plan::StreamRange other = b.Need(y, y + 1, in);
      needs.push_back({std::min(one.first, other.first), std::max(one.last, other.last)});
    }
    AxisMap map = MapOfList(std::move(needs), in);
    map.all = a.all || b.all;
    return map;
  }
  if (a.scale != b.scale) return std::nullopt;
  const std::int64_t pad = std::max(a.pad, b.pad);
  return AxisMap{a.scale, pad, std::max(a.extent - a.pad, b.extent - b.pad) + pad};
}

}  // namespace neap::stream
