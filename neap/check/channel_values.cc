// SPDX-License-Identifier: Apache-2.0
#include "neap/check/channel_values.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>

#include "neap/ops/op_table.h"
#include "neap/ops/window.h"

namespace neap::check {

using graph::ElementType;
using graph::Op;
using graph::Subgraph;
using graph::Tensor;
using ops::OpKind;

namespace {

constexpr std::int64_t kLowest = -128;
constexpr std::int64_t kHighest = 127;
constexpr std::int64_t kLargest = std::numeric_limits<std::int32_t>::max();

std::int64_t LastOf(const Tensor& tensor) {
  return tensor.shape && !tensor.shape->empty() ? tensor.shape->back() : -1;
}

bool HasBytes(const Tensor& tensor, ElementType type) {
  const auto bytes = graph::TensorBytes(tensor);
  return tensor.constant && tensor.type == type && !tensor.compressed && tensor.data && bytes &&
         static_cast<std::int64_t>(tensor.data->bytes.size()) == *bytes;
}

std::optional<Interval> ActivationOf(const Op& op, const Tensor& output) {
  const std::int64_t zero = output.quantization->zero_points.front();
  switch (ops::IntegerAttribute(op, "fused_activation_function", 0)) {
    case 0:
      return Interval{kLowest, kHighest};
    case 1:
      return Interval{zero, kHighest};
    case 3: {
      const double steps = 6.0 / static_cast<double>(output.quantization->scales.front());
      return Interval{zero,
                      zero + static_cast<std::int64_t>(std::floor(std::min(steps, 1000.0) + 0.5))};
    }
    default:
      return std::nullopt;
  }
}

Interval Clamped(Interval values, const Interval& limits) {
  const std::int64_t top = std::min(limits.high, kHighest);
  return {std::max(limits.low, std::min(top, values.low)),
          std::max(limits.low, std::min(top, values.high))};
}

// Rows (columns) of the kernel inside the input, at every row (column) of the output, each set
// once.
std::set<Mask> MasksOf(std::int64_t kernel, std::int64_t in, std::int64_t out, std::int64_t stride,
                       std::int64_t dilation, std::int64_t pad) {
  std::set<Mask> masks;
  for (std::int64_t o = 0; o < out; ++o) {
    Mask mask;
    for (std::int64_t k = 0; k < kernel; ++k) {
      const std::int64_t at = o * stride + k * dilation - pad;
      mask.push_back(at >= 0 && at < in ? 1 : 0);
    }
    masks.insert(mask);
  }
  return masks;
}

bool SetWindow(const Subgraph& subgraph, const Op& op, Product* product) {
  const auto w = ops::WindowOf(subgraph, op);
  if (!w) return false;
  const graph::Shape& filter = *product->Operand(1).shape;
  product->depthwise = w->per_channel;
  if (w->per_channel ? filter[0] != 1 : filter[3] != w->in_channels) return false;
  if (w->per_channel) product->multiplier = w->out_channels / w->in_channels;
  product->inputs = w->in_channels;
  product->outputs = w->out_channels;
  product->positions = w->kernel_height * w->kernel_width;
  const auto rows = MasksOf(w->kernel_height, w->in_height, w->out_height, w->stride_height,
                            w->dilation_height, w->pad_top);
  const auto columns = MasksOf(w->kernel_width, w->in_width, w->out_width, w->stride_width,
                               w->dilation_width, w->pad_left);
  for (const Mask& row : rows) {
    for (const Mask& column : columns) {
      Mask both;
      for (const char r : row) {
        for (const char c : column) both.push_back(static_cast<char>(r & c));
      }
      product->masks.push_back(std::move(both));
    }
  }
  return true;
}

bool SetMatrix(const Subgraph& subgraph, const Op& op, Product* product) {
  const Tensor& filter = product->Operand(1);
  if (filter.shape->size() != 2 || ops::IntegerAttribute(op, "weights_format", 0) != 0)
    return false;
  product->outputs = filter.shape->front();
  product->inputs = filter.shape->back();
  product->positions = 1;
  product->masks = {{1}};
  return LastOf(product->Operand(0)) == product->inputs &&
         LastOf(subgraph.tensors[op.outputs[0]]) == product->outputs;
}

bool AreWeightsKnown(const Product& product, std::int32_t axis) {
  const Tensor& filter = product.Operand(1);
  if (!HasBytes(filter, ElementType::kInt8) || !filter.quantization) return false;
  const graph::Quantization& q = *filter.quantization;
  const bool one = q.scales.size() == 1;
  const bool each = q.axis == axis && static_cast<std::int64_t>(q.scales.size()) == product.outputs;
  if (!one && !each) return false;
  if (std::count(q.zero_points.begin(), q.zero_points.end(), 0) !=
      static_cast<std::ptrdiff_t>(q.zero_points.size())) {
    return false;
  }
  if (!product.HasBias()) return true;
  return HasBytes(product.Operand(2), ElementType::kInt32) &&
         static_cast<std::int64_t>(product.Operand(2).data->bytes.size()) == 4 * product.outputs;
}

bool FitsIntoWord(const Product& product) {
  const std::int64_t zero = product.InputZero();
  const std::int64_t each = std::max(kHighest - zero, zero - kLowest);
  const std::int64_t inputs = product.depthwise ? 1 : product.inputs;
  for (std::int64_t output = 0; output < product.outputs; ++output) {
    std::int64_t weights = 0;
    for (std::int64_t p = 0; p < product.positions; ++p) {
      for (std::int64_t i = 0; i < inputs; ++i) weights += std::abs(product.Weight(output, p, i));
    }
    if (weights > kLargest / each || weights * each + std::abs(product.Bias(output)) > kLargest) {
      return false;
    }
  }
  return true;
}

// A factor as a fraction of 31 bits and a power of two, as TensorFlow Lite stores it.
struct Factor {
  std::int64_t fraction = 0;
  int exponent = 0;
  float real = 0;
};

Factor FactorOf(double real) {
  Factor factor;
  factor.real = static_cast<float>(real);
  factor.fraction = std::llround(std::ldexp(std::frexp(real, &factor.exponent), 31));
  if (factor.fraction == std::int64_t{1} << 31) {
    factor.fraction >>= 1;
    ++factor.exponent;
  }
  if (factor.exponent < -31) factor = {0, 0, factor.real};
  return factor;
}

// TensorFlow Lite's reference kernels and their optimised ones.
std::int64_t RoundedTwice(std::int64_t sum, const Factor& factor) {
  const std::int64_t product = (sum << std::max(factor.exponent, 0)) * factor.fraction;
  const std::int64_t half = std::int64_t{1} << 30;
  const std::int64_t high = (product + (product >= 0 ? half : 1 - half)) / (std::int64_t{1} << 31);
  const int right = std::max(-factor.exponent, 0);
  if (right == 0) return high;
  const std::int64_t nudge = std::int64_t{1} << (right - 1);
  return high >= 0 ? (high + nudge) >> right : -((-high + nudge) >> right);
}

// The same built with a single rounding, and CMSIS-NN in that form.
std::int64_t RoundedOnce(std::int64_t sum, const Factor& factor) {
  const int shift = 31 - factor.exponent;
  return (sum * factor.fraction + (std::int64_t{1} << (shift - 1))) >> shift;
}

// XNNPACK.
std::int64_t RoundedFloat(std::int64_t sum, const Factor& factor) {
  constexpr float kFar = 1 << 20;
  const float product = static_cast<float>(sum) * factor.real;
  return std::lrint(std::clamp(product, -kFar, kFar));
}

// nullopt: the sums would overflow while they are scaled.
std::optional<Interval> Scaled(const Interval& sums, double real) {
  const Factor factor = FactorOf(real);
  const std::int64_t most = std::max(std::abs(sums.low), std::abs(sums.high));
  if (factor.exponent > 15 || most > kLargest >> std::max(factor.exponent, 0)) return std::nullopt;
  const auto [low, least] =
      std::minmax({RoundedTwice(sums.low, factor), RoundedOnce(sums.low, factor),
                   RoundedFloat(sums.low, factor)});
  const auto [greatest, high] =
      std::minmax({RoundedTwice(sums.high, factor), RoundedOnce(sums.high, factor),
                   RoundedFloat(sums.high, factor)});
  return Interval{std::min(low, greatest), std::max(high, least)};
}

Interval SumsOf(const Product& product, std::int64_t output, const Mask& mask,
                const Intervals& input) {
  Interval sums{product.Bias(output), product.Bias(output)};
  const std::int64_t zero = product.InputZero();
  const std::int64_t first = product.depthwise ? output / product.multiplier : 0;
  const std::int64_t last = product.depthwise ? first + 1 : product.inputs;
  for (std::int64_t p = 0; p < product.positions; ++p) {
    if (mask[static_cast<std::size_t>(p)] == 0) continue;
    for (std::int64_t i = first; i < last; ++i) {
      const Interval& values = input[static_cast<std::size_t>(i)];
      const std::int64_t weight = product.Weight(output, p, i);
      sums.low += weight * ((weight > 0 ? values.low : values.high) - zero);
      sums.high += weight * ((weight > 0 ? values.high : values.low) - zero);
    }
  }
  return sums;
}

}  // namespace

bool IsInt8(const Tensor& tensor) {
  if (tensor.type != ElementType::kInt8 || !tensor.shape || tensor.shape->empty()) return false;
  for (const std::int64_t size : *tensor.shape) {
    if (size < 1) return false;
  }
  return tensor.quantization && tensor.quantization->scales.size() == 1 &&
         tensor.quantization->zero_points.size() == 1 && tensor.quantization->scales[0] > 0 &&
         std::abs(tensor.quantization->zero_points[0]) <= -kLowest;
}

std::vector<std::int64_t> IntegersOf(const Tensor& tensor) {
  if (!HasBytes(tensor, ElementType::kInt32)) return {};
  std::vector<std::int32_t> values(tensor.data->bytes.size() / sizeof(std::int32_t));
  if (!values.empty()) {
    std::memcpy(values.data(), tensor.data->bytes.data(), values.size() * sizeof(std::int32_t));
  }
  return {values.begin(), values.end()};
}

std::int64_t Product::Bias(std::int64_t output) const {
  if (!HasBias()) return 0;
  std::int32_t value = 0;
  std::memcpy(&value, Operand(2).data->bytes.data() + 4 * output, sizeof(value));
  return value;
}

std::int64_t Product::Weight(std::int64_t output, std::int64_t position, std::int64_t input) const {
  const std::int64_t at =
      depthwise ? position * outputs + output : (output * positions + position) * inputs + input;
  return static_cast<std::int8_t>(Operand(1).data->bytes[static_cast<std::size_t>(at)]);
}

std::optional<Product> ProductOf(const Subgraph& subgraph, const Op& op) {
  const OpKind kind = ops::KindOf(op);
  const bool matrix = kind == OpKind::kFullyConnected;
  if (op.domain != "tflite" || op.inputs.size() < 2 || op.outputs.size() != 1 ||
      !(matrix || kind == OpKind::kConv2d || kind == OpKind::kDepthwiseConv2d)) {
    return std::nullopt;
  }
  if (!op.inputs[0].valid() || !op.inputs[1].valid() || !op.outputs[0].valid()) return std::nullopt;
  Product product;
  product.subgraph = &subgraph;
  product.op = &op;
  const Tensor& output = subgraph.tensors[op.outputs[0]];
  if (!IsInt8(product.Operand(0)) || product.Operand(0).constant || !IsInt8(output) ||
      !product.Operand(1).shape || !ActivationOf(op, output)) {
    return std::nullopt;
  }
  constexpr std::int32_t kLastAxis = 3;
  const bool known =
      (matrix ? SetMatrix(subgraph, op, &product) : SetWindow(subgraph, op, &product)) &&
      AreWeightsKnown(product, product.depthwise ? kLastAxis : 0);
  if (!known || !FitsIntoWord(product)) return std::nullopt;
  return product;
}

Intervals ValuesOf(const Product& product, const Intervals& input) {
  const Tensor& output = product.subgraph->tensors[product.op->outputs[0]];
  const Interval limits = *ActivationOf(*product.op, output);
  const std::vector<float>& scales = product.Operand(1).quantization->scales;
  Intervals values;
  for (std::int64_t o = 0; o < product.outputs; ++o) {
    const double scale = scales.size() == 1 ? scales[0] : scales[static_cast<std::size_t>(o)];
    const double real = static_cast<double>(product.Operand(0).quantization->scales[0]) * scale /
                        static_cast<double>(output.quantization->scales[0]);
    std::optional<Interval> all;
    for (const Mask& mask : product.masks) {
      const auto scaled = Scaled(SumsOf(product, o, mask, input), real);
      const std::int64_t zero = output.quantization->zero_points[0];
      const Interval own =
          scaled ? Clamped({scaled->low + zero, scaled->high + zero}, limits) : limits;
      if (!all) all = own;
      all = Interval{std::min(all->low, own.low), std::max(all->high, own.high)};
    }
    values.push_back(all.value_or(limits));
  }
  return values;
}

bool KeepsChannels(const Subgraph& subgraph, const Op& op) {
  const Tensor* const in = graph::Operand(subgraph, op.inputs, 0);
  const Tensor* const out = graph::Operand(subgraph, op.outputs, 0);
  if (op.domain != "tflite" || in == nullptr || out == nullptr || op.outputs.size() != 1 ||
      !IsInt8(*in) || !IsInt8(*out) || LastOf(*in) != LastOf(*out)) {
    return false;
  }
  const Tensor* const second = graph::Operand(subgraph, op.inputs, 1);
  const auto rank = static_cast<std::int64_t>(in->shape->size());
  const bool same_numbers = in->quantization->scales == out->quantization->scales &&
                            in->quantization->zero_points == out->quantization->zero_points;
  switch (ops::KindOf(op)) {
    case OpKind::kAveragePool2d:
    case OpKind::kMaxPool2d:
      return same_numbers && rank == 4 && ActivationOf(op, *out).has_value();
    case OpKind::kAdd:
      return second != nullptr && !second->constant && !in->constant && IsInt8(*second) &&
             *second->shape == *out->shape && *in->shape == *out->shape &&
             ActivationOf(op, *out).has_value();
    case OpKind::kMean: {
      if (second == nullptr) return false;
      const auto axes = IntegersOf(*second);
      return std::none_of(axes.begin(), axes.end(),
                          [&](auto axis) { return (axis + rank) % rank == rank - 1; }) &&
             !axes.empty();
    }
    case OpKind::kPad: {
      if (second == nullptr) return false;
      const auto sizes = IntegersOf(*second);
      return same_numbers && static_cast<std::int64_t>(sizes.size()) == 2 * rank &&
             sizes[sizes.size() - 1] == 0 && sizes[sizes.size() - 2] == 0;
    }
    case OpKind::kReshape:
      return same_numbers;
    default:
      return false;
  }
}

Intervals ValuesOf(const Subgraph& subgraph, const Op& op,
                   const std::vector<const Intervals*>& inputs) {
  const Tensor& out = subgraph.tensors[op.outputs[0]];
  const std::int64_t zero = out.quantization->zero_points[0];
  Intervals values = *inputs[0];
  for (std::size_t c = 0; c < values.size(); ++c) {
    // Real zeros everywhere: sums and means are 0, without rounding.
    bool zeros = true;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const std::int64_t own = subgraph.tensors[op.inputs[i]].quantization->zero_points[0];
      zeros = zeros && (*inputs[i])[c] == Interval{own, own};
    }
    switch (ops::KindOf(op)) {
      case OpKind::kAdd:
        values[c] = zeros ? Interval{zero, zero} : Clamped({}, *ActivationOf(op, out));
        break;
      case OpKind::kMean:
        values[c] = zeros ? Interval{zero, zero} : Interval();
        break;
      case OpKind::kPad:
        values[c] = {std::min(values[c].low, zero), std::max(values[c].high, zero)};
        break;
      case OpKind::kReshape:
        break;
      default:
        values[c] = Clamped(values[c], *ActivationOf(op, out));
    }
  }
  return values;
}

}  // namespace neap::check
