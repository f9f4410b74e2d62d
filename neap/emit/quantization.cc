// SPDX-License-Identifier: Apache-2.0
#include "neap/emit/quantization.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "neap/ops/window.h"

namespace neap::emit {
namespace {

// Values of fused_activation_function in a .tflite.
enum Activation : std::int8_t { kNone = 0, kRelu = 1, kReluN1To1 = 2, kRelu6 = 3 };

Range RangeOf(const graph::Tensor& tensor) {
  return IsUint8(tensor) ? Range{0, 255} : Range{-128, 127};
}

}  // namespace

bool IsByte(const graph::Tensor& tensor) {
  return tensor.type == graph::ElementType::kInt8 || tensor.type == graph::ElementType::kUint8;
}

Result<Quant> QuantOf(const graph::Tensor& tensor) {
  if (!IsByte(tensor)) return Fail(BadInput("has a tensor that is not of 8 bits"));
  if (!tensor.quantization || tensor.quantization->scales.size() != 1) {
    return Fail(BadInput("has a tensor without a single scale"));
  }
  Quant quant;
  quant.scale = tensor.quantization->scales[0];
  const auto& zeros = tensor.quantization->zero_points;
  const std::int64_t zero = zeros.empty() ? 0 : zeros[0];
  const Range range = RangeOf(tensor);
  if (zero < range.low || zero > range.high || !(quant.scale > 0) || !std::isfinite(quant.scale)) {
    return Fail(BadInput("has a tensor whose scale or zero point is out of range"));
  }
  quant.zero = static_cast<std::int32_t>(zero);
  return quant;
}

Result<std::vector<float>> ChannelScales(const graph::Tensor& tensor, std::int64_t channels) {
  if (!tensor.quantization) return Fail(BadInput("has weights without a scale"));
  std::vector<float> scales = tensor.quantization->scales;
  const auto count = static_cast<std::size_t>(channels);
  if (scales.size() == 1) scales.resize(count, scales[0]);
  if (scales.size() != count) {
    return Fail(BadInput("has weights without one scale for each output channel"));
  }
  return scales;
}

Result<Range> OutputRange(const graph::Op& op, const graph::Tensor& output) {
  Range range = RangeOf(output);
  NEAP_TRY(const Quant quant, QuantOf(output));
  const auto at = [&](float real) {
    const double rounded = static_cast<double>(std::round(real / quant.scale)) + quant.zero;
    return static_cast<std::int32_t>(std::clamp(rounded, -1e9, 1e9));
  };
  switch (ops::IntegerAttribute(op, "fused_activation_function", kNone)) {
    case kNone:
      return range;
    case kRelu:
      range.low = std::max(range.low, at(0));
      return range;
    case kReluN1To1:
      return Range{std::max(range.low, at(-1)), std::min(range.high, at(1))};
    case kRelu6:
      return Range{std::max(range.low, at(0)), std::min(range.high, at(6))};
    default:
      return Fail(BadInput("has a fused activation without a kernel"));
  }
}

}  // namespace neap::emit
