// SPDX-License-Identifier: Apache-2.0
//
// Whole layers as calls of the library CMSIS-NN (runtime/neap_cmsis_nn.h).
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "neap/emit/lowering.h"
#include "neap/emit/quantization.h"
#include "neap/emit/weights.h"
#include "neap/execute/fixed_point.h"
#include "neap/ops/op_table.h"
#include "neap/ops/window.h"
#include "neap/target/cmsis_nn.h"

namespace neap::emit {
namespace {

using graph::Op;
using graph::Tensor;
using ops::OpKind;
using target::Simd;

constexpr std::int64_t kMostOfField = UINT16_MAX;

struct Layer {
  std::string function;  // of neap_cmsis_nn.h
  target::Convolution shape;
  std::int64_t buffer_bytes = 0;
  Range range;
  bool one_scale = false;
};

// Of weighted layers.
struct Tables {
  std::string weights = "NULL";
  std::string bias = "NULL";
  std::string fractions = "NULL";
  std::string shifts = "NULL";
  std::int64_t in_offset = 0;
  std::int64_t out_offset = 0;
};

target::Convolution ShapeOf(const ops::Window& window) {
  target::Convolution shape;
  shape.batches = window.batches;
  shape.in = {window.in_height, window.in_width};
  shape.in_channels = window.in_channels;
  shape.filter = {window.kernel_height, window.kernel_width};
  shape.out = {window.out_height, window.out_width};
  shape.out_channels = window.out_channels;
  shape.stride = {window.stride_height, window.stride_width};
  shape.dilation = {window.dilation_height, window.dilation_width};
  shape.padding = {window.pad_top, window.pad_left};
  return shape;
}

// Columns of a single row are gathered by some versions of the library and read in place by others.
std::int64_t ConvolutionBuffer(Simd simd, const target::Convolution& shape) {
  target::Convolution gathered = shape;
  gathered.in.height += 1;
  return std::max(target::cmsis_nn::ConvolveS8(simd, shape),
                  target::cmsis_nn::ConvolveS8(simd, gathered));
}

// The size function of version 4.0.0 does not know that windows of 3x3 need no buffer.
std::int64_t DepthwiseBuffer(Simd simd, const target::Convolution& shape) {
  target::Convolution other = shape;
  other.padding.height = std::max<std::int64_t>(shape.padding.height, 2);
  return std::max(target::cmsis_nn::DepthwiseS8(simd, shape),
                  target::cmsis_nn::DepthwiseS8(simd, other));
}

std::int64_t BufferFor(Simd simd, OpKind kind, const target::Convolution& shape) {
  switch (kind) {
    case OpKind::kConv2d:
      return ConvolutionBuffer(simd, shape);
    case OpKind::kDepthwiseConv2d:
      return DepthwiseBuffer(simd, shape);
    case OpKind::kAveragePool2d:
      return target::cmsis_nn::AveragePool(simd, shape.out_channels);
    default:
      return 0;
  }
}

std::int64_t BufferOf(const Lowering& lowering, OpKind kind, const target::Convolution& shape) {
  if (const auto simd = lowering.library().simd) return BufferFor(*simd, kind, shape);
  std::int64_t most = 0;
  for (const Simd simd : {Simd::kNone, Simd::kDsp, Simd::kMve}) {
    most = std::max(most, BufferFor(simd, kind, shape));
  }
  return most;
}

// Pools have no loop over images, and no function has groups.
bool HasFunction(const Lowering& lowering, const Op& op, const ops::Window& window) {
  if (window.batches != 1) return false;
  if (ops::Is(op, OpKind::kDepthwiseConv2d)) {
    return window.in_channels > 0 && window.out_channels % window.in_channels == 0;
  }
  if (!ops::Is(op, OpKind::kConv2d)) return true;
  const Tensor& filter = InputOf(lowering, op, 1);
  return filter.shape && !filter.shape->empty() && filter.shape->back() == window.in_channels;
}

std::optional<Layer> WindowLayer(const Lowering& lowering, const Op& op) {
  const auto window = ops::WindowOf(lowering.subgraph(), op);
  if (!window || !HasFunction(lowering, op, *window)) return std::nullopt;
  Layer layer;
  layer.shape = ShapeOf(*window);
  const OpKind kind = ops::KindOf(op);
  layer.buffer_bytes = BufferOf(lowering, kind, layer.shape);
  layer.function = kind == OpKind::kConv2d            ? "conv"
                   : kind == OpKind::kDepthwiseConv2d ? "depthwise"
                   : kind == OpKind::kAveragePool2d   ? "average_pool"
                                                      : "max_pool";
  return layer;
}

// As the stock runtime chooses: tensors of more dimensions are convolutions of one pixel each,
// which the overlaps of plans know.
std::optional<Layer> FullyConnectedLayer(const Lowering& lowering, const Op& op) {
  const Tensor& filter = InputOf(lowering, op, 1);
  if (!filter.shape || filter.shape->size() != 2 ||
      ops::IntegerAttribute(op, "weights_format", 0) != 0) {
    return std::nullopt;
  }
  const std::int64_t outputs = (*filter.shape)[0];
  const std::int64_t depth = (*filter.shape)[1];
  const std::int64_t elements = *graph::TensorBytes(InputOf(lowering, op, 0));
  if (outputs < 1 || depth < 1 || elements % depth != 0 ||
      *graph::TensorBytes(OutputOf(lowering, op)) != elements / depth * outputs) {
    return std::nullopt;
  }
  const bool several = filter.quantization && filter.quantization->scales.size() > 1;
  const bool pointwise = OutputOf(lowering, op).shape->size() > 2 && depth % 4 == 0;
  if (several && !pointwise) return std::nullopt;
  Layer layer;
  layer.function = "fully_connected";
  layer.shape.batches = elements / depth;
  layer.shape.in_channels = depth;
  layer.shape.out_channels = outputs;
  layer.shape.stride = {1, 1};
  layer.shape.dilation = {1, 1};
  layer.one_scale = !pointwise;
  return layer;
}

bool IsSmall(const target::Convolution& shape) {
  const auto sizes = {shape.batches,        shape.in.height,      shape.in.width,
                      shape.in_channels,    shape.out.height,     shape.out.width,
                      shape.out_channels,   shape.filter.height,  shape.filter.width,
                      shape.stride.height,  shape.stride.width,   shape.dilation.height,
                      shape.dilation.width, shape.padding.height, shape.padding.width};
  return std::all_of(sizes.begin(), sizes.end(),
                     [](std::int64_t size) { return size >= 0 && size <= kMostOfField; });
}

// nullopt: a scale for which the library's shifts are not defined.
Result<std::optional<Tables>> TablesOf(Lowering& lowering, const Subject& subject,
                                       std::int64_t outputs) {
  const Op& op = subject.op;
  NEAP_TRY(const Quant in, QuantOf(InputOf(lowering, op, 0)));
  NEAP_TRY(const Quant out, QuantOf(OutputOf(lowering, op)));
  NEAP_TRY(const auto scales, ChannelScales(InputOf(lowering, op, 1), outputs));
  NEAP_TRY(Weights weights, WeightsOf(InputOf(lowering, op, 1), false));
  NEAP_TRY(auto bias, GivenBias(lowering, op, outputs));
  std::vector<std::int64_t> fractions;
  std::vector<std::int64_t> shifts;
  for (const execute::FixedFactor& factor : FactorsOf(scales, in, out, false)) {
    if (factor.shift < -31 || factor.shift > 30) return std::optional<Tables>();
    fractions.push_back(factor.fraction);
    shifts.push_back(factor.shift);
  }
  const std::string name = "op" + std::to_string(subject.id.value());
  return std::optional(
      Tables{lowering.Add(name + "_weights", "int8_t", std::move(weights.values), true),
             lowering.Add(name + "_bias", "int32_t", std::move(bias)),
             lowering.Add(name + "_fractions", "int32_t", std::move(fractions)),
             lowering.Add(name + "_shifts", "int32_t", std::move(shifts)), -in.zero, out.zero});
}

std::string Pair(const target::Hw& size) {
  return InitialiserOf({Number(size.height), Number(size.width)});
}

Params ParamsOf(const Layer& layer, const Tables& tables) {
  const target::Convolution& shape = layer.shape;
  return {"neap_layer",
          InitialiserOf({tables.weights, tables.bias, tables.fractions, tables.shifts,
                         Number(layer.buffer_bytes), Number(tables.in_offset),
                         Number(tables.out_offset), Number(layer.range.low),
                         Number(layer.range.high), Number(shape.batches), Pair(shape.in),
                         Number(shape.in_channels), Pair(shape.out), Number(shape.out_channels),
                         Pair(shape.filter), Pair(shape.stride), Pair(shape.dilation),
                         Pair(shape.padding), layer.one_scale ? "1" : "0"})};
}

constexpr const char* kDriver = "neap_drive_cmsis_nn_";

}  // namespace

Result<std::optional<std::vector<Call>>> LowerCmsisNn(Lowering& lowering, const Subject& subject) {
  const std::optional<std::vector<Call>> none;
  const Op& op = subject.op;
  const bool weighted =
      ops::Is(op, OpKind::kConv2d, OpKind::kDepthwiseConv2d, OpKind::kFullyConnected);
  if (!weighted && !ops::Is(op, OpKind::kAveragePool2d, OpKind::kMaxPool2d)) return none;
  for (const Tensor* tensor : {&InputOf(lowering, op, 0), &OutputOf(lowering, op)}) {
    if (tensor->type != graph::ElementType::kInt8) return none;
  }
  if (weighted && (!HasInput(op, 1) || IsUint8(InputOf(lowering, op, 1)))) return none;
  auto layer = ops::Is(op, OpKind::kFullyConnected) ? FullyConnectedLayer(lowering, op)
                                                    : WindowLayer(lowering, op);
  if (!layer || !IsSmall(layer->shape)) return none;
  NEAP_TRY(layer->range, OutputRange(op, OutputOf(lowering, op)));
  Tables tables;
  if (weighted) {
    NEAP_TRY(auto found, TablesOf(lowering, subject, layer->shape.out_channels));
    if (!found) return none;
    tables = *std::move(found);
  }
  Call call;
  call.driver = kDriver + layer->function;
  call.params = ParamsOf(*layer, tables);
  call.scratch_bytes = layer->buffer_bytes;
  NEAP_TRY(const View from,
           lowering.FormOf(op.inputs[0], {1, 1, *graph::TensorBytes(InputOf(lowering, op, 0))}));
  NEAP_TRY(const View to,
           lowering.FormOf(op.outputs[0], {1, 1, *graph::TensorBytes(OutputOf(lowering, op))}));
  call.views = {to, from};
  return std::optional(std::vector<Call>{std::move(call)});
}

}  // namespace neap::emit
