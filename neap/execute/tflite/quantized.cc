// SPDX-License-Identifier: Apache-2.0
#include "neap/execute/tflite/quantized.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace neap::execute::tflite {

using enum graph::ElementType;

bool IsQuantizedType(graph::ElementType type) {
  return type == kInt8 || type == kUint8 || type == kInt16;
}

Limits<std::int32_t> TypeLimits(graph::ElementType type) {
  switch (type) {
    case kInt8:
      return {-128, 127};
    case kUint8:
      return {0, 255};
    case kInt16:
      return {-32768, 32767};
    default:
      return {std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()};
  }
}

Result<Quant> QuantOf(const Operand& operand) {
  const graph::Quantization* const quantization = operand.quantization;
  if (quantization == nullptr || quantization->scales.size() != 1) {
    return Fail(BadInput("an operand " + Describe(operand) + " has no single scale"));
  }
  Quant quant;
  quant.scale = quantization->scales[0];
  const std::int64_t zero = quantization->zero_points.empty() ? 0 : quantization->zero_points[0];
  const auto limits = TypeLimits(operand.type);
  NEAP_CHECK_OK(Require(zero >= limits.low && zero <= limits.high,
                        "the zero point of an operand is outside of its type"));
  NEAP_CHECK_OK(Require(quant.scale > 0 && std::isfinite(quant.scale),
                        "the scale of an operand is not a positive number"));
  quant.zero = static_cast<std::int32_t>(zero);
  return quant;
}

Result<std::vector<float>> ChannelScales(const Operand& operand, std::int64_t count) {
  const graph::Quantization* const quantization = operand.quantization;
  if (quantization == nullptr) return Fail(BadInput("its weights have no scale"));
  std::vector<float> scales = quantization->scales;
  if (scales.size() == 1) scales.resize(static_cast<std::size_t>(count), scales[0]);
  NEAP_CHECK_OK(Require(static_cast<std::int64_t>(scales.size()) == count,
                        "its weights do not have one scale for each output channel"));
  return scales;
}

Result<std::int32_t> WeightZero(const Operand& operand) {
  const graph::Quantization* const quantization = operand.quantization;
  if (quantization == nullptr || quantization->zero_points.empty()) return 0;
  const std::int64_t zero = quantization->zero_points[0];
  const auto& zeros = quantization->zero_points;
  NEAP_CHECK_OK(Require(zero >= -128 && zero <= 255 &&
                            std::all_of(zeros.begin(), zeros.end(),
                                        [&](std::int64_t other) { return other == zero; }),
                        "has no kernel for the zero points of its weights"));
  return static_cast<std::int32_t>(zero);
}

std::int32_t RoundToInt(float value) {
  const float rounded = std::round(value);
  if (!(rounded > -2147483648.0F)) return std::isnan(value) ? 0 : -2147483647 - 1;
  return rounded >= 2147483648.0F ? 2147483647 : static_cast<std::int32_t>(rounded);
}

Result<Limits<std::int32_t>> QuantizedLimits(const graph::Op& op, const Operand& output) {
  Limits<std::int32_t> limits = TypeLimits(output.type);
  const std::int64_t activation = IntOr(op, "fused_activation_function", kNone);
  if (activation == kNone) return limits;
  NEAP_TRY(const auto real, FloatLimits(op));
  NEAP_TRY(const Quant quant, QuantOf(output));
  const auto narrow = [&](float value) {
    return WrapAdd(RoundToInt(value / quant.scale), quant.zero);
  };
  limits.low = std::max(limits.low, narrow(real.low));
  if (std::isfinite(real.high)) limits.high = std::min(limits.high, narrow(real.high));
  return limits;
}

}  // namespace neap::execute::tflite
