// SPDX-License-Identifier: Apache-2.0
//
// QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear.
#include <algorithm>
#include <cmath>

#include "neap/execute/families.h"
#include "neap/execute/onnx/common.h"

namespace neap::execute::onnx {
namespace {

using enum graph::ElementType;

Status RequireScales(const Node& node) {
  NEAP_CHECK_OK(RequireOperands(node, 2, 3));
  NEAP_CHECK_OK(RequireShape(node.Out(), node.In(0).shape));
  NEAP_CHECK_OK(Require(!node.Has(2) || node.In(2).elements == node.In(1).elements,
                        "has different numbers of zero points and scales"));
  return Require(IsRealType(node.In(1).type), "expected real scales");
}

// Divided in single precision, rounded to even, saturated.
Result<RunKernel> PrepareQuantize(const Node& node) {
  NEAP_CHECK_OK(RequireScales(node));
  NEAP_TRY(const QuantLayout layout, MakeQuantLayout(node, node.In(0), node.In(1)));
  const graph::ElementType to = node.Out().type;
  const graph::ElementType from = node.In(0).type;
  if (!IsIntegerType(to) || !IsRealType(from)) return UnsupportedType(node);
  NEAP_CHECK_OK(Require(!node.Has(2) || node.In(2).type == to, "its zero point has another type"));
  const bool has_zero = node.Has(2);
  const graph::ElementType scale_type = node.In(1).type;
  const std::int64_t elements = node.Out().elements;
  std::int64_t low = 0;
  std::int64_t high = 0;
  RangeOf(to, &low, &high);
  return RunKernel([=](const Arguments& arguments) -> Status {
    for (std::int64_t i = 0; i < elements; ++i) {
      const std::int64_t c = layout.ScaleOf(i);
      const auto scale = static_cast<float>(LoadReal(scale_type, arguments.inputs[1], c));
      const std::int64_t zero = has_zero ? LoadInteger(to, arguments.inputs[2], c) : 0;
      const auto x = static_cast<float>(LoadReal(from, arguments.inputs[0], i));
      const double rounded = RoundEven(static_cast<double>(x / scale)) + static_cast<double>(zero);
      const double kept = std::isnan(rounded) ? static_cast<double>(zero)
                                              : std::clamp(rounded, static_cast<double>(low),
                                                           static_cast<double>(high));
      StoreInteger(to, arguments.outputs[0], i, static_cast<std::int64_t>(kept));
    }
    return {};
  });
}

Result<RunKernel> PrepareDequantize(const Node& node) {
  NEAP_CHECK_OK(RequireScales(node));
  NEAP_TRY(const QuantLayout layout, MakeQuantLayout(node, node.In(0), node.In(1)));
  const graph::ElementType from = node.In(0).type;
  const graph::ElementType to = node.Out().type;
  if (!IsIntegerType(from) || !IsRealType(to)) return UnsupportedType(node);
  NEAP_CHECK_OK(
      Require(!node.Has(2) || node.In(2).type == from, "its zero point has another type"));
  const bool has_zero = node.Has(2);
  const graph::ElementType scale_type = node.In(1).type;
  const std::int64_t elements = node.Out().elements;
  return RunKernel([=](const Arguments& arguments) -> Status {
    for (std::int64_t i = 0; i < elements; ++i) {
      const std::int64_t c = layout.ScaleOf(i);
      const auto scale = static_cast<float>(LoadReal(scale_type, arguments.inputs[1], c));
      const std::int64_t zero = has_zero ? LoadInteger(from, arguments.inputs[2], c) : 0;
      const std::int64_t x = LoadInteger(from, arguments.inputs[0], i);
      const float value = static_cast<float>(x - zero) * scale;
      StoreReal(to, arguments.outputs[0], i, static_cast<double>(value));
    }
    return {};
  });
}

// Scale and zero point from the range of the data, which always has 0 in it.
Result<RunKernel> PrepareDynamicQuantize(const Node& node) {
  NEAP_CHECK_OK(RequireOperands(node, 1, 1, 3));
  NEAP_CHECK_OK(RequireType(node.In(0), kFloat32));
  NEAP_CHECK_OK(RequireType(node.Out(0), kUint8));
  NEAP_CHECK_OK(RequireType(node.Out(1), kFloat32));
  NEAP_CHECK_OK(RequireType(node.Out(2), kUint8));
  NEAP_CHECK_OK(RequireShape(node.Out(0), node.In(0).shape));
  NEAP_CHECK_OK(Require(node.Out(1).elements == 1 && node.Out(2).elements == 1,
                        "scale and zero point are not single numbers"));
  const std::int64_t elements = node.In(0).elements;
  return RunKernel([elements](const Arguments& arguments) -> Status {
    const auto* const in = Input<float>(arguments, 0);
    float low = 0;
    float high = 0;
    for (std::int64_t i = 0; i < elements; ++i) {
      low = std::min(low, float{in[i].value});
      high = std::max(high, float{in[i].value});
    }
    const float scale = high == low ? 1.0F : (high - low) / 255.0F;
    const float zero = std::clamp(std::nearbyint(-low / scale), 0.0F, 255.0F);
    for (std::int64_t i = 0; i < elements; ++i) {
      const float value = std::nearbyint(in[i].value / scale) + zero;
      Output<std::uint8_t>(arguments, 0)[i].value =
          static_cast<std::uint8_t>(std::clamp(std::isnan(value) ? zero : value, 0.0F, 255.0F));
    }
    Output<float>(arguments, 1)->value = scale;
    Output<std::uint8_t>(arguments, 2)->value = static_cast<std::uint8_t>(zero);
    return {};
  });
}

constexpr KernelEntry kQuantizeKernels[] = {
    {"QuantizeLinear", PrepareQuantize},
    {"DequantizeLinear", PrepareDequantize},
    {"DynamicQuantizeLinear", PrepareDynamicQuantize},
};

}  // namespace

std::span<const KernelEntry> QuantizeKernels() { return kQuantizeKernels; }

}  // namespace neap::execute::onnx
