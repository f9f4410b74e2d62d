// SPDX-License-Identifier: Apache-2.0
#include "neap/ops/library_scratch.h"

#include <utility>

#include "neap/base/bytes.h"
#include "neap/ops/op_table.h"
#include "neap/ops/tflm_scratch.h"
#include "neap/ops/window.h"
#include "neap/target/cmsis_nn.h"
#include "neap/target/esp_nn.h"

namespace neap::ops {
namespace {

using graph::ElementType;
using graph::Op;
using graph::Operand;
using graph::Subgraph;
using graph::Tensor;
using target::Convolution;
using target::Target;
using Sizes = std::optional<std::vector<std::int64_t>>;

LibraryScratch Known(Sizes requests) { return {true, std::move(requests), ""}; }
LibraryScratch Unknown(std::string_view why) { return {true, std::nullopt, why}; }

// A request of no bytes is not made.
Sizes Request(std::int64_t bytes) {
  if (bytes > kMaxBytes / 16) return std::nullopt;
  return bytes > 0 ? std::vector<std::int64_t>{bytes} : std::vector<std::int64_t>();
}

bool IsOf(const Tensor* tensor, ElementType type) {
  return tensor != nullptr && tensor->type == type;
}

// Products of these sizes stay below 2^62.
bool IsSmall(const Window& window) {
  constexpr std::int64_t kMost = 1 << 14;
  for (const std::int64_t size : {window.in_height, window.in_width, window.in_channels,
                                  window.out_height, window.out_width, window.out_channels}) {
    if (size > kMost) return false;
  }
  return window.kernel_height <= 1 << 8 && window.kernel_width <= 1 << 8;
}

std::optional<Convolution> ConvolutionOf(const Subgraph& subgraph, const Op& op) {
  const auto window = WindowOf(subgraph, op);
  if (!window || !IsSmall(*window)) return std::nullopt;
  Convolution conv;
  conv.batches = window->batches;
  conv.in = {window->in_height, window->in_width};
  conv.in_channels = window->in_channels;
  conv.filter = {window->kernel_height, window->kernel_width};
  conv.out = {window->out_height, window->out_width};
  conv.out_channels = window->out_channels;
  conv.stride = {window->stride_height, window->stride_width};
  conv.dilation = {window->dilation_height, window->dilation_width};
  conv.padding = {window->pad_top, window->pad_left};
  return conv;
}

// The filter is input 1, the input is input 2.
std::optional<Convolution> TransposedOf(const Subgraph& subgraph, const Op& op) {
  constexpr std::int64_t kMost = 1 << 14;
  const Tensor* filter = Operand(subgraph, op.inputs, 1);
  const Tensor* input = Operand(subgraph, op.inputs, 2);
  for (const Tensor* tensor : {filter, input}) {
    if (tensor == nullptr || !tensor->shape || tensor->shape->size() != 4) return std::nullopt;
    for (const std::int64_t size : *tensor->shape) {
      if (size < 1 || size > kMost) return std::nullopt;
    }
  }
  Convolution conv;
  conv.in = {(*input->shape)[1], (*input->shape)[2]};
  conv.in_channels = (*input->shape)[3];
  conv.filter = {(*filter->shape)[1], (*filter->shape)[2]};
  conv.out_channels = (*filter->shape)[0];
  conv.stride = {IntegerAttribute(op, "stride_h", 1), IntegerAttribute(op, "stride_w", 1)};
  const bool known = conv.stride.height > 0 && conv.stride.width > 0 &&
                     conv.stride.height <= kMost && conv.stride.width <= kMost &&
                     conv.filter.height <= 1 << 8 && conv.filter.width <= 1 << 8;
  return known ? std::optional(conv) : std::nullopt;
}

// CMSIS-NN.

LibraryScratch CmsisConvolution(const Subgraph& subgraph, const Op& op, const Target& target) {
  const Tensor* input = Operand(subgraph, op.inputs, 0);
  const Tensor* bias = Operand(subgraph, op.inputs, 2);
  const bool wide = IsOf(input, ElementType::kInt16);
  if (!wide && !IsOf(input, ElementType::kInt8)) return Known(Request(0));
  // A 32-bit bias of 16-bit convolutions is for the reference kernel.
  if (wide && bias != nullptr && !IsOf(bias, ElementType::kInt64)) return Known(Request(0));
  const auto conv = ConvolutionOf(subgraph, op);
  if (!conv) return Known(std::nullopt);
  return Known(Request(wide ? target::cmsis_nn::ConvolveS16(target.simd, *conv)
                            : target::cmsis_nn::ConvolveS8(target.simd, *conv)));
}

LibraryScratch CmsisDepthwise(const Subgraph& subgraph, const Op& op, const Target& target) {
  if (!IsOf(Operand(subgraph, op.inputs, 0), ElementType::kInt8)) return Known(Request(0));
  const auto conv = ConvolutionOf(subgraph, op);
  if (!conv) return Known(std::nullopt);
  const bool packed = IsOf(Operand(subgraph, op.inputs, 1), ElementType::kInt4);
  return Known(Request(packed ? target::cmsis_nn::DepthwiseS4(target.simd, *conv)
                              : target::cmsis_nn::DepthwiseS8(target.simd, *conv)));
}

// Scales of a weight tensor that has one for all outputs, repeated for the kernel of a 1x1
// convolution, which runs instead. A sum for each output is kept, not scratch, if the weights and
// the bias are constant.
LibraryScratch CmsisFullyConnected(const Subgraph& subgraph, const Op& op, const Target& target) {
  const Tensor* weights = Operand(subgraph, op.inputs, 1);
  if (!IsOf(Operand(subgraph, op.inputs, 0), ElementType::kInt8) ||
      IsOf(weights, ElementType::kInt4)) {
    return Known(Request(0));
  }
  const auto columns = FullyConnectedOf(subgraph, op);
  if (!columns) return Known(std::nullopt);
  if (columns->is_pointwise) {
    const bool each = weights->quantization && weights->quantization->scales.size() > 1;
    return Known(Request(each ? 0 : std::int64_t{8} * columns->outputs));
  }
  if (columns->is_constant) return Known(Request(0));
  return Known(Request(target::cmsis_nn::FullyConnectedS8(target.simd, columns->outputs)));
}

LibraryScratch CmsisAveragePool(const Subgraph& subgraph, const Op& op, const Target& target) {
  const Tensor* input = Operand(subgraph, op.inputs, 0);
  if (!IsOf(input, ElementType::kInt8) && !IsOf(input, ElementType::kInt16)) {
    return Known(Request(0));
  }
  if (!input->shape || input->shape->size() != 4 || input->shape->back() < 0 ||
      input->shape->back() > kMaxBytes / 64) {
    return Known(std::nullopt);
  }
  return Known(Request(target::cmsis_nn::AveragePool(target.simd, input->shape->back())));
}

LibraryScratch CmsisBatchMatmul(const Subgraph& subgraph, const Op& op, const Target& target) {
  const Tensor* output = Operand(subgraph, op.outputs, 0);
  if (!IsOf(Operand(subgraph, op.inputs, 0), ElementType::kInt8)) return Known(Request(0));
  if (output == nullptr || !output->shape || output->shape->size() < 2 ||
      output->shape->back() < 0 || output->shape->back() > kMaxBytes / 64) {
    return Known(std::nullopt);
  }
  return Known(Request(target::cmsis_nn::FullyConnectedS8(target.simd, output->shape->back())));
}

// Both requests are made, of no bytes as well. Not of floats and 16-bit integers, where the kernel
// has the requests of the reference kernel.
LibraryScratch CmsisTransposeConv(const Subgraph& subgraph, const Op& op, const Target& target) {
  if (!IsOf(Operand(subgraph, op.inputs, 2), ElementType::kInt8)) return {};
  const auto conv = TransposedOf(subgraph, op);
  if (!conv) return Known(std::nullopt);
  const std::int64_t bytes = target::cmsis_nn::TransposeConvS8(target.simd, *conv);
  const std::int64_t reversed = target::cmsis_nn::TransposeConvReverseS8(*conv);
  if (bytes > kMaxBytes / 16 || reversed > kMaxBytes / 16) return Known(std::nullopt);
  return Known(std::vector<std::int64_t>{bytes, reversed});
}

LibraryScratch CmsisNn(const Subgraph& subgraph, const Op& op, const Target& target) {
  switch (KindOf(op)) {
    case OpKind::kConv2d:
      return CmsisConvolution(subgraph, op, target);
    case OpKind::kDepthwiseConv2d:
      return CmsisDepthwise(subgraph, op, target);
    case OpKind::kFullyConnected:
      return CmsisFullyConnected(subgraph, op, target);
    case OpKind::kAveragePool2d:
      return CmsisAveragePool(subgraph, op, target);
    case OpKind::kBatchMatmul:
      return CmsisBatchMatmul(subgraph, op, target);
    case OpKind::kTransposeConv:
      return CmsisTransposeConv(subgraph, op, target);
    case OpKind::kUnidirectionalSequenceLstm:
      if (IsOf(Operand(subgraph, op.inputs, 0), ElementType::kFloat32)) return {};
      return Unknown("what CMSIS-NN's kernel of this operator requests is not modelled");
    default:
      // Its other kernels (ADD, MUL, MAX_POOL_2D, PAD, SOFTMAX, SVDF, TRANSPOSE and others) request
      // what the reference kernels request.
      return {};
  }
}

// ESP-NN. Its kernels unpack 4-bit weights as the reference kernels do, and request scratch of the
// library behind that.

Sizes WithUnpacked(const Subgraph& subgraph, const Op& op, std::int64_t bytes) {
  const Tensor* weights = Operand(subgraph, op.inputs, 1);
  auto requests = Request(bytes);
  if (!IsOf(weights, ElementType::kInt4) || !requests) return requests;
  std::int64_t elements = 1;
  if (!weights->shape) return std::nullopt;
  for (const std::int64_t size : *weights->shape) {
    const auto product = CheckedMultiply(elements, size);
    if (size < 0 || !product || *product > kMaxBytes / 16) return std::nullopt;
    elements = *product;
  }
  std::vector<std::int64_t> all = {elements};
  all.insert(all.end(), requests->begin(), requests->end());
  return all;
}

LibraryScratch EspNn(const Subgraph& subgraph, const Op& op, const Target& target) {
  const OpKind kind = KindOf(op);
  const Tensor* input = Operand(subgraph, op.inputs, 0);
  if (!IsOf(input, ElementType::kInt8)) return {};
  if (kind == OpKind::kSoftmax) {
    // The library reads the second dimension for every rank.
    if (!IsOf(Operand(subgraph, op.outputs, 0), ElementType::kInt8)) return {};
    if (!input->shape || input->shape->size() < 2 || (*input->shape)[1] < 0 ||
        (*input->shape)[1] > kMaxBytes / 64) {
      return Known(std::nullopt);
    }
    return Known(Request(target::esp_nn::SoftmaxS8((*input->shape)[1])));
  }
  if (kind != OpKind::kConv2d && kind != OpKind::kDepthwiseConv2d) return {};
  // In C they need none.
  if (target.simd != target::Simd::kEsp32S3) return Known(WithUnpacked(subgraph, op, 0));
  const auto conv = ConvolutionOf(subgraph, op);
  if (!conv) return Known(std::nullopt);
  const std::int64_t bytes = kind == OpKind::kConv2d ? target::esp_nn::ConvolveS8(*conv)
                                                     : target::esp_nn::DepthwiseS8(*conv);
  return Known(WithUnpacked(subgraph, op, bytes));
}

}  // namespace

std::optional<FullyConnectedShape> FullyConnectedOf(const Subgraph& subgraph, const Op& op) {
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  const Tensor* weights = Operand(subgraph, op.inputs, 1);
  const Tensor* bias = Operand(subgraph, op.inputs, 2);
  const Tensor* output = Operand(subgraph, op.outputs, 0);
  if (weights == nullptr || output == nullptr || !weights->shape || !output->shape ||
      weights->shape->empty() || output->shape->empty()) {
    return std::nullopt;
  }
  FullyConnectedShape shape;
  shape.outputs = output->shape->back();
  if (shape.outputs < 0 || shape.outputs > kMost || weights->shape->back() < 0) return std::nullopt;
  shape.is_pointwise = output->shape->size() > 2 && weights->shape->back() % 4 == 0;
  shape.is_constant = weights->constant && (bias == nullptr || bias->constant);
  return shape;
}

LibraryScratch LibraryScratchOf(const Subgraph& subgraph, const Op& op, const Target& target) {
  if (op.domain != "tflite") return {};
  switch (target.kernels) {
    case target::Kernels::kReference:
      return {};
    case target::Kernels::kCmsisNn:
      return CmsisNn(subgraph, op, target);
    case target::Kernels::kEspNn:
      return EspNn(subgraph, op, target);
  }
  return {};
}

}  // namespace neap::ops
