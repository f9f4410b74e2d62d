// SPDX-License-Identifier: Apache-2.0
//
// QUANTIZE, DEQUANTIZE, CAST.
#include <bit>
#include <cmath>
#include <type_traits>

#include "neap/execute/families.h"
#include "neap/execute/half.h"
#include "neap/execute/loops/elementwise.h"
#include "neap/execute/tflite/quantized.h"

namespace neap::execute::tflite {
namespace {

using enum graph::ElementType;

Status RequireOneShape(const Node& node) {
  NEAP_CHECK_OK(RequireOperands(node, 1, 1));
  return RequireShape(node.Out(), node.In(0).shape);
}

Result<RunKernel> PrepareQuantize(const Node& node) {
  NEAP_CHECK_OK(RequireOneShape(node));
  if (!IsQuantizedType(node.Out().type)) return UnsupportedType(node);
  NEAP_TRY(const Quant out, QuantOf(node.Out()));
  const auto limits = TypeLimits(node.Out().type);
  const std::int64_t elements = node.Out().elements;
  if (node.In(0).type == kFloat32) {
    return ForType(QuantizedTypes(), node.Out().type, node, [&](auto tag) {
      using T = typename decltype(tag)::Type;
      return MapKernel<float, T>(elements, [out, limits](float x) {
        return static_cast<T>(limits(WrapAdd(RoundToInt(x / out.scale), out.zero)));
      });
    });
  }
  NEAP_TRY(const Quant in, QuantOf(node.In(0)));
  const FixedFactor factor =
      MakeFixedFactor(static_cast<double>(in.scale) / static_cast<double>(out.scale));
  return ForType(QuantizedTypes(), node.In(0).type, node, [&](auto from) {
    using In = typename decltype(from)::Type;
    return ForType(QuantizedTypes(), node.Out().type, node, [&](auto to) {
      using T = typename decltype(to)::Type;
      return MapKernel<In, T>(elements, [=](In x) {
        return static_cast<T>(limits(WrapAdd(Scale(x - in.zero, factor), out.zero)));
      });
    });
  });
}

Result<RunKernel> PrepareDequantize(const Node& node) {
  NEAP_CHECK_OK(RequireOneShape(node));
  NEAP_CHECK_OK(RequireType(node.Out(), kFloat32));
  const std::int64_t elements = node.Out().elements;
  if (node.In(0).type == kFloat16) {
    return MapKernel<std::uint16_t, float>(elements,
                                           [](std::uint16_t x) { return FloatOfHalf(x); });
  }
  if (!IsQuantizedType(node.In(0).type)) return UnsupportedType(node);
  const graph::Quantization* const quantization = node.In(0).quantization;
  if (quantization != nullptr && quantization->scales.size() > 1) {
    const auto axis = static_cast<std::size_t>(quantization->axis);
    const graph::Shape& shape = node.In(0).shape;
    NEAP_CHECK_OK(Require(axis < shape.size() &&
                              static_cast<std::int64_t>(quantization->scales.size()) == shape[axis],
                          "its input does not have one scale for each index"));
    std::int64_t inner = 1;
    for (std::size_t d = axis + 1; d < shape.size(); ++d) inner *= shape[d];
    return ForType(QuantizedTypes(), node.In(0).type, node, [&](auto tag) -> Result<RunKernel> {
      using T = typename decltype(tag)::Type;
      return RunKernel([=, quant = *quantization](const Arguments& arguments) -> Status {
        for (std::int64_t i = 0; i < elements; ++i) {
          const auto c = static_cast<std::size_t>(i / inner) % quant.scales.size();
          const std::int64_t zero = c < quant.zero_points.size() ? quant.zero_points[c] : 0;
          const std::int64_t value = Input<T>(arguments, 0)[i].value - zero;
          Output<float>(arguments)[i].value = static_cast<float>(value) * quant.scales[c];
        }
        return {};
      });
    });
  }
  NEAP_TRY(const Quant in, QuantOf(node.In(0)));
  return ForType(QuantizedTypes(), node.In(0).type, node, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return MapKernel<T, float>(elements, [in](T x) {
      return static_cast<float>(static_cast<double>(in.scale) * (x - in.zero));
    });
  });
}

// Numbers that the target cannot hold: the nearest it can (and 0 for a NaN), integers modulo 2^n.
template <typename From, typename To>
To CastNumber(From x) {
  if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    constexpr auto kLow = static_cast<double>(std::numeric_limits<To>::min());
    constexpr auto kHigh = static_cast<double>(std::numeric_limits<To>::max());
    const auto value = static_cast<double>(x);
    if (std::isnan(value)) return 0;
    if (value <= kLow) return std::numeric_limits<To>::min();
    return value >= kHigh ? std::numeric_limits<To>::max() : static_cast<To>(value);
  } else {
    return static_cast<To>(x);
  }
}

Result<RunKernel> PrepareCast(const Node& node) {
  NEAP_CHECK_OK(RequireOneShape(node));
  const std::int64_t elements = node.Out().elements;
  if (node.Out().type == kBool) {
    return ForType(NumberTypes(), node.In(0).type, node, [&](auto from) {
      using From = typename decltype(from)::Type;
      return MapKernel<From, std::uint8_t>(
          elements, [](From x) { return static_cast<std::uint8_t>(x != 0 ? 1 : 0); });
    });
  }
  return ForType(NumberTypes(), node.Out().type, node, [&](auto to) -> Result<RunKernel> {
    using To = typename decltype(to)::Type;
    if (node.In(0).type == kBool) {
      return MapKernel<std::uint8_t, To>(
          elements, [](std::uint8_t x) { return static_cast<To>(x != 0 ? 1 : 0); });
    }
    return ForType(NumberTypes(), node.In(0).type, node, [&](auto from) {
      using From = typename decltype(from)::Type;
      return MapKernel<From, To>(elements, [](From x) { return CastNumber<From, To>(x); });
    });
  });
}

constexpr KernelEntry kQuantizeKernels[] = {
    {"QUANTIZE", PrepareQuantize},
    {"DEQUANTIZE", PrepareDequantize},
    {"CAST", PrepareCast},
};

}  // namespace

std::span<const KernelEntry> QuantizeKernels() { return kQuantizeKernels; }

}  // namespace neap::execute::tflite
