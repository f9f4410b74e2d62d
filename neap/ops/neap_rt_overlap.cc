// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "neap/ops/library_overlap.h"
#include "neap/ops/op_table.h"
#include "neap/ops/resize.h"

namespace neap::ops::overlap {
namespace {

using graph::ElementType;
using graph::Shape;
using graph::Tensor;

// Bytes are elements: all kernels are of 8 bits.

bool IsByte(const Tensor& tensor) {
  return tensor.type == ElementType::kInt8 || tensor.type == ElementType::kUint8;
}

std::optional<OverlapRule> Below(std::int64_t distance) {
  return OverlapRule{OverlapRule::Kind::kStartsBelow, distance};
}

// A convolution computes four output channels at a time, then the last ones of a group one by one:
// channels of the group that are written before its last read.
std::int64_t BeforeLastRead(std::int64_t channels) {
  return channels % 4 == 0 ? channels - 4 : channels - 1;
}

std::optional<OverlapRule> Convolution(const Subject& s, const ops::Window& w) {
  const Tensor* filter = graph::Operand(s.subgraph, s.op.inputs, 1);
  if (filter == nullptr || !filter->shape || !IsByte(*filter)) return std::nullopt;
  const std::int64_t inputs = filter->shape->back();
  if (inputs <= 0 || w.in_channels % inputs != 0) return std::nullopt;
  const std::int64_t groups = w.in_channels / inputs;
  if (groups == 0 || w.out_channels % groups != 0) return std::nullopt;
  const std::int64_t outputs = w.out_channels / groups;
  const std::vector<std::int64_t> lowest = LowestReads(w, 1);
  std::int64_t distance = 0;
  for (std::size_t at = 0; at < lowest.size(); ++at) {
    const std::int64_t written =
        static_cast<std::int64_t>(at) * w.out_channels + BeforeLastRead(outputs);
    Note(written, lowest[at], &distance);
    if (lowest[at] == kNever) continue;
    Note(written + (groups - 1) * outputs, lowest[at] + (groups - 1) * inputs, &distance);
  }
  return Below(distance);
}

// Channel after channel, or four of them, that read the same channels of the window. With a
// multiplier the last channel is the one that most has been written before.
std::optional<OverlapRule> ByChannel(const ops::Window& w) {
  if (w.in_channels == 0 || w.out_channels % w.in_channels != 0) return std::nullopt;
  const std::vector<std::int64_t> lowest = LowestReads(w, 1);
  std::int64_t distance = 0;
  for (std::size_t at = 0; at < lowest.size(); ++at) {
    if (lowest[at] == kNever) continue;
    const std::int64_t written = static_cast<std::int64_t>(at) * w.out_channels;
    Note(written + w.out_channels - 1, lowest[at] + w.in_channels - 1, &distance);
  }
  return Below(distance);
}

std::optional<OverlapRule> FullyConnectedRows(const Subject& s) {
  const Tensor* weights = graph::Operand(s.subgraph, s.op.inputs, 1);
  if (weights == nullptr || !weights->shape || weights->shape->size() != 2 || !IsByte(*weights)) {
    return std::nullopt;
  }
  const std::int64_t outputs = weights->shape->front();
  const std::int64_t depth = weights->shape->back();
  const auto bytes = graph::TensorBytes(s.in);
  if (outputs <= 0 || depth <= 0 || !bytes || *bytes % depth != 0) return std::nullopt;
  std::int64_t distance = 0;
  for (std::int64_t row = 0; row < *bytes / depth; ++row) {
    Note(row * outputs + BeforeLastRead(outputs), row * depth, &distance);
  }
  return Below(distance);
}

// A pixel is copied by memmove, behind the bytes that fill its first channels. Of all copies, the
// last one is the least far.
std::optional<OverlapRule> PadPixels(const Subject& s) {
  constexpr std::size_t kMaxRank = 4;
  const Shape& in = *s.in.shape;
  const Shape& out = *s.out.shape;
  const auto before = PaddingsBefore(graph::Operand(s.subgraph, s.op.inputs, 1), in.size());
  const bool fits = before && !in.empty() && in.size() <= kMaxRank && in.size() == out.size() &&
                    s.in.type == s.out.type;
  if (!fits) return std::nullopt;
  std::int64_t last_in = 0;
  std::int64_t last_out = 0;
  const std::size_t channel = in.size() - 1;
  for (std::size_t d = 0; d < channel; ++d) {
    last_in = last_in * in[d] + (in[d] - 1);
    last_out = last_out * out[d] + ((*before)[d] + in[d] - 1);
  }
  std::int64_t distance = 0;
  Note(last_out * out[channel] + (*before)[channel], last_in * in[channel], &distance);
  return Below(distance);
}

// A pixel is copied by memmove.
std::optional<OverlapRule> ResizePixels(const Subject& s) {
  const auto resize = ResizeOf(s.subgraph, s.op);
  if (!resize || !resize->nearest || s.out.shape->front() != 1) return std::nullopt;
  const Shape& in = *s.in.shape;
  const Shape& out = *s.out.shape;
  const auto rows = LowestIndices(*resize, in[1], out[1]);
  const auto columns = LowestIndices(*resize, in[2], out[2]);
  // The rounding is not known.
  if (rows != LatestIndices(*resize, in[1], out[1]) ||
      columns != LatestIndices(*resize, in[2], out[2])) {
    return std::nullopt;
  }
  std::int64_t distance = 0;
  std::int64_t written = 0;
  for (const std::int64_t row : rows) {
    for (const std::int64_t column : columns) {
      Note(written, (row * in[2] + column) * in[3], &distance);
      written += in[3];
    }
  }
  return Below(distance);
}

bool HasConstantAxes(const Subject& s) {
  const Tensor* axes = graph::Operand(s.subgraph, s.op.inputs, 1);
  return axes != nullptr && axes->data && axes->type == ElementType::kInt32;
}

std::optional<OverlapRule> OfFirstInput(const Subject& s) {
  const OpKind kind = KindOf(s.op);
  switch (kind) {
    case OpKind::kConv2d:
    case OpKind::kDepthwiseConv2d:
    case OpKind::kAveragePool2d:
    case OpKind::kMaxPool2d: {
      const auto window = WindowOf(s.subgraph, s.op);
      if (!window) return std::nullopt;
      return kind == OpKind::kConv2d ? Convolution(s, *window) : ByChannel(*window);
    }
    case OpKind::kFullyConnected:
      return FullyConnectedRows(s);
    case OpKind::kPad:
    case OpKind::kPadv2:
      return PadPixels(s);
    case OpKind::kResizeNearestNeighbor:
      return ResizePixels(s);
    case OpKind::kMean:
    case OpKind::kSum:
      // The windows of output pixels follow each other; each channel is read before it is written.
      return HasConstantAxes(s) && s.in.type == s.out.type ? Below(0) : std::nullopt;
    case OpKind::kSoftmax:
    case OpKind::kLogistic:
    case OpKind::kTanh:
    case OpKind::kHardSwish:
    case OpKind::kRelu:
    case OpKind::kRelu6:
    case OpKind::kReluN1To1:
    case OpKind::kLeakyRelu:
    case OpKind::kQuantize:
      return *s.in.shape == *s.out.shape ? Below(0) : std::nullopt;
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<OverlapRule> NeapRt(const Subject& s) {
  if (!IsByte(s.in) || !IsByte(s.out)) return std::nullopt;
  if (Is(s.op, OpKind::kAdd, OpKind::kSub, OpKind::kMul)) {
    const bool whole = s.input <= 1 && *s.in.shape == *s.out.shape && s.in.type == s.out.type;
    return whole ? Below(0) : std::nullopt;
  }
  return s.input == 0 ? OfFirstInput(s) : std::nullopt;
}

}  // namespace neap::ops::overlap
