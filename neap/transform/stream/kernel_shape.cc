// SPDX-License-Identifier: Apache-2.0
//
// Kernels of emitted C, and the shapes for which their events are counted.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "neap/ops/op_kind.h"
#include "neap/ops/op_table.h"
#include "neap/ops/traits.h"
#include "neap/ops/window.h"
#include "neap/transform/stream/instructions.h"

namespace neap::stream {
namespace {

using graph::ElementType;
using ops::OpKind;

Kernel SimpleKernelOf(const graph::Op& op) {
  switch (ops::KindOf(op)) {
    case OpKind::kAdd:
    case OpKind::kSub:
      return Kernel::kAdd;
    case OpKind::kMul:
      return Kernel::kMultiply;
    case OpKind::kSoftmax:
      return Kernel::kSoftmax;
    case OpKind::kPad:
    case OpKind::kPadv2:
    case OpKind::kSlice:
    case OpKind::kStridedSlice:
    case OpKind::kConcatenation:
      return Kernel::kMove;
    case OpKind::kLogistic:
    case OpKind::kTanh:
    case OpKind::kHardSwish:
    case OpKind::kRelu:
    case OpKind::kRelu6:
    case OpKind::kLeakyRelu:
    case OpKind::kQuantize:
      return Kernel::kTable;
    default:
      return ops::IsReshapeLike(op) ? Kernel::kNothing : Kernel::kOther;
  }
}

bool IsInt8(const graph::Subgraph& subgraph, graph::TensorId tensor) {
  return tensor.valid() && subgraph.tensors[tensor].type == ElementType::kInt8;
}

// Whether outputs are on both sides of the zero point.
bool IsRounded(const graph::Subgraph& subgraph, const graph::Op& op) {
  const auto& quantization = subgraph.tensors[op.outputs[0]].quantization;
  const std::int64_t activation = ops::IntegerAttribute(op, "fused_activation_function", 0);
  if (activation == 1 || activation == 3) return false;
  return !quantization || quantization->zero_points.empty() || quantization->zero_points[0] != -128;
}

void SetWindow(const ops::Window& window, KernelShape* shape) {
  shape->taps_high = window.kernel_height;
  shape->taps_wide = window.kernel_width;
  shape->stride_y = window.stride_height;
  shape->stride_x = window.stride_width;
  shape->dilation_y = window.dilation_height;
  shape->dilation_x = window.dilation_width;
  shape->pad_y = window.pad_top;
  shape->pad_x = window.pad_left;
  shape->in_height = window.in_height;
  shape->in_width = window.in_width;
}

// Of convolutions and pools; false: no kernel of which instructions were counted.
bool SetProduct(const graph::Subgraph& subgraph, const graph::Op& op, KernelShape* shape) {
  const OpKind kind = ops::KindOf(op);
  const auto window = ops::WindowOf(subgraph, op);
  if (!window || window->batches != 1) return false;
  SetWindow(*window, shape);
  if (kind == OpKind::kAveragePool2d || kind == OpKind::kMaxPool2d) {
    shape->kernel = kind == OpKind::kMaxPool2d ? Kernel::kMaxPool : Kernel::kAveragePool;
    return true;
  }
  if (kind != OpKind::kConv2d && kind != OpKind::kDepthwiseConv2d) return false;
  const auto& filter = subgraph.tensors[op.inputs[1]].shape;
  const bool by_channel = kind == OpKind::kDepthwiseConv2d && window->in_channels > 1;
  if (by_channel && window->in_channels != window->out_channels) return false;
  if (kind == OpKind::kConv2d && (!filter || filter->back() != window->in_channels)) return false;
  shape->kernel = by_channel ? Kernel::kDepthwise : Kernel::kConvolution;
  shape->inputs = by_channel ? 1 : window->in_channels;
  shape->points = shape->taps() == 1 && shape->stride_y == 1 && shape->stride_x == 1 &&
                  shape->pad_y == 0 && shape->pad_x == 0 && !by_channel;
  return true;
}

}  // namespace

std::string_view NameOf(Kernel kernel) {
  constexpr std::array<std::string_view, kKernels + 2> kNames = {
      "convolution", "depthwise", "add",  "multiply", "average pool", "max pool",
      "sums",        "softmax",   "move", "table",    "nothing",      "other"};
  return kNames[static_cast<std::size_t>(kernel)];
}

KernelShape KernelShapeOf(const graph::Subgraph& subgraph, const graph::Op& op, bool sums,
                          const plan::StreamImage& boxes) {
  KernelShape shape;
  shape.rows = boxes.height;
  shape.columns = boxes.width;
  shape.channels = boxes.pixel_bytes;
  if (op.inputs.empty() || !IsInt8(subgraph, op.inputs[0]) || !IsInt8(subgraph, op.outputs[0])) {
    return shape;
  }
  if (sums) {
    shape.kernel = Kernel::kSums;
    return shape;
  }
  shape.rounded = IsRounded(subgraph, op);
  if (SetProduct(subgraph, op, &shape)) return shape;
  if (ops::KindOf(op) == OpKind::kFullyConnected && op.inputs.size() > 1) {
    const auto& filter = subgraph.tensors[op.inputs[1]].shape;
    if (!filter || filter->size() != 2) return shape;
    shape.kernel = Kernel::kConvolution;
    shape.points = true;
    shape.inputs = (*filter)[1];
    shape.channels = (*filter)[0];
    shape.rows = boxes.bytes() / std::max<std::int64_t>(shape.channels, 1);
    shape.columns = 1;
    return shape;
  }
  shape.kernel = SimpleKernelOf(op);
  return shape;
}

}  // namespace neap::stream
