// SPDX-License-Identifier: Apache-2.0
#include "neap/transform/rewrite/channels/weighted.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "neap/ops/op_table.h"
#include "neap/ops/window.h"

namespace neap::rewrite {

using graph::ElementType;
using graph::Op;
using graph::Subgraph;
using graph::Tensor;
using ops::OpKind;

namespace {

constexpr std::int64_t kMaxSum = std::numeric_limits<std::int32_t>::max();
constexpr std::int32_t kLow = -128;
constexpr std::int32_t kHigh = 127;

// Values of the attribute `fused_activation_function`.
constexpr std::int64_t kNoActivation = 0;
constexpr std::int64_t kRelu = 1;
constexpr std::int64_t kRelu6 = 3;

std::int32_t ZeroOf(const Tensor& tensor) {
  return static_cast<std::int32_t>(tensor.quantization->zero_points.front());
}

double ScaleOf(const Tensor& tensor) { return tensor.quantization->scales.front(); }

bool HasData(const Tensor& tensor, std::int64_t bytes) {
  return tensor.constant && !tensor.compressed && tensor.data &&
         static_cast<std::int64_t>(tensor.data->bytes.size()) == bytes;
}

// Of one row or column of the kernel: whether some and whether all positions of the output read the
// input there.
struct Reach {
  bool some = false;
  bool all = true;
};

std::vector<Reach> ReachesOf(std::int64_t kernel, std::int64_t in, std::int64_t out,
                             std::int64_t stride, std::int64_t dilation, std::int64_t pad) {
  std::vector<Reach> reaches(static_cast<std::size_t>(kernel));
  for (std::int64_t k = 0; k < kernel; ++k) {
    Reach& reach = reaches[static_cast<std::size_t>(k)];
    for (std::int64_t o = 0; o < out; ++o) {
      const std::int64_t at = o * stride - pad + k * dilation;
      const bool inside = at >= 0 && at < in;
      reach.some = reach.some || inside;
      reach.all = reach.all && inside;
    }
  }
  return reaches;
}

std::vector<Tap> TapsOf(const ops::Window& w) {
  const auto rows = ReachesOf(w.kernel_height, w.in_height, w.out_height, w.stride_height,
                              w.dilation_height, w.pad_top);
  const auto columns = ReachesOf(w.kernel_width, w.in_width, w.out_width, w.stride_width,
                                 w.dilation_width, w.pad_left);
  std::vector<Tap> taps;
  for (const Reach& row : rows) {
    for (const Reach& column : columns) {
      const bool some = row.some && column.some;
      const bool all = row.all && column.all;
      taps.push_back(all ? Tap::kInput : some ? Tap::kBoth : Tap::kPadding);
    }
  }
  return taps;
}

bool ReadWindow(const Subgraph& subgraph, const Op& op, WeightedOp* out) {
  const auto window = ops::WindowOf(subgraph, op);
  if (!window) return false;
  const graph::Shape& filter = *subgraph.tensors[op.inputs[1]].shape;
  out->per_channel = window->per_channel;
  if (!window->per_channel && filter[3] != window->in_channels) return false;  // groups
  if (window->per_channel && filter[0] != 1) return false;
  out->multiplier = window->per_channel ? window->out_channels / window->in_channels : 1;
  out->in_channels = window->in_channels;
  out->out_channels = window->out_channels;
  out->taps = TapsOf(*window);
  return true;
}

bool ReadMatrix(const Subgraph& subgraph, const Op& op, WeightedOp* out) {
  const Tensor& filter = subgraph.tensors[op.inputs[1]];
  const Tensor& input = subgraph.tensors[op.inputs[0]];
  const Tensor& output = subgraph.tensors[op.outputs[0]];
  if (ops::IntegerAttribute(op, "weights_format", 0) != 0) return false;
  if (!filter.shape || filter.shape->size() != 2 || !input.shape || input.shape->empty() ||
      !output.shape || output.shape->empty()) {
    return false;
  }
  out->out_channels = (*filter.shape)[0];
  out->in_channels = (*filter.shape)[1];
  if (input.shape->back() != out->in_channels || output.shape->back() != out->out_channels) {
    return false;
  }
  out->taps = {Tap::kInput};
  return out->in_channels > 0 && out->out_channels > 0;
}

bool ReadWeights(const Tensor& filter, const Tensor& input, const Tensor& output, std::int32_t axis,
                 WeightedOp* out) {
  const auto bytes = graph::TensorBytes(filter);
  if (filter.type != ElementType::kInt8 || !bytes || !HasData(filter, *bytes)) return false;
  if (!filter.quantization || filter.quantization->scales.empty()) return false;
  const graph::Quantization& q = *filter.quantization;
  const auto channels = static_cast<std::size_t>(out->out_channels);
  if (q.scales.size() != 1 && (q.scales.size() != channels || q.axis != axis)) return false;
  if (std::any_of(q.zero_points.begin(), q.zero_points.end(), [](auto z) { return z != 0; })) {
    return false;
  }
  for (std::size_t c = 0; c < channels; ++c) {
    const double scale = q.scales.size() == 1 ? q.scales.front() : q.scales[c];
    out->factors.push_back(ScaleOf(input) * scale / ScaleOf(output));
    if (!std::isfinite(out->factors.back()) || out->factors.back() < 0) return false;
  }
  out->weights = filter.data->bytes;
  return true;
}

bool ReadBias(const Subgraph& subgraph, const Op& op, WeightedOp* out) {
  const Tensor* const bias = graph::Operand(subgraph, op.inputs, 2);
  if (bias == nullptr) return true;
  if (bias->type != ElementType::kInt32 || !HasData(*bias, 4 * out->out_channels)) return false;
  out->bias.resize(static_cast<std::size_t>(out->out_channels));
  std::memcpy(out->bias.data(), bias->data->bytes.data(), bias->data->bytes.size());
  return true;
}

// No sum of some of the terms exceeds 32 bits, so that kernels may add them in any order.
bool SumsFit(const WeightedOp& op) {
  const std::int64_t most = std::max(kHigh - op.in_zero, op.in_zero - kLow);
  const std::int64_t inputs = op.per_channel ? 1 : op.in_channels;
  for (std::int64_t out = 0; out < op.out_channels; ++out) {
    std::int64_t sum = std::abs(op.BiasOf(out));
    for (std::size_t tap = 0; tap < op.taps.size(); ++tap) {
      for (std::int64_t in = 0; in < inputs; ++in) sum += most * std::abs(op.Weight(out, tap, in));
      if (sum > kMaxSum) return false;
    }
  }
  return true;
}

// A sum times a factor, in units of 2^-16, rounded down; and how far, in the same units, kernels
// may round away from the nearest integer's half.
struct Product {
  std::int64_t units = 0;
  std::int64_t slack = 0;
  bool may_vanish = false;  // TensorFlow Lite takes so small a factor for 0
};
constexpr int kUnitBits = 16;
constexpr std::int64_t kUnit = std::int64_t{1} << kUnitBits;

// nullopt: a factor so large that the sum overflows before it is rounded.
std::optional<Product> ProductOf(std::int64_t sum, double factor) {
  if (factor == 0 || sum == 0) return Product();
  int exponent = 0;
  const auto fraction =
      static_cast<std::int64_t>(std::round(std::frexp(factor, &exponent) * 0x1p31));
  if (exponent > 0 && std::abs(sum) > (kMaxSum >> std::min(exponent, 31))) return std::nullopt;
  const std::int64_t product = sum * fraction;  // below 2^62; sum * factor * 2^(31 - exponent)
  const int shift = 31 - exponent - kUnitBits;
  if (shift < 0) return std::nullopt;
  Product out;
  out.units = product >> std::min(shift, 62);
  // Kernels that round twice: first to a multiple of 2^exponent. Kernels that multiply floats: one
  // part in 2^22 of a result that is not clamped, which is below 2^16.
  out.slack = (exponent < 0 ? kUnit >> std::min(1 - exponent, kUnitBits) : 0) + (kUnit >> 6) + 1;
  out.may_vanish = exponent < -31;
  return out;
}

// Results of a kernel for a sum, without zero point and clamp.
std::optional<Range> Rounded(std::int64_t sum, double factor) {
  const auto product = ProductOf(sum, factor);
  if (!product) return std::nullopt;
  const std::int64_t around = kUnit / 2 + product->slack;
  constexpr std::int64_t kFar = 1 << 20;  // clamped, with any zero point
  // Up: the least integer not below the product less `around`; down: the greatest not above it.
  const std::int64_t low = -((around - product->units) >> kUnitBits);
  const std::int64_t high = (product->units + 1 + around) >> kUnitBits;
  Range range{static_cast<std::int32_t>(std::clamp(low, -kFar, kFar)),
              static_cast<std::int32_t>(std::clamp(high, -kFar, kFar))};
  if (product->units == 0 && product->slack == 0) range = {0, 0};
  if (product->may_vanish) range = {std::min(range.low, 0), std::max(range.high, 0)};
  return range;
}

// Of an output channel, without its factor.
struct SumRange {
  std::int64_t low = 0;
  std::int64_t high = 0;
};

SumRange SumsOf(const WeightedOp& op, std::int64_t out, const Ranges& input) {
  SumRange sums{op.BiasOf(out), op.BiasOf(out)};
  const std::int64_t first = op.per_channel ? out / op.multiplier : 0;
  const std::int64_t count = op.per_channel ? 1 : op.in_channels;
  for (std::size_t tap = 0; tap < op.taps.size(); ++tap) {
    if (op.taps[tap] == Tap::kPadding) continue;
    SumRange own;
    for (std::int64_t i = 0; i < count; ++i) {
      const Range& range = input[static_cast<std::size_t>(first + i)];
      const std::int64_t weight = op.Weight(out, tap, i);
      const std::int64_t a = weight * (range.low - op.in_zero);
      const std::int64_t b = weight * (range.high - op.in_zero);
      own.low += std::min(a, b);
      own.high += std::max(a, b);
    }
    // Padding contributes nothing.
    if (op.taps[tap] == Tap::kBoth) {
      own = {std::min<std::int64_t>(own.low, 0), std::max<std::int64_t>(own.high, 0)};
    }
    sums.low += own.low;
    sums.high += own.high;
  }
  return sums;
}

}  // namespace

Range Clamp::Of(Range range) const {
  const std::int32_t least = std::max(low, std::min(least_high, range.low));
  return {least, std::max(low, std::min(high, range.high))};
}

std::optional<Clamp> ClampOf(const Op& op, const Tensor& output) {
  Clamp clamp;
  const std::int64_t activation = ops::IntegerAttribute(op, "fused_activation_function", 0);
  if (activation == kNoActivation) return clamp;
  if (activation != kRelu && activation != kRelu6) return std::nullopt;
  clamp.low = ZeroOf(output);
  if (activation == kRelu) return clamp;
  constexpr double kMost = 6;
  constexpr double kClose = 1e-3;
  const double steps = kMost / ScaleOf(output);
  const double above = std::min(std::floor(steps + 0.5 + kClose), 255.0);
  const double below = std::min(std::floor(steps + 0.5 - kClose), 255.0);
  clamp.high = std::min(kHigh, clamp.low + static_cast<std::int32_t>(above));
  clamp.least_high = std::min(kHigh, clamp.low + static_cast<std::int32_t>(below));
  return clamp;
}

bool IsPlainInt8(const Tensor& tensor) {
  if (tensor.type != ElementType::kInt8 || !tensor.quantization || !tensor.shape) return false;
  if (std::any_of(tensor.shape->begin(), tensor.shape->end(), [](auto d) { return d <= 0; })) {
    return false;
  }
  const graph::Quantization& q = *tensor.quantization;
  return q.scales.size() == 1 && q.zero_points.size() == 1 && std::isfinite(q.scales.front()) &&
         q.scales.front() > 0 && q.zero_points.front() >= kLow && q.zero_points.front() <= kHigh;
}

std::int32_t WeightedOp::Weight(std::int64_t out, std::size_t tap, std::int64_t in) const {
  const auto at =
      per_channel
          ? static_cast<std::int64_t>(tap) * out_channels + out
          : (out * static_cast<std::int64_t>(taps.size()) + static_cast<std::int64_t>(tap)) *
                    in_channels +
                in;
  return static_cast<std::int8_t>(weights[static_cast<std::size_t>(at)]);
}

std::optional<WeightedOp> ReadWeighted(const Subgraph& subgraph, const Op& op) {
  const OpKind kind = ops::KindOf(op);
  const bool matrix = kind == OpKind::kFullyConnected;
  const bool depthwise = kind == OpKind::kDepthwiseConv2d;
  if (op.domain != "tflite" || (!matrix && !depthwise && kind != OpKind::kConv2d)) {
    return std::nullopt;
  }
  const Tensor* const input = graph::Operand(subgraph, op.inputs, 0);
  const Tensor* const filter = graph::Operand(subgraph, op.inputs, 1);
  const Tensor* const output = graph::Operand(subgraph, op.outputs, 0);
  if (input == nullptr || filter == nullptr || output == nullptr || op.outputs.size() != 1 ||
      input->constant || !IsPlainInt8(*input) || !IsPlainInt8(*output) || !filter->shape) {
    return std::nullopt;
  }
  WeightedOp out;
  if (!(matrix ? ReadMatrix(subgraph, op, &out) : ReadWindow(subgraph, op, &out))) {
    return std::nullopt;
  }
  out.in_zero = ZeroOf(*input);
  out.out_zero = ZeroOf(*output);
  const auto clamp = ClampOf(op, *output);
  constexpr std::int32_t kLastAxis = 3;
  if (!clamp || !ReadWeights(*filter, *input, *output, depthwise ? kLastAxis : 0, &out) ||
      !ReadBias(subgraph, op, &out) || !SumsFit(out)) {
    return std::nullopt;
  }
  out.clamp = *clamp;
  return out;
}

Ranges OutputRanges(const WeightedOp& op, const Ranges& input) {
  Ranges ranges(static_cast<std::size_t>(op.out_channels));
  for (std::int64_t out = 0; out < op.out_channels; ++out) {
    const SumRange sums = SumsOf(op, out, input);
    const double factor = op.factors[static_cast<std::size_t>(out)];
    const auto low = Rounded(sums.low, factor);
    const auto high = Rounded(sums.high, factor);
    Range range{op.clamp.low, op.clamp.high};
    if (low && high) range = op.clamp.Of({low->low + op.out_zero, high->high + op.out_zero});
    ranges[static_cast<std::size_t>(out)] = range;
  }
  return ranges;
}

}  // namespace neap::rewrite
