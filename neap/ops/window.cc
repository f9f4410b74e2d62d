// SPDX-License-Identifier: Apache-2.0
#include "neap/ops/window.h"

#include <algorithm>

#include "neap/ops/op_table.h"

namespace neap::ops {
namespace {

constexpr std::int64_t kSame = 0;  // of the attribute `padding`
constexpr std::size_t kRank = 4;

const graph::Shape* KnownShape(const graph::Subgraph& subgraph, graph::TensorId id) {
  if (!id.valid() || !subgraph.tensors[id].shape) return nullptr;
  const graph::Shape& shape = *subgraph.tensors[id].shape;
  const bool known = shape.size() == kRank &&
                     std::all_of(shape.begin(), shape.end(), [](auto d) { return d > 0; });
  return known ? &shape : nullptr;
}

// Rows or columns of padding before the input.
std::int64_t PaddingBefore(std::int64_t in, std::int64_t out, std::int64_t kernel,
                           std::int64_t stride, std::int64_t dilation) {
  const std::int64_t needed = (out - 1) * stride + (kernel - 1) * dilation + 1 - in;
  return std::max<std::int64_t>(needed, 0) / 2;
}

bool SetKernel(const graph::Subgraph& subgraph, const graph::Op& op, Window* window) {
  const OpKind kind = KindOf(op);
  const bool pool =
      kind == OpKind::kAveragePool2d || kind == OpKind::kMaxPool2d || kind == OpKind::kL2Pool2d;
  window->per_channel = pool || kind == OpKind::kDepthwiseConv2d;
  if (pool) {
    window->kernel_height = IntegerAttribute(op, "filter_height", 0);
    window->kernel_width = IntegerAttribute(op, "filter_width", 0);
    return window->in_channels == window->out_channels;
  }
  if (kind != OpKind::kConv2d && kind != OpKind::kDepthwiseConv2d) return false;
  const graph::Shape* filter = op.inputs.size() < 2 ? nullptr : KnownShape(subgraph, op.inputs[1]);
  if (filter == nullptr) return false;
  window->kernel_height = (*filter)[1];
  window->kernel_width = (*filter)[2];
  window->dilation_height = IntegerAttribute(op, "dilation_h_factor", 1);
  window->dilation_width = IntegerAttribute(op, "dilation_w_factor", 1);
  if (kind == OpKind::kConv2d) {
    return (*filter)[0] == window->out_channels && window->in_channels % (*filter)[3] == 0;
  }
  return (*filter)[3] == window->out_channels && window->out_channels % window->in_channels == 0;
}

}  // namespace

std::int64_t IntegerAttribute(const graph::Op& op, const char* name, std::int64_t otherwise) {
  const auto found = op.attributes.find(name);
  if (found == op.attributes.end()) return otherwise;
  const auto* value = std::get_if<std::int64_t>(&found->second);
  return value == nullptr ? otherwise : *value;
}

std::optional<Window> WindowOf(const graph::Subgraph& subgraph, const graph::Op& op) {
  if (op.domain != "tflite" || op.inputs.empty() || op.outputs.empty()) return std::nullopt;
  const graph::Shape* in = KnownShape(subgraph, op.inputs[0]);
  const graph::Shape* out = KnownShape(subgraph, op.outputs[0]);
  if (in == nullptr || out == nullptr || (*in)[0] != (*out)[0]) return std::nullopt;
  Window window;
  window.batches = (*in)[0];
  window.in_height = (*in)[1];
  window.in_width = (*in)[2];
  window.in_channels = (*in)[3];
  window.out_height = (*out)[1];
  window.out_width = (*out)[2];
  window.out_channels = (*out)[3];
  if (!SetKernel(subgraph, op, &window)) return std::nullopt;
  window.stride_height = IntegerAttribute(op, "stride_h", 0);
  window.stride_width = IntegerAttribute(op, "stride_w", 0);
  // Sizes beyond any real kernel would overflow what follows.
  constexpr std::int64_t kMax = 1 << 24;
  for (const std::int64_t size :
       {window.kernel_height, window.kernel_width, window.stride_height, window.stride_width,
        window.dilation_height, window.dilation_width}) {
    if (size < 1 || size > kMax) return std::nullopt;
  }
  if (IntegerAttribute(op, "padding", kSame) == kSame) {
    window.pad_top = PaddingBefore(window.in_height, window.out_height, window.kernel_height,
                                   window.stride_height, window.dilation_height);
    window.pad_left = PaddingBefore(window.in_width, window.out_width, window.kernel_width,
                                    window.stride_width, window.dilation_width);
  }
  return window;
}

}  // namespace neap::ops
