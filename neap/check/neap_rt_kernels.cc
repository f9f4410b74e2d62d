// SPDX-License-Identifier: Apache-2.0
#include "neap/check/neap_rt_kernels.h"

#include <algorithm>
#include <vector>

#include "neap/check/window_walk.h"
#include "neap/ops/op_table.h"
#include "neap/ops/resize.h"
#include "neap/ops/window.h"

namespace neap::check {
namespace {

using graph::ElementType;
using graph::Op;
using graph::Shape;
using graph::Subgraph;
using graph::Tensor;
using ops::Is;
using ops::OpKind;
using ops::Window;

bool IsByte(const Tensor& tensor) {
  return tensor.type == ElementType::kInt8 || tensor.type == ElementType::kUint8;
}

std::int64_t ElementsOf(const Tensor& tensor) { return graph::TensorBytes(tensor).value_or(0); }

// Calls `visit` with the byte at which each image begins in the input, for each output pixel in the
// order of the drivers.
template <typename Visit>
void ForEachPixel(const Window& w, const Visit& visit) {
  for (std::int64_t b = 0; b < w.batches; ++b) {
    const WindowImage image{w, b * w.in_height * w.in_width * w.in_channels};
    for (std::int64_t y = 0; y < w.out_height; ++y) {
      for (std::int64_t x = 0; x < w.out_width; ++x) visit(image, y, x);
    }
  }
}

// neap_conv_s8: in each group, four channels after one reading of the taps, then single ones.
bool WalkConvolution(const Subgraph& subgraph, const Op& op, const Window& w, Tape* tape) {
  if (op.inputs.size() < 2 || !op.inputs[1].valid()) return false;
  const Tensor& filter = subgraph.tensors[op.inputs[1]];
  if (!filter.shape || filter.shape->size() != 4 || !IsByte(filter)) return false;
  const std::int64_t depth = filter.shape->back();
  if (depth <= 0 || w.in_channels % depth != 0) return false;
  const std::int64_t groups = w.in_channels / depth;
  if (groups == 0 || w.out_channels % groups != 0) return false;
  const std::int64_t per_group = w.out_channels / groups;
  ForEachPixel(w, [&](const WindowImage& image, std::int64_t y, std::int64_t x) {
    for (std::int64_t g = 0; g < groups && tape->Intact(); ++g) {
      std::int64_t rest = per_group;
      while (rest > 0) {
        const std::int64_t now = rest >= 4 ? 4 : 1;
        ReadWindow(image, y, x, g * depth, depth, tape);
        tape->Write(now);
        rest -= now;
      }
    }
  });
  return true;
}

// neap_depthwise_s8 and pooling: four channels or one at a time, each from its own of the taps.
bool WalkChannels(const Window& w, bool in_fours, Tape* tape) {
  if (w.in_channels == 0 || w.out_channels % w.in_channels != 0) return false;
  const std::int64_t multiplier = w.out_channels / w.in_channels;
  ForEachPixel(w, [&](const WindowImage& image, std::int64_t y, std::int64_t x) {
    for (std::int64_t c = 0; c < w.out_channels && tape->Intact();) {
      const bool four = in_fours && multiplier == 1 && c + 4 <= w.out_channels;
      ReadWindow(image, y, x, c / multiplier, four ? 4 : 1, tape);
      tape->Write(four ? 4 : 1);
      c += four ? 4 : 1;
    }
  });
  return true;
}

bool WalkRows(const Subgraph& subgraph, const Op& op, Tape* tape) {
  if (op.inputs.size() < 2 || !op.inputs[1].valid()) return false;
  const Tensor& weights = subgraph.tensors[op.inputs[1]];
  if (!weights.shape || weights.shape->size() != 2 || !IsByte(weights)) return false;
  const std::int64_t outputs = (*weights.shape)[0];
  const std::int64_t depth = (*weights.shape)[1];
  const std::int64_t bytes = ElementsOf(subgraph.tensors[op.inputs[0]]);
  if (outputs <= 0 || depth <= 0 || bytes % depth != 0) return false;
  for (std::int64_t from = 0; from < bytes; from += depth) {
    for (std::int64_t c = 0; c < outputs;) {
      tape->Read(from, from + depth);
      const std::int64_t now = c + 4 <= outputs ? 4 : 1;
      tape->Write(now);
      c += now;
    }
  }
  return true;
}

// The integers of an int32 constant, paddings or axes.
std::vector<std::int64_t> Integers(const Subgraph& subgraph, const Op& op, std::size_t input) {
  std::vector<std::int64_t> values;
  if (input >= op.inputs.size() || !op.inputs[input].valid()) return values;
  const Tensor& tensor = subgraph.tensors[op.inputs[input]];
  const std::int64_t element = tensor.type == ElementType::kInt32   ? 4
                               : tensor.type == ElementType::kInt64 ? 8
                                                                    : 0;
  if (!tensor.data || element == 0) return values;
  const auto bytes = tensor.data->bytes;
  for (std::size_t at = 0; at + static_cast<std::size_t>(element) <= bytes.size();
       at += static_cast<std::size_t>(element)) {
    std::uint64_t value = 0;
    for (auto k = static_cast<std::size_t>(element); k-- > 0;) {
      value = value << 8U | std::to_integer<std::uint64_t>(bytes[at + k]);
    }
    values.push_back(element == 4 ? static_cast<std::int32_t>(static_cast<std::uint32_t>(value))
                                  : static_cast<std::int64_t>(value));
  }
  return values;
}

// neap_copy_pixels: fill, the pixel by memmove, fill.
bool WalkPad(const Subgraph& subgraph, const Op& op, const Shape& in, const Shape& out,
             Tape* tape) {
  const std::vector<std::int64_t> paddings = Integers(subgraph, op, 1);
  const std::size_t rank = in.size();
  if (rank == 0 || rank > 4 || out.size() != rank || paddings.size() != 2 * rank) return false;
  const std::size_t last = rank - 1;
  const std::int64_t pixels = ElementsOf(subgraph.tensors[op.outputs[0]]) / out[last];
  std::vector<std::int64_t> at(rank, 0);
  for (std::int64_t p = 0; p < pixels; ++p) {
    std::int64_t from = 0;
    bool inside = true;
    for (std::size_t d = 0; d < last; ++d) {
      const std::int64_t index = at[d] - paddings[2 * d];
      inside = inside && index >= 0 && index < in[d];
      from = from * in[d] + index;
    }
    tape->WriteUpTo(p * out[last] + paddings[2 * last]);
    if (inside) tape->Read(from * in[last], (from + 1) * in[last]);
    tape->WriteUpTo((p + 1) * out[last]);
    for (std::size_t d = last; d-- > 0;) {
      if (++at[d] < out[d]) break;
      at[d] = 0;
    }
  }
  return true;
}

// neap_drive_nearest: pixel by pixel, by memmove.
bool WalkNearest(const Subgraph& subgraph, const Op& op, const Shape& in, const Shape& out,
                 Tape* tape) {
  const auto resize = ops::ResizeOf(subgraph, op);
  if (!resize || !resize->nearest || out[0] != 1) return false;
  const auto rows = ops::LatestIndices(*resize, in[1], out[1]);
  const auto columns = ops::LatestIndices(*resize, in[2], out[2]);
  if (rows != ops::LowestIndices(*resize, in[1], out[1]) ||
      columns != ops::LowestIndices(*resize, in[2], out[2])) {
    return false;
  }
  for (const std::int64_t row : rows) {
    for (const std::int64_t column : columns) {
      const std::int64_t from = (row * in[2] + column) * in[3];
      tape->Read(from, from + in[3]);
      tape->Write(in[3]);
    }
  }
  return true;
}

// neap_drive_mean: output element after output element, each after all elements of its mean. With
// the coordinates of the reduced dimensions at 0, the first of them is the lowest.
bool WalkMean(const Subgraph& subgraph, const Op& op, const Shape& in, Tape* tape) {
  const bool known = op.inputs.size() > 1 && op.inputs[1].valid() &&
                     subgraph.tensors[op.inputs[1]].data.has_value() &&
                     subgraph.tensors[op.inputs[1]].type == ElementType::kInt32 &&
                     subgraph.tensors[op.inputs[0]].type == subgraph.tensors[op.outputs[0]].type;
  if (!known) return false;
  std::vector<bool> reduced(in.size(), false);
  for (std::int64_t axis : Integers(subgraph, op, 1)) {
    if (axis < 0) axis += static_cast<std::int64_t>(in.size());
    if (axis < 0 || axis >= static_cast<std::int64_t>(in.size())) return false;
    reduced[static_cast<std::size_t>(axis)] = true;
  }
  std::int64_t elements = 1;
  for (std::size_t d = 0; d < in.size(); ++d) elements *= reduced[d] ? 1 : in[d];
  std::vector<std::int64_t> at(in.size(), 0);
  for (std::int64_t i = 0; i < elements; ++i) {
    std::int64_t from = 0;
    for (std::size_t d = 0; d < in.size(); ++d) from = from * in[d] + at[d];
    tape->Read(from, from + 1);
    tape->Write(1);
    for (std::size_t d = in.size(); d-- > 0;) {
      if (reduced[d]) continue;
      if (++at[d] < in[d]) break;
      at[d] = 0;
    }
  }
  return true;
}

// Element after element; softmax reads its row before.
void WalkElements(std::int64_t elements, std::int64_t row, Tape* tape) {
  for (std::int64_t i = 0; i < elements; ++i) {
    if (i % row == 0) tape->Read(i, i + row);
    tape->Read(i, i + 1);
    tape->Write(1);
  }
}

}  // namespace

bool WalkNeapRt(const Subgraph& subgraph, const Op& op, std::size_t input, Tape* tape) {
  const Tensor& in = subgraph.tensors[op.inputs[input]];
  const Tensor& out = subgraph.tensors[op.outputs[0]];
  if (!IsByte(in) || !IsByte(out) || !in.shape || !out.shape) return false;
  const bool equal = *in.shape == *out.shape;
  if (Is(op, OpKind::kAdd, OpKind::kSub, OpKind::kMul)) {
    if (input > 1 || !equal || in.type != out.type) return false;
    WalkElements(ElementsOf(out), 1, tape);
    return true;
  }
  if (input != 0) return false;
  if (Is(op, OpKind::kConv2d, OpKind::kDepthwiseConv2d, OpKind::kAveragePool2d,
         OpKind::kMaxPool2d)) {
    const auto window = ops::WindowOf(subgraph, op);
    if (!window) return false;
    return Is(op, OpKind::kConv2d) ? WalkConvolution(subgraph, op, *window, tape)
                                   : WalkChannels(*window, Is(op, OpKind::kDepthwiseConv2d), tape);
  }
  if (Is(op, OpKind::kFullyConnected)) return WalkRows(subgraph, op, tape);
  if (Is(op, OpKind::kPad, OpKind::kPadv2)) {
    return in.type == out.type && WalkPad(subgraph, op, *in.shape, *out.shape, tape);
  }
  if (Is(op, OpKind::kResizeNearestNeighbor)) {
    return WalkNearest(subgraph, op, *in.shape, *out.shape, tape);
  }
  if (Is(op, OpKind::kMean, OpKind::kSum)) return WalkMean(subgraph, op, *in.shape, tape);
  const bool pointwise =
      Is(op, OpKind::kLogistic, OpKind::kTanh, OpKind::kHardSwish, OpKind::kRelu, OpKind::kRelu6,
         OpKind::kReluN1To1, OpKind::kLeakyRelu, OpKind::kQuantize, OpKind::kSoftmax);
  if (!pointwise || !equal) return false;
  const bool rows = Is(op, OpKind::kSoftmax) && !in.shape->empty() && in.shape->back() > 0;
  WalkElements(ElementsOf(out), rows ? in.shape->back() : 1, tape);
  return true;
}

}  // namespace neap::check
