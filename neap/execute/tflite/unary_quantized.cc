// SPDX-License-Identifier: Apache-2.0
//
// Activations of quantised tensors.
#include <algorithm>
#include <cmath>

#include "neap/execute/fixed_functions.h"
#include "neap/execute/fixed_point.h"
#include "neap/execute/loops/elementwise.h"
#include "neap/execute/tflite/quantized.h"

namespace neap::execute::tflite {
namespace {

using enum graph::ElementType;

// As in TensorFlow Lite Micro for int8: the argument with four integer bits, then fixed-point
// functions; arguments beyond the range saturate.
Result<RunKernel> FixedKernel(const Node& node, std::int32_t result_shift, std::int32_t low,
                              std::int32_t high, std::int32_t shift_zero,
                              std::int32_t (*f)(std::int32_t, std::int32_t)) {
  constexpr std::int32_t kIntegerBits = 4;
  NEAP_TRY(const Quant in, QuantOf(node.In(0)));
  const FixedFactor factor =
      MakeFixedFactor(static_cast<double>(in.scale) * (1 << (31 - kIntegerBits)));
  const double most = static_cast<double>((1 << kIntegerBits) - 1) *
                      static_cast<double>(1 << (31 - kIntegerBits)) / std::ldexp(1.0, factor.shift);
  const auto radius = static_cast<std::int32_t>(std::min(std::floor(most), 1e9));
  return MapKernel<std::int8_t, std::int8_t>(
      node.Out().elements, [=, zero = in.zero](std::int8_t x) {
        const std::int32_t centered = x - zero;
        if (centered <= -radius) return static_cast<std::int8_t>(low);
        if (centered >= radius) return static_cast<std::int8_t>(high);
        const std::int32_t result = f(Scale(centered, factor), kIntegerBits);
        return static_cast<std::int8_t>(
            std::clamp(RoundingShift(result, result_shift) + shift_zero, -128, 127));
      });
}

bool Bytes(const Node& node) {
  return node.In(0).type == node.Out().type &&
         (node.In(0).type == kInt8 || node.In(0).type == kUint8);
}

std::int16_t HighProduct16(std::int16_t a, std::int16_t b, bool rounded) {
  if (a == -32768 && b == -32768) return 32767;
  const std::int32_t product = std::int32_t{a} * b;
  const std::int32_t nudge = product >= 0 ? (1 << 14) : 1 - (1 << 14);
  return static_cast<std::int16_t>((product + (rounded ? nudge : 0)) / (1 << 15));
}

std::int16_t NarrowFraction(FixedFactor factor) {
  if (factor.fraction >= 2147483647 - (1 << 15)) return 32767;
  return static_cast<std::int16_t>((factor.fraction + (1 << 15)) >> 16);
}

// x * relu6(x + 3) / 6 in 16 bits.
struct HardSwishInteger {
  std::int32_t in_zero;
  std::int32_t out_zero;
  std::int16_t out_fraction;
  std::int32_t out_shift;  // <= 0
  std::int16_t relu_fraction;
  std::int32_t relu_shift;
  Limits<std::int32_t> limits;

  template <typename T>
  T operator()(T x) const {
    const auto fine = static_cast<std::int16_t>((x - in_zero) * (1 << 7));
    const std::int16_t on_output = HighProduct16(fine, out_fraction, true);
    std::int16_t relu = fine;
    if (relu_shift > 0) relu = Saturate16(relu * (1 << std::min(relu_shift - 1, 15)));
    relu = HighProduct16(relu, relu_fraction, true);
    if (relu_shift > 0) relu = Saturate16(relu * 2);
    if (relu_shift < 0) {
      relu = static_cast<std::int16_t>(RoundingShift(relu, std::min(-relu_shift, 31)));
    }
    relu = static_cast<std::int16_t>((relu + (1 << 15)) >> 1);
    const std::int16_t product = HighProduct16(relu, on_output, false);
    const std::int32_t value = RoundingShift(product, std::min(-out_shift, 31));
    return static_cast<T>(limits(Saturate16(value) + out_zero));
  }
};

}  // namespace

Result<RunKernel> QuantizedLogistic(const Node& node) {
  if (!Bytes(node)) return UnsupportedType(node);
  if (node.kernels == Kernels::kTflm && node.In(0).type == kInt8) {
    NEAP_TRY(const Quant out, QuantOf(node.Out()));
    NEAP_CHECK_OK(Require(out.zero == -128, "expected an output with zero point -128"));
    return FixedKernel(node, 23, -128, 127, -128, FixedLogistic);
  }
  return TableKernel(node, [](float x) { return 1.0F / (1.0F + std::exp(-x)); });
}

Result<RunKernel> QuantizedTanh(const Node& node) {
  if (!Bytes(node)) return UnsupportedType(node);
  if (node.kernels == Kernels::kTflm && node.In(0).type == kInt8) {
    return FixedKernel(node, 24, -128, 127, 0, FixedTanh);
  }
  return TableKernel(node, [](float x) { return std::tanh(x); });
}

Result<RunKernel> QuantizedHardSwish(const Node& node) {
  if (!Bytes(node)) return UnsupportedType(node);
  NEAP_TRY(const Quant in, QuantOf(node.In(0)));
  NEAP_TRY(const Quant out, QuantOf(node.Out()));
  const float fine_scale = (1.0F / 128.0F) * in.scale;
  const float relu_scale = 3.0F / 32768.0F;
  const FixedFactor out_factor = MakeFixedFactor(static_cast<double>(fine_scale / out.scale));
  const FixedFactor relu_factor = MakeFixedFactor(static_cast<double>(fine_scale / relu_scale));
  NEAP_CHECK_OK(Require(out_factor.shift <= 0, "its output is much finer than its input"));
  const HardSwishInteger swish{in.zero,
                               out.zero,
                               NarrowFraction(out_factor),
                               out_factor.shift,
                               NarrowFraction(relu_factor),
                               relu_factor.shift,
                               TypeLimits(node.Out().type)};
  return ForType(TypeList<std::int8_t, std::uint8_t>(), node.In(0).type, node, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return MapKernel<T, T>(node.Out().elements, swish);
  });
}

Result<RunKernel> QuantizedRelu(const Node& node, float low, float high) {
  NEAP_CHECK_OK(RequireType(node.Out(), node.In(0).type));
  NEAP_TRY(const Quant in, QuantOf(node.In(0)));
  NEAP_TRY(const Quant out, QuantOf(node.Out()));
  const FixedFactor factor = MakeFixedFactor(static_cast<double>(in.scale / out.scale));
  Limits<std::int32_t> limits = TypeLimits(node.Out().type);
  limits.low = std::max(limits.low, WrapAdd(RoundToInt(low / out.scale), out.zero));
  if (std::isfinite(high)) {
    limits.high = std::min(limits.high, WrapAdd(RoundToInt(high / out.scale), out.zero));
  }
  return ForType(QuantizedTypes(), node.In(0).type, node, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return MapKernel<T, T>(node.Out().elements, [=, in_zero = in.zero, out_zero = out.zero](T x) {
      return static_cast<T>(limits(WrapAdd(Scale(x - in_zero, factor), out_zero)));
    });
  });
}

Result<RunKernel> QuantizedLeakyRelu(const Node& node, float alpha) {
  NEAP_CHECK_OK(RequireType(node.Out(), node.In(0).type));
  NEAP_TRY(const Quant in, QuantOf(node.In(0)));
  NEAP_TRY(const Quant out, QuantOf(node.Out()));
  const FixedFactor same = MakeFixedFactor(static_cast<double>(in.scale / out.scale));
  const FixedFactor less = MakeFixedFactor(static_cast<double>(in.scale * alpha / out.scale));
  const Limits<std::int32_t> limits = TypeLimits(node.Out().type);
  return ForType(QuantizedTypes(), node.In(0).type, node, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return MapKernel<T, T>(node.Out().elements, [=, in_zero = in.zero, out_zero = out.zero](T x) {
      const std::int32_t value = x - in_zero;
      return static_cast<T>(limits(WrapAdd(Scale(value, value >= 0 ? same : less), out_zero)));
    });
  });
}

}  // namespace neap::execute::tflite
