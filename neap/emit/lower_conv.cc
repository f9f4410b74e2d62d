// SPDX-License-Identifier: Apache-2.0
//
// CONV_2D, DEPTHWISE_CONV_2D, FULLY_CONNECTED.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "neap/emit/floats.h"
#include "neap/emit/lowering.h"
#include "neap/emit/pack.h"
#include "neap/emit/pack_mve.h"
#include "neap/emit/quantization.h"
#include "neap/emit/slow_weights.h"
#include "neap/emit/small.h"
#include "neap/emit/taps.h"
#include "neap/emit/weights.h"
#include "neap/execute/fixed_point.h"
#include "neap/ops/window.h"

namespace neap::emit {
namespace {

using graph::Op;
using graph::Tensor;

// With packed weights.
void SetPacked(Lowering& lowering, const Subject& subject, const Product& product,
               const Packed& packed, const Range& range, Call* call) {
  const std::string name = "op" + std::to_string(subject.id.value());
  call->kernel = product.depthwise ? "neap_depthwise_packed_s8" : "neap_conv_packed_s8";
  call->params =
      Params{"neap_packed",
             InitialiserOf({lowering.Add(name + "_weights", "uint32_t", packed.weights, true),
                            lowering.Add(name + "_channels", "uint32_t", packed.channels),
                            Number(product.taps), Number(product.inputs), Number(packed.rounding),
                            Number(range.low), Number(range.high), packed.scaled ? "1" : "0"})};
  // Words of two inputs of a pixel, of two pixels at a time.
  if (!product.depthwise) call->pixel_scratch = (product.length() + 1) / 2 * 4;
}

// What the kernels for vectors know of a window.
struct MveGeometry {
  std::int64_t row_taps = 1;  // taps in a row of it
  std::int64_t step = 0;      // bytes from a tap to that of the next pixel
};

// With weights for vectors. The caller sets the driver.
void SetMve(Lowering& lowering, const Subject& subject, const Int8Product& given,
            const PackedMve& packed, const MveGeometry& geometry, Call* call) {
  const std::string name = "op" + std::to_string(subject.id.value());
  const Product& product = given.product;
  call->kernel = product.depthwise ? "neap_depthwise_mve_s8" : "neap_conv_mve_s8";
  call->params =
      Params{"neap_mve",
             InitialiserOf({lowering.Add(name + "_weights", "int8_t", packed.weights, true),
                            lowering.Add(name + "_channels", "uint32_t", packed.channels),
                            Number(product.taps), Number(product.inputs), Number(geometry.row_taps),
                            Number(geometry.step), Number(given.out_zero), Number(given.range.low),
                            Number(given.range.high), packed.positive ? "1" : "0"})};
  if (!product.depthwise) call->pixel_scratch = MveInputBytes(product);
}

// Weights of a depthwise product of one input channel, which is a convolution.
std::vector<std::int64_t> Transposed(const std::vector<std::int64_t>& values,
                                     const Product& product) {
  std::vector<std::int64_t> transposed;
  for (std::int64_t output = 0; output < product.outputs; ++output) {
    for (std::int64_t k = 0; k < product.length(); ++k) {
      transposed.push_back(values[product.At(output, k)]);
    }
  }
  return transposed;
}

// With a portable kernel and channels in few bits; false: it would compute other bytes.
bool SetSmall(Lowering& lowering, const Subject& subject, const Int8Product& given, Call* call) {
  const Product& product = given.product;
  const bool fits = product.taps <= UINT16_MAX && product.inputs <= UINT16_MAX &&
                    product.group_outputs <= UINT16_MAX;
  if (!fits) return false;
  // The first layers of an image compute most outputs and have few channels.
  constexpr std::int64_t kManyPixels = 512;
  const std::int64_t bytes = *graph::TensorBytes(OutputOf(lowering, subject.op));
  std::optional<SmallChannels> small;
  if (bytes / product.outputs >= kManyPixels) small = FastSmall(given);
  if (!small) small = FindSmall(given);
  if (!small) return false;
  const std::string name = "op" + std::to_string(subject.id.value());
  call->kernel = product.depthwise ? "neap_depthwise_small_s8" : "neap_conv_small_s8";
  call->params =
      Params{"neap_small",
             InitialiserOf(
                 {lowering.Add(
                      name + "_weights", "int8_t",
                      product.depthwise ? small->weights : InFours(small->weights, product), true),
                  lowering.Add(name + "_channels", "uint8_t", small->channels), Number(small->bias),
                  Number(product.taps), Number(product.inputs), Number(product.group_outputs),
                  Number(small->bias_bits), Number(small->fraction_bits),
                  Number(std::int64_t{32} * small->exponent_bits + small->exponent),
                  Number(given.out_zero), Number(given.range.low), Number(given.range.high)})};
  return true;
}

// With a portable kernel. The values of `given` are uint8 where the output is. Weights in slow
// memory have stock outputs.
Status SetPortable(Lowering& lowering, const Subject& subject, Int8Product given,
                   std::int64_t weight_zero, Call* call) {
  const Product& product = given.product;
  const Tensor& out = OutputOf(lowering, subject.op);
  const std::string name = "op" + std::to_string(subject.id.value());
  std::vector<std::int64_t> fractions;
  std::vector<std::int64_t> shifts;
  std::optional<ScaledProduct> scaled;
  if (!IsUint8(out) && lowering.slow_weights() == nullptr) scaled = ScaleProduct(given);
  if (scaled) {
    given.weights = std::move(scaled->weights);
    given.bias = std::move(scaled->offsets);
    fractions = std::move(scaled->factors);
  } else {
    for (const execute::FixedFactor& factor : given.factors) {
      fractions.push_back(factor.fraction);
      shifts.push_back(factor.shift);
    }
  }
  NEAP_TRY(const ConvTables tables,
           TablesOf(lowering, subject, product,
                    {given.weights, given.bias, 1, 2, !product.depthwise}, call));
  call->kernel = KernelFor(product.depthwise ? "neap_depthwise" : "neap_conv", out);
  call->params = Params{
      "neap_conv",
      InitialiserOf({tables.weights, tables.bias,
                     lowering.Add(name + "_fractions", "int32_t", std::move(fractions)),
                     scaled ? "NULL" : lowering.Add(name + "_shifts", "int8_t", std::move(shifts)),
                     Number(product.taps), Number(product.inputs), Number(product.group_outputs),
                     Number(weight_zero), Number(given.out_zero), Number(given.range.low),
                     Number(given.range.high)})};
  return {};
}

// Kernel, parameters and taps of a call.
Status SetKernel(Lowering& lowering, const Subject& subject, Product product,
                 const MveGeometry& geometry, Call* call) {
  const Op& op = subject.op;
  const Tensor& in = InputOf(lowering, op, 0);
  const Tensor& out = OutputOf(lowering, op);
  NEAP_TRY(const Quant in_quant, QuantOf(in));
  NEAP_TRY(const Quant out_quant, QuantOf(out));
  NEAP_CHECK_OK(Require(in.type == out.type, "has an input and an output of different types"));
  NEAP_TRY(const auto scales, ChannelScales(InputOf(lowering, op, 1), product.outputs));
  NEAP_TRY(const Range range, OutputRange(op, out));
  NEAP_TRY(Weights weights, WeightsOf(InputOf(lowering, op, 1), IsUint8(in)));
  NEAP_CHECK_OK(Require(
      static_cast<std::int64_t>(weights.values.size()) == product.outputs * product.length(),
      "has weights of another size than its shape"));
  NEAP_TRY(const auto bias, BiasOf(lowering, op, product, weights, in_quant.zero));
  if (product.depthwise && product.group_outputs == product.outputs) {
    weights.values = Transposed(weights.values, product);
    product.depthwise = false;
  }
  const auto factors = FactorsOf(scales, in_quant, out_quant, IsUint8(in));
  call->taps = product.taps;
  call->max_pixels = lowering.MaxPixelsOf(subject.id);
  const bool packs = !IsUint8(in) && call->max_pixels > 0 && lowering.slow_weights() == nullptr;
  if (lowering.kernels() == KernelSet::kDsp && packs) {
    const auto packed = Pack({product, weights.values, bias, factors, out_quant.zero, range});
    if (packed) {
      SetPacked(lowering, subject, product, *packed, range, call);
      return {};
    }
  }
  if (lowering.kernels() == KernelSet::kMve && packs) {
    const Int8Product given = {product, weights.values, bias, factors, out_quant.zero, range};
    if (const auto packed = PackMve(given)) {
      SetMve(lowering, subject, given, *packed, geometry, call);
      return {};
    }
  }
  if (lowering.is_small() && !IsUint8(in) && lowering.slow_weights() == nullptr &&
      SetSmall(lowering, subject, {product, weights.values, bias, factors, out_quant.zero, range},
               call)) {
    return {};
  }
  return SetPortable(lowering, subject,
                     {product, weights.values, bias, factors, out_quant.zero, range}, weights.zero,
                     call);
}

bool IsMve(const Call& call) { return call.params->type == "neap_mve"; }

// Pixels of a pointwise convolution follow each other in input and output.
std::string DriverOf(const Call& call, const ops::Window& window) {
  if (call.weights) return "neap_drive_window";
  const bool pointwise = call.taps == 1 && window.stride_height == 1 && window.stride_width == 1 &&
                         window.pad_top == 0 && window.pad_left == 0 &&
                         window.in_height == window.out_height &&
                         window.in_width == window.out_width;
  if (pointwise) return "neap_drive_points";
  return IsMve(call) ? "neap_drive_strip" : "neap_drive_runs";
}

// Pixels of padding that neap_drive_strip may read in a row: all of it, if they are few bytes.
std::int64_t PaddedPixels(const ops::Window& window) {
  constexpr std::int64_t kMaxBytes = 768;
  constexpr std::int64_t kMaxPixels = 127;  // below NEAP_ROW_PAIRS
  return std::clamp<std::int64_t>(kMaxBytes / window.in_channels, 1,
                                  std::min(window.in_width, kMaxPixels));
}

Result<std::vector<Call>> LowerWindow(Lowering& lowering, const Subject& subject) {
  const Op& op = subject.op;
  NEAP_CHECK_OK(Require(HasInput(op, 1), "lacks weights"));
  const auto window = ops::WindowOf(lowering.subgraph(), op);
  NEAP_CHECK_OK(Require(window.has_value(), "has shapes or attributes that do not fit together"));
  const Tensor& filter = InputOf(lowering, op, 1);
  Product product;
  product.outputs = window->out_channels;
  product.taps = window->kernel_height * window->kernel_width;
  product.depthwise = window->per_channel;
  product.inputs = product.depthwise ? 1 : filter.shape->back();
  product.group_outputs = product.depthwise
                              ? product.outputs / window->in_channels
                              : product.outputs / (window->in_channels / product.inputs);
  NEAP_CHECK_OK(Require(product.group_outputs > 0, "has more groups than output channels"));
  Call kernel;
  NEAP_CHECK_OK(SetKernel(lowering, subject, product,
                          {window->kernel_width, window->stride_width * window->in_channels},
                          &kernel));
  NEAP_TRY(const Quant in, QuantOf(InputOf(lowering, op, 0)));
  kernel.driver = DriverOf(kernel, *window);
  const bool has_window = kernel.driver != "neap_drive_points";
  Window geometry;
  if (has_window) {
    const std::int64_t pixels = IsMve(kernel) ? PaddedPixels(*window) : 1;
    kernel.padded_pixels = 1 + (pixels - 1) / window->stride_width;
    geometry.padding =
        lowering.Filled(static_cast<std::int8_t>(in.zero), pixels * window->in_channels);
  }
  geometry.height = window->kernel_height;
  geometry.width = window->kernel_width;
  geometry.stride_y = window->stride_height;
  geometry.stride_x = window->stride_width;
  geometry.dilation_y = window->dilation_height;
  geometry.dilation_x = window->dilation_width;
  geometry.pad_y = window->pad_top;
  geometry.pad_x = window->pad_left;
  std::vector<Call> calls;
  for (std::int64_t batch = 0; batch < window->batches; ++batch) {
    Call call = kernel;
    if (has_window) call.window = geometry;
    const std::int64_t in_bytes = window->in_height * window->in_width * window->in_channels;
    const std::int64_t out_bytes = window->out_height * window->out_width * window->out_channels;
    if (window->batches == 1) {
      NEAP_TRY(const View from, lowering.ImageOf(op.inputs[0]));
      NEAP_TRY(const View to, lowering.ImageOf(op.outputs[0]));
      call.views = {to, from};
    } else {
      NEAP_TRY(const View from,
               lowering.FormOf(op.inputs[0], {window->in_height, window->in_width,
                                              window->in_channels, batch * in_bytes}));
      NEAP_TRY(const View to,
               lowering.FormOf(op.outputs[0], {window->out_height, window->out_width,
                                               window->out_channels, batch * out_bytes}));
      call.views = {to, from};
    }
    calls.push_back(std::move(call));
  }
  return calls;
}

Result<std::vector<Call>> LowerFullyConnected(Lowering& lowering, const Subject& subject) {
  const Op& op = subject.op;
  if (IsOfFloats(lowering, op)) return LowerFloatProduct(lowering, subject);
  NEAP_CHECK_OK(Require(HasInput(op, 1) && InputOf(lowering, op, 1).shape->size() == 2,
                        "expected weights of two dimensions"));
  NEAP_CHECK_OK(
      Require(ops::IntegerAttribute(op, "weights_format", 0) == 0, "has shuffled weights"));
  const graph::Shape& filter = *InputOf(lowering, op, 1).shape;
  const std::int64_t elements = *graph::TensorBytes(InputOf(lowering, op, 0));
  Product product;
  product.outputs = filter[0];
  product.inputs = filter[1];
  product.group_outputs = filter[0];
  const std::int64_t rows = product.inputs > 0 ? elements / product.inputs : 0;
  NEAP_CHECK_OK(Require(rows > 0 && rows * product.inputs == elements &&
                            *graph::TensorBytes(OutputOf(lowering, op)) == rows * product.outputs,
                        "has shapes that do not fit together"));
  Call call;
  NEAP_CHECK_OK(SetKernel(lowering, subject, product, {1, product.inputs}, &call));
  NEAP_TRY(const View from, lowering.FormOf(op.inputs[0], {rows, 1, product.inputs}));
  NEAP_TRY(const View to, lowering.FormOf(op.outputs[0], {rows, 1, product.outputs}));
  call.views = {to, from};
  call.driver = call.weights ? "neap_drive_window" : "neap_drive_points";
  if (call.weights) call.window = Window{lowering.Filled(0, 1)};
  return std::vector<Call>{call};
}

constexpr LowerRow kConvRows[] = {
    {ops::OpKind::kConv2d, LowerWindow},
    {ops::OpKind::kDepthwiseConv2d, LowerWindow},
    {ops::OpKind::kFullyConnected, LowerFullyConnected},
};

}  // namespace

std::span<const LowerRow> ConvRows() { return kConvRows; }

}  // namespace neap::emit
