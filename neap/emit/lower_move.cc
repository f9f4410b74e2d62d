// SPDX-License-Identifier: Apache-2.0
//
// Operators that only move bytes: one-to-one reads with a first index and a stride for each
// dimension, concatenations, repeated pixels.
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "neap/emit/floats.h"
#include "neap/emit/lowering.h"
#include "neap/emit/quantization.h"
#include "neap/ops/dependence.h"
#include "neap/ops/neap_rt.h"
#include "neap/ops/op_table.h"
#include "neap/ops/resize.h"
#include "neap/ops/window.h"

namespace neap::emit {
namespace {

using graph::Op;
using graph::Shape;
using graph::Tensor;
using graph::TensorId;

constexpr std::size_t kMaxRank = 4;

Status RequireBytes(const Lowering& lowering, const Op& op) {
  for (const auto* list : {&op.outputs, &op.inputs}) {
    const bool fits = !list->empty() && (*list)[0].valid();
    NEAP_CHECK_OK(Require(fits, "lacks an input or an output"));
  }
  return Require(IsByte(OutputOf(lowering, op)), "is not of 8 bits");
}

Params CopyParams(std::int64_t in_pixel, std::int64_t first, std::int64_t before,
                  std::int64_t channels, std::int64_t fill, bool fills) {
  return {"neap_copy", InitialiserOf({Number(in_pixel), Number(first), Number(before),
                                      Number(channels), Number(fill), fills ? "1" : "0"})};
}

// A copy of `bytes` bytes as one pixel; nothing where both are at the same address.
Result<std::vector<Call>> CopyOf(Lowering& lowering, TensorId from, TensorId to,
                                 std::int64_t skip_from, std::int64_t skip_to, std::int64_t bytes) {
  NEAP_TRY(const View out, lowering.FormOf(to, {1, 1, bytes, skip_to}));
  NEAP_TRY(const View in, lowering.FormOf(from, {1, 1, bytes, skip_from}));
  const bool same =
      in.constant.empty() && in.memory == out.memory && in.rings[0].offset == out.rings[0].offset;
  if (same) return std::vector<Call>();
  Call call;
  call.driver = "neap_drive_pixels";
  call.kernel = "neap_copy_pixels";
  call.views = {out, in};
  call.taps = 1;
  call.params = CopyParams(bytes, 0, 0, bytes, 0, false);
  return std::vector<Call>{call};
}

Result<std::vector<Call>> LowerReshape(Lowering& lowering, const Subject& subject) {
  const Op& op = subject.op;
  if (!IsOfFloats(lowering, op)) NEAP_CHECK_OK(RequireBytes(lowering, op));
  const std::int64_t bytes = *graph::TensorBytes(OutputOf(lowering, op));
  NEAP_CHECK_OK(Require(bytes == *graph::TensorBytes(InputOf(lowering, op, 0)),
                        "has an output of other bytes than its input"));
  if (lowering.IsSamePlace(op.inputs[0], op.outputs[0])) return std::vector<Call>();
  return CopyOf(lowering, op.inputs[0], op.outputs[0], 0, 0, bytes);
}

// Output index i of a dimension reads input index first + i * stride, where there is one.
struct Axis {
  std::int64_t in = 1;
  std::int64_t out = 1;
  std::int64_t first = 0;
  std::int64_t stride = 1;
};
using Axes = std::array<Axis, kMaxRank>;

// From the dependence of the operator: that of its first and last element along each dimension.
Result<Axes> AxesOf(const Lowering& lowering, const Op& op, std::size_t input, std::size_t output) {
  const Shape& in = *lowering.Tensor(op.inputs[input]).shape;
  const Shape& out = *lowering.Tensor(op.outputs[output]).shape;
  NEAP_CHECK_OK(Require(in.size() == out.size() && in.size() <= kMaxRank,
                        "changes the number of dimensions or has more than four"));
  const graph::Subgraph& subgraph = lowering.subgraph();
  const auto all = ops::NeedOf(subgraph, op, input, ops::WholeBox(out), output);
  NEAP_CHECK_OK(
      Require(all.has_value() && !ops::IsEmpty(all->box), "has parameters that are not constants"));
  Axes axes;
  for (std::size_t d = 0; d < in.size(); ++d) {
    Axis& axis = axes[kMaxRank - in.size() + d];
    axis.in = in[d];
    axis.out = out[d];
    const ops::Interval range = all->box[d];
    const std::int64_t before = d < all->padding.size() ? all->padding[d].before : 0;
    const std::int64_t after = d < all->padding.size() ? all->padding[d].after : 0;
    axis.first = range.begin - before;
    if (before == 0 && after == 0 && out[d] > 1) {
      axis.stride = (range.size() - 1) / (out[d] - 1);
      ops::Box first = ops::WholeBox(out);
      first[d] = {0, 1};
      const auto need = ops::NeedOf(subgraph, op, input, first, output);
      NEAP_CHECK_OK(Require(need && need->box[d].begin == range.begin && axis.stride >= 1,
                            "reads a dimension backwards"));
    }
    const std::int64_t last = axis.first + (axis.out - 1) * axis.stride;
    NEAP_CHECK_OK(Require(last + 1 == range.end + after, "reads elements in another order"));
  }
  return axes;
}

// Windows of one tap; channels by the kernel.
Result<std::vector<Call>> LowerAxes(Lowering& lowering, const Subject& subject, std::size_t input,
                                    std::size_t output, std::int64_t fill) {
  const Op& op = subject.op;
  NEAP_TRY(const Axes axes, AxesOf(lowering, op, input, output));
  const Axis& batch = axes[0];
  const Axis& channel = axes[3];
  NEAP_CHECK_OK(Require(channel.stride == 1, "skips channels"));
  NEAP_CHECK_OK(
      Require(batch.first >= 0 && batch.stride == 1 && batch.first + batch.out <= batch.in,
              "pads or skips images"));
  const std::int64_t before = channel.first < 0 ? -channel.first : 0;
  const std::int64_t first = channel.first < 0 ? 0 : channel.first;
  const std::int64_t channels = std::min(channel.in - first, channel.out - before);
  const bool fills = channels < channel.out;
  std::vector<Call> calls;
  for (std::int64_t b = 0; b < batch.out; ++b) {
    const std::int64_t in_bytes = axes[1].in * axes[2].in * channel.in;
    const std::int64_t out_bytes = axes[1].out * axes[2].out * channel.out;
    Call call;
    call.driver = "neap_drive_window";
    call.kernel = "neap_copy_pixels";
    call.taps = 1;
    call.params = CopyParams(0, first, before, channels, fill, fills);
    call.window = Window{lowering.Filled(fill, channel.in),
                         1,
                         1,
                         axes[1].stride,
                         axes[2].stride,
                         1,
                         1,
                         -axes[1].first,
                         -axes[2].first};
    // As the plan has it, unless it takes the tensor for one pixel.
    NEAP_TRY(View to, lowering.ImageOf(op.outputs[output]));
    NEAP_TRY(View from, lowering.ImageOf(op.inputs[input]));
    if (batch.out > 1 || batch.in > 1 || to.height != axes[1].out || to.width != axes[2].out) {
      NEAP_TRY(to, lowering.FormOf(op.outputs[output],
                                   {axes[1].out, axes[2].out, channel.out, b * out_bytes}));
    }
    if (batch.out > 1 || batch.in > 1 || from.height != axes[1].in || from.width != axes[2].in) {
      NEAP_TRY(from, lowering.FormOf(op.inputs[input], {axes[1].in, axes[2].in, channel.in,
                                                        (batch.first + b) * in_bytes}));
    }
    call.views = {to, from};
    calls.push_back(std::move(call));
  }
  return calls;
}

Result<std::vector<Call>> LowerSlice(Lowering& lowering, const Subject& subject) {
  NEAP_CHECK_OK(RequireBytes(lowering, subject.op));
  return LowerAxes(lowering, subject, 0, 0, 0);
}

Result<std::vector<Call>> LowerSplit(Lowering& lowering, const Subject& subject) {
  const Op& op = subject.op;
  NEAP_CHECK_OK(RequireBytes(lowering, op));
  const std::size_t input = ops::Is(op, ops::OpKind::kSplit) ? 1 : 0;
  std::vector<Call> calls;
  for (std::size_t output = 0; output < op.outputs.size(); ++output) {
    if (!op.outputs[output].valid() || (subject.output && output != *subject.output)) continue;
    // A piece that is one stretch of the input may be there already.
    const auto view = ops::ViewRuleOf(lowering.subgraph(), op, output, ops::kNeapRt);
    if (view && !subject.boxed) {
      const std::int64_t bytes = *graph::TensorBytes(lowering.Tensor(op.outputs[output]));
      auto copy =
          CopyOf(lowering, op.inputs[view->input], op.outputs[output], view->bytes, 0, bytes);
      if (copy) {
        for (Call& call : *copy) calls.push_back(std::move(call));
        continue;
      }
    }
    NEAP_TRY(auto piece, LowerAxes(lowering, subject, input, output, 0));
    for (Call& call : piece) calls.push_back(std::move(call));
  }
  return calls;
}

// Zero, which is the zero point; or the value of PADV2.
Result<std::vector<Call>> LowerPad(Lowering& lowering, const Subject& subject) {
  const Op& op = subject.op;
  NEAP_CHECK_OK(RequireBytes(lowering, op));
  NEAP_TRY(const Quant quant, QuantOf(OutputOf(lowering, op)));
  std::int64_t fill = SignedByte(static_cast<std::byte>(quant.zero));
  if (HasInput(op, 2)) {
    const Tensor& value = InputOf(lowering, op, 2);
    NEAP_CHECK_OK(Require(value.data && value.data->bytes.size() == 1,
                          "has a padding value that is not a constant of 8 bits"));
    fill = SignedByte(value.data->bytes[0]);
  }
  return LowerAxes(lowering, subject, 0, 0, fill);
}

// A concatenation as an image of `outer` pixels of `inner` bytes.
struct Pieces {
  std::int64_t outer = 1;
  std::int64_t inner = 1;
  bool by_channel = false;  // along the last dimension
};

Result<Pieces> PiecesOf(const Lowering& lowering, const Op& op) {
  const Tensor& out = OutputOf(lowering, op);
  NEAP_CHECK_OK(Require(ops::IntegerAttribute(op, "fused_activation_function", 0) == 0,
                        "has a fused activation"));
  const Shape& shape = *out.shape;
  const auto rank = static_cast<std::int64_t>(shape.size());
  std::int64_t axis = ops::IntegerAttribute(op, "axis", 0);
  if (axis < 0) axis += rank;
  NEAP_CHECK_OK(Require(axis >= 0 && axis < rank, "has an axis that its output does not have"));
  for (const TensorId input : op.inputs) {
    NEAP_CHECK_OK(Require(input.valid() && lowering.Tensor(input).type == out.type,
                          "has inputs of several types"));
  }
  Pieces pieces;
  for (std::int64_t d = 0; d < rank; ++d) {
    (d < axis ? pieces.outer : pieces.inner) *= shape[static_cast<std::size_t>(d)];
  }
  pieces.by_channel = axis == rank - 1;
  return pieces;
}

// The output's bytes for those of `input`; empty: the same. Only kernels of uint8 rescale.
Result<std::vector<std::int64_t>> RescalingOf(const Lowering& lowering, const Op& op,
                                              TensorId input) {
  const Tensor& out = OutputOf(lowering, op);
  NEAP_TRY(const Quant from, QuantOf(lowering.Tensor(input)));
  NEAP_TRY(const Quant to, QuantOf(out));
  if (!IsUint8(out) || (from.scale == to.scale && from.zero == to.zero)) {
    return std::vector<std::int64_t>();
  }
  return TableOf(lowering, op, input);
}

// Input after input, each one stretch of the output.
Result<std::vector<Call>> ConcatenateWhole(Lowering& lowering, const Subject& subject) {
  const Op& op = subject.op;
  std::vector<Call> calls;
  std::int64_t at = 0;
  for (const TensorId input : op.inputs) {
    const std::int64_t bytes = *graph::TensorBytes(lowering.Tensor(input));
    NEAP_TRY(auto table, RescalingOf(lowering, op, input));
    if (table.empty()) {
      NEAP_TRY(auto copy, CopyOf(lowering, input, op.outputs[0], 0, at, bytes));
      for (Call& call : copy) calls.push_back(std::move(call));
    } else {
      Call call;
      call.driver = "neap_drive_pixels";
      call.kernel = "neap_lookup";
      NEAP_TRY(const View to, lowering.FormOf(op.outputs[0], {1, 1, bytes, at}));
      NEAP_TRY(const View from, lowering.FormOf(input, {1, 1, bytes}));
      call.views = {to, from};
      call.taps = 1;
      const std::string name = "t" + std::to_string(input.value()) + "_rescaled";
      call.params =
          Params{"neap_table", InitialiserOf({lowering.Add(name, "int8_t", std::move(table)),
                                              InitialiserOf({Number(bytes), "1"})})};
      calls.push_back(std::move(call));
    }
    at += bytes;
  }
  return calls;
}

// Along channels of an image as the plan has it, or of an image of `outer` pixels.
Result<std::vector<Call>> ConcatenatePixels(Lowering& lowering, const Subject& subject,
                                            const Pieces& pieces) {
  const Op& op = subject.op;
  NEAP_TRY(View to, lowering.ImageOf(op.outputs[0]));
  if (!pieces.by_channel || to.pixel_bytes != pieces.inner) {
    NEAP_TRY(to, lowering.FormOf(op.outputs[0], {pieces.outer, 1, pieces.inner}));
  }
  Call call;
  call.driver = "neap_drive_pixels";
  call.kernel = "neap_concatenate_pixels";
  call.views = {to};
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> tables;
  std::vector<std::int64_t> first;
  for (const TensorId input : op.inputs) {
    const std::int64_t bytes = *graph::TensorBytes(lowering.Tensor(input)) / pieces.outer;
    NEAP_TRY(View from, lowering.ImageOf(input));
    if (from.height != to.height || from.width != to.width) {
      NEAP_TRY(from, lowering.FormOf(input, {to.height, to.width, bytes}));
    }
    NEAP_TRY(const auto table, RescalingOf(lowering, op, input));
    first.push_back(table.empty() ? -1 : static_cast<std::int64_t>(tables.size()));
    tables.insert(tables.end(), table.begin(), table.end());
    sizes.push_back(bytes);
    call.views.push_back(from);
  }
  call.taps = static_cast<std::int64_t>(sizes.size());
  const std::string name = "op" + std::to_string(subject.id.value());
  const std::string bytes = lowering.Add(name + "_pieces", "uint32_t", std::move(sizes));
  call.params = Params{"neap_concatenation", InitialiserOf({bytes})};
  if (!tables.empty()) {
    call.kernel = "neap_concatenate_rescaled";
    call.params =
        Params{"neap_rescaled_concatenation",
               InitialiserOf({bytes, lowering.Add(name + "_tables", "int8_t", std::move(tables)),
                              lowering.Add(name + "_first", "int32_t", std::move(first))})};
  }
  return std::vector<Call>{call};
}

Result<std::vector<Call>> LowerConcatenation(Lowering& lowering, const Subject& subject) {
  NEAP_CHECK_OK(RequireBytes(lowering, subject.op));
  NEAP_TRY(const Pieces pieces, PiecesOf(lowering, subject.op));
  if (pieces.outer == 1 && !subject.boxed) return ConcatenateWhole(lowering, subject);
  return ConcatenatePixels(lowering, subject, pieces);
}

Result<std::vector<Call>> LowerResize(Lowering& lowering, const Subject& subject) {
  const Op& op = subject.op;
  NEAP_CHECK_OK(RequireBytes(lowering, op));
  const auto resize = ops::ResizeOf(lowering.subgraph(), op);
  NEAP_CHECK_OK(Require(resize && resize->nearest && OutputOf(lowering, op).shape->front() == 1,
                        "has no known sizes, or several images"));
  Call call;
  NEAP_TRY(const View to, lowering.ImageOf(op.outputs[0]));
  NEAP_TRY(const View from, lowering.ImageOf(op.inputs[0]));
  auto rows = ops::LowestIndices(*resize, from.height, to.height);
  auto columns = ops::LowestIndices(*resize, from.width, to.width);
  NEAP_CHECK_OK(Require(rows == ops::LatestIndices(*resize, from.height, to.height) &&
                            columns == ops::LatestIndices(*resize, from.width, to.width),
                        "has sizes whose rounding is not known"));
  call.driver = "neap_drive_nearest";
  call.kernel = "neap_copy_pixels";
  call.views = {to, from};
  call.taps = 1;
  const std::string name = "op" + std::to_string(subject.id.value());
  call.params =
      Params{"neap_nearest",
             InitialiserOf({InitialiserOf({"0", "0", "0", Number(to.pixel_bytes), "0", "0"}),
                            lowering.Add(name + "_rows", "uint16_t", std::move(rows)),
                            lowering.Add(name + "_columns", "uint16_t", std::move(columns))})};
  return std::vector<Call>{call};
}

// Of each index of the output, the two of the input around its place, and the distance from the
// first one, in units of 1/1024.
std::vector<std::int64_t> PlacesOf(const ops::Resize& resize, std::int64_t in, std::int64_t out) {
  constexpr std::int64_t kUnit = 1 << 10;
  const std::int64_t scale = resize.align_corners && out > 1
                                 ? (kUnit * (in - 1) + (out - 1) / 2) / (out - 1)
                                 : (kUnit * in + out / 2) / out;
  const std::int64_t shift = resize.half_pixel_centers ? scale / 2 - kUnit / 2 : 0;
  std::vector<std::int64_t> places;
  for (std::int64_t o = 0; o < out; ++o) {
    const std::int64_t place = std::max<std::int64_t>(o * scale + shift, 0);
    const std::int64_t lower = std::min(place / kUnit, in - 1);
    const std::int64_t upper = std::min((place + kUnit - 1) / kUnit, in - 1);
    // Between equal ones the distance does not matter.
    places.insert(places.end(), {lower, upper, lower == upper ? 0 : place % kUnit});
  }
  return places;
}

Result<std::vector<Call>> LowerBilinear(Lowering& lowering, const Subject& subject) {
  const Op& op = subject.op;
  const auto resize = ops::ResizeOf(lowering.subgraph(), op);
  NEAP_CHECK_OK(Require(resize && !resize->nearest &&
                            InputOf(lowering, op, 0).type == graph::ElementType::kInt8 &&
                            OutputOf(lowering, op).shape->front() == 1,
                        "is not of int8, or has no known sizes, or several images"));
  Call call;
  NEAP_TRY(const View to, lowering.ImageOf(op.outputs[0]));
  NEAP_TRY(const View from, lowering.ImageOf(op.inputs[0]));
  constexpr std::int64_t kMaxSize = 1 << 15;
  NEAP_CHECK_OK(Require(std::max({from.height, from.width, to.height, to.width}) <= kMaxSize,
                        "has more than 32,768 rows or columns"));
  call.driver = "neap_drive_bilinear";
  call.views = {to, from};
  const std::string name = "op" + std::to_string(subject.id.value());
  const auto table = [&](const char* axis, std::int64_t in, std::int64_t out) {
    return lowering.Add(name + axis, "uint16_t", PlacesOf(*resize, in, out));
  };
  call.params = Params{"neap_bilinear", InitialiserOf({table("_rows", from.height, to.height),
                                                       table("_columns", from.width, to.width)})};
  return std::vector<Call>{std::move(call)};
}

constexpr LowerRow kMoveRows[] = {
    {ops::OpKind::kReshape, LowerReshape},
    {ops::OpKind::kSqueeze, LowerReshape},
    {ops::OpKind::kExpandDims, LowerReshape},
    {ops::OpKind::kSlice, LowerSlice},
    {ops::OpKind::kStridedSlice, LowerSlice},
    {ops::OpKind::kSplit, LowerSplit},
    {ops::OpKind::kSplitV, LowerSplit},
    {ops::OpKind::kPad, LowerPad},
    {ops::OpKind::kPadv2, LowerPad},
    {ops::OpKind::kConcatenation, LowerConcatenation},
    {ops::OpKind::kResizeNearestNeighbor, LowerResize},
    {ops::OpKind::kResizeBilinear, LowerBilinear},
};

}  // namespace

std::span<const LowerRow> MoveRows() { return kMoveRows; }

}  // namespace neap::emit
