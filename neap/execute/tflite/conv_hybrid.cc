// SPDX-License-Identifier: Apache-2.0
//
// CONV_2D of float32 inputs with int8 weights: the inputs of a batch are brought to int8 first, by
// their own range, as the stock kernels do: around a zero of their own where the weights have a
// scale for each output channel, around 0 where they have one for all. Keeps a copy of a batch in
// int8 while it runs.
#include <algorithm>
#include <cmath>
#include <utility>

#include "neap/execute/tflite/quantized.h"

namespace neap::execute::tflite {
namespace {

using enum graph::ElementType;

struct Quantized {
  std::vector<std::int8_t> values;
  float scale = 1;
  std::int32_t zero = 0;
};

// The range always has 0 in it; the end of it that is represented better is exact.
Quantized QuantizeBatch(const Cell<float>* in, std::int64_t count) {
  Quantized out;
  out.values.assign(static_cast<std::size_t>(count), 0);
  float least = 0;
  float most = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    least = std::min(least, float{in[i].value});
    most = std::max(most, float{in[i].value});
  }
  if (least == most) return out;
  constexpr double kLow = -128;
  constexpr double kHigh = 127;
  const double low = static_cast<double>(least);
  const double high = static_cast<double>(most);
  const double scale = (high - low) / (kHigh - kLow);
  const bool by_low =
      std::fabs(kLow) + std::fabs(low / scale) < std::fabs(kHigh) + std::fabs(high / scale);
  const double zero = by_low ? kLow - low / scale : kHigh - high / scale;
  // Of infinite values there is no zero.
  const double kept = std::isnan(zero) ? 0 : std::clamp(zero, kLow, kHigh);
  out.zero = static_cast<std::int32_t>(std::round(kept));
  out.scale = static_cast<float>(scale);
  const float inverse = 1.0F / out.scale;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int32_t value = RoundToInt(static_cast<float>(out.zero) + in[i].value * inverse);
    out.values[static_cast<std::size_t>(i)] =
        static_cast<std::int8_t>(std::clamp(value, -128, 127));
  }
  return out;
}

// The largest absolute value is 127.
Quantized QuantizeSymmetric(const Cell<float>* in, std::int64_t count) {
  Quantized out;
  out.values.assign(static_cast<std::size_t>(count), 0);
  float range = 0;
  for (std::int64_t i = 0; i < count; ++i) range = std::max(range, std::fabs(in[i].value));
  if (range == 0) return out;
  constexpr float kMax = 127;
  out.scale = range / kMax;
  const float inverse = kMax / range;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int32_t value = RoundToInt(in[i].value * inverse);
    out.values[static_cast<std::size_t>(i)] =
        static_cast<std::int8_t>(std::clamp(value, -127, 127));
  }
  return out;
}

}  // namespace

Result<RunKernel> HybridConv(const Node& node, const ConvPlan& plan) {
  NEAP_TRY(const auto limits, FloatLimits(*node.op));
  NEAP_TRY(const auto scales, ChannelScales(node.In(1), plan.OutputChannels()));
  NEAP_TRY(const std::int32_t weight_zero, WeightZero(node.In(1)));
  const bool has_bias = node.Has(2);
  if (node.Out().type != kFloat32 || weight_zero != 0 ||
      (has_bias && node.In(2).type != kFloat32)) {
    return UnsupportedType(node);
  }
  const bool one_scale = node.In(1).quantization->scales.size() == 1;
  ConvPlan one = plan;
  one.batches = 1;
  const std::int64_t in_batch = plan.InputChannels() * Volume(plan.window.input);
  const std::int64_t out_batch = plan.OutputChannels() * Volume(plan.window.output);
  return RunKernel([=, batches = plan.batches](const Arguments& arguments) -> Status {
    for (std::int64_t n = 0; n < batches; ++n) {
      const Cell<float>* const from = Input<float>(arguments, 0) + n * in_batch;
      const Quantized input =
          one_scale ? QuantizeSymmetric(from, in_batch) : QuantizeBatch(from, in_batch);
      const auto stage = [&](std::int32_t sum, std::int64_t c) {
        // The stock kernels round after each product: a later layer's integers may hang on it.
        const float scale = scales[static_cast<std::size_t>(c)];
        const float value = one_scale ? static_cast<float>(sum) * (input.scale * scale)
                                      : static_cast<float>(sum) * scale * input.scale;
        return limits(has_bias ? value + Input<float>(arguments, 2)[c].value : value);
      };
      ConvChannelsLast<std::int8_t, std::int8_t, std::int32_t>(
          one, CellsOf<std::int8_t>(std::as_bytes(std::span(input.values))),
          Input<std::int8_t>(arguments, 1), input.zero, 0, Output<float>(arguments) + n * out_batch,
          stage);
    }
    return {};
  });
}

}  // namespace neap::execute::tflite
