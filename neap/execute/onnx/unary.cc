// SPDX-License-Identifier: Apache-2.0
//
// Operators of one operand element by element.
#include <cmath>
#include <cstdlib>
#include <type_traits>

#include "neap/execute/families.h"
#include "neap/execute/loops/elementwise.h"
#include "neap/execute/onnx/common.h"

namespace neap::execute::onnx {
namespace {

using enum graph::ElementType;

// f for float32 and float64.
template <typename F>
Result<RunKernel> RealMap(const Node& node, F f) {
  NEAP_CHECK_OK(RequireOperands(node, 1, 1));
  NEAP_CHECK_OK(RequireType(node.Out(), node.In(0).type));
  NEAP_CHECK_OK(RequireShape(node.Out(), node.In(0).shape));
  return ForType(FloatTypes(), node.In(0).type, node, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return MapKernel<T, T>(node.Out().elements, f);
  });
}

// f for every number type.
template <typename F>
Result<RunKernel> NumberMap(const Node& node, F f) {
  NEAP_CHECK_OK(RequireOperands(node, 1, 1));
  NEAP_CHECK_OK(RequireType(node.Out(), node.In(0).type));
  NEAP_CHECK_OK(RequireShape(node.Out(), node.In(0).shape));
  return ForType(NumberTypes(), node.In(0).type, node, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return MapKernel<T, T>(node.Out().elements, f);
  });
}

#define NEAP_REAL_MAP(Name, expression)                                     \
  Result<RunKernel> Name(const Node& node) {                                \
    return RealMap(node, [](auto x) -> decltype(x) { return expression; }); \
  }
NEAP_REAL_MAP(PrepareSigmoid, 1 / (1 + std::exp(-x)))
NEAP_REAL_MAP(PrepareTanh, std::tanh(x))
NEAP_REAL_MAP(PrepareExp, std::exp(x))
NEAP_REAL_MAP(PrepareLog, std::log(x))
NEAP_REAL_MAP(PrepareSqrt, std::sqrt(x))
NEAP_REAL_MAP(PrepareErf, std::erf(x))
NEAP_REAL_MAP(PrepareFloor, std::floor(x))
NEAP_REAL_MAP(PrepareCeil, std::ceil(x))
NEAP_REAL_MAP(PrepareRound, std::nearbyint(x))
NEAP_REAL_MAP(PrepareReciprocal, 1 / x)
NEAP_REAL_MAP(PrepareSoftplus, std::log1p(std::exp(x)))
NEAP_REAL_MAP(PrepareSoftsign, x / (1 + std::fabs(x)))
NEAP_REAL_MAP(PrepareSin, std::sin(x))
NEAP_REAL_MAP(PrepareCos, std::cos(x))
NEAP_REAL_MAP(PrepareAtan, std::atan(x))
NEAP_REAL_MAP(PrepareMish, x* std::tanh(std::log1p(std::exp(x))))
#undef NEAP_REAL_MAP

Result<RunKernel> PrepareRelu(const Node& node) {
  return NumberMap(node, [](auto x) -> decltype(x) { return x > 0 ? x : decltype(x){0}; });
}
Result<RunKernel> PrepareAbs(const Node& node) {
  return NumberMap(node, [](auto x) -> decltype(x) {
    if constexpr (std::is_signed_v<decltype(x)> && std::is_integral_v<decltype(x)>) {
      using U = std::make_unsigned_t<decltype(x)>;
      return x < 0 ? static_cast<decltype(x)>(U{0} - static_cast<U>(x)) : x;
    } else if constexpr (std::is_floating_point_v<decltype(x)>) {
      return std::fabs(x);
    } else {
      return x;
    }
  });
}
Result<RunKernel> PrepareNeg(const Node& node) {
  return NumberMap(node, [](auto x) -> decltype(x) {
    if constexpr (std::is_integral_v<decltype(x)>) {
      using U = std::make_unsigned_t<decltype(x)>;
      return static_cast<decltype(x)>(U{0} - static_cast<U>(x));
    } else {
      return -x;
    }
  });
}
Result<RunKernel> PrepareSign(const Node& node) {
  return NumberMap(node, [](auto x) -> decltype(x) {
    return static_cast<decltype(x)>((x > 0 ? 1 : 0) - (x < 0 ? 1 : 0));
  });
}

Result<RunKernel> PrepareElu(const Node& node) {
  const double alpha = RealOr(*node.op, "alpha", 1);
  return RealMap(node, [alpha](auto x) -> decltype(x) {
    return x < 0 ? static_cast<decltype(x)>(alpha) * std::expm1(x) : x;
  });
}
Result<RunKernel> PrepareLeakyRelu(const Node& node) {
  const double alpha = RealOr(*node.op, "alpha", 0.01);
  return RealMap(node, [alpha](auto x) -> decltype(x) {
    return x < 0 ? static_cast<decltype(x)>(alpha) * x : x;
  });
}
Result<RunKernel> PrepareHardSigmoid(const Node& node) {
  const double alpha = RealOr(*node.op, "alpha", 0.2);
  const double beta = RealOr(*node.op, "beta", 0.5);
  return RealMap(node, [=](auto x) -> decltype(x) {
    using T = decltype(x);
    return std::fmax(T{0}, std::fmin(T{1}, static_cast<T>(alpha) * x + static_cast<T>(beta)));
  });
}
Result<RunKernel> PrepareHardSwish(const Node& node) {
  return RealMap(node, [](auto x) -> decltype(x) {
    using T = decltype(x);
    return x * std::fmax(T{0}, std::fmin(T{1}, x / 6 + static_cast<T>(0.5)));
  });
}
Result<RunKernel> PrepareGelu(const Node& node) {
  if (TextOr(*node.op, "approximate", "none") == "tanh") {
    return RealMap(node, [](auto x) -> decltype(x) {
      using T = decltype(x);
      constexpr auto kFactor = static_cast<T>(0.79788456080286535588);  // sqrt(2 / pi)
      const T inner = kFactor * (x + static_cast<T>(0.044715) * x * x * x);
      return static_cast<T>(0.5) * x * (1 + std::tanh(inner));
    });
  }
  return RealMap(node, [](auto x) -> decltype(x) {
    using T = decltype(x);
    return static_cast<T>(0.5) * x * (1 + std::erf(x * static_cast<T>(0.70710678118654752440)));
  });
}

Result<RunKernel> PrepareNot(const Node& node) {
  NEAP_CHECK_OK(RequireOperands(node, 1, 1));
  NEAP_CHECK_OK(RequireType(node.In(0), kBool));
  NEAP_CHECK_OK(RequireType(node.Out(), kBool));
  NEAP_CHECK_OK(RequireShape(node.Out(), node.In(0).shape));
  return MapKernel<std::uint8_t, std::uint8_t>(node.Out().elements, [](std::uint8_t x) {
    return static_cast<std::uint8_t>(x == 0 ? 1 : 0);
  });
}

// Bounds are inputs, or attributes before version 11; a missing bound has no effect.
Result<RunKernel> PrepareClip(const Node& node) {
  NEAP_CHECK_OK(RequireOperands(node, 1, 3));
  NEAP_CHECK_OK(RequireType(node.Out(), node.In(0).type));
  NEAP_CHECK_OK(RequireShape(node.Out(), node.In(0).shape));
  for (std::size_t i = 1; i < 3; ++i) {
    if (!node.Has(i)) continue;
    NEAP_CHECK_OK(RequireType(node.In(i), node.In(0).type));
    NEAP_CHECK_OK(Require(node.In(i).elements == 1, "its bounds are not single numbers"));
  }
  const bool has_low = node.Has(1);
  const bool has_high = node.Has(2);
  const std::int64_t elements = node.Out().elements;
  const double low_attribute = RealOr(*node.op, "min", -3.4028234663852886e38);
  const double high_attribute = RealOr(*node.op, "max", 3.4028234663852886e38);
  return ForType(NumberTypes(), node.In(0).type, node, [&](auto tag) -> Result<RunKernel> {
    using T = typename decltype(tag)::Type;
    return RunKernel([=](const Arguments& arguments) -> Status {
      T low = std::numeric_limits<T>::lowest();
      T high = std::numeric_limits<T>::max();
      if constexpr (std::is_floating_point_v<T>) {
        low = static_cast<T>(low_attribute);
        high = static_cast<T>(high_attribute);
        if (has_low) low = -std::numeric_limits<T>::infinity();
        if (has_high) high = std::numeric_limits<T>::infinity();
      }
      if (has_low) low = Input<T>(arguments, 1)->value;
      if (has_high) high = Input<T>(arguments, 2)->value;
      for (std::int64_t i = 0; i < elements; ++i) {
        T x = Input<T>(arguments, 0)[i].value;
        x = x < low ? low : x;
        Output<T>(arguments)[i].value = x > high ? high : x;
      }
      return {};
    });
  });
}

constexpr KernelEntry kUnaryKernels[] = {
    {"Sigmoid", PrepareSigmoid},
    {"Tanh", PrepareTanh},
    {"Exp", PrepareExp},
    {"Log", PrepareLog},
    {"Sqrt", PrepareSqrt},
    {"Erf", PrepareErf},
    {"Floor", PrepareFloor},
    {"Ceil", PrepareCeil},
    {"Round", PrepareRound},
    {"Reciprocal", PrepareReciprocal},
    {"Softplus", PrepareSoftplus},
    {"Softsign", PrepareSoftsign},
    {"Sin", PrepareSin},
    {"Cos", PrepareCos},
    {"Atan", PrepareAtan},
    {"Mish", PrepareMish},
    {"Relu", PrepareRelu},
    {"Abs", PrepareAbs},
    {"Neg", PrepareNeg},
    {"Sign", PrepareSign},
    {"Elu", PrepareElu},
    {"LeakyRelu", PrepareLeakyRelu},
    {"HardSigmoid", PrepareHardSigmoid},
    {"HardSwish", PrepareHardSwish},
    {"Gelu", PrepareGelu},
    {"Not", PrepareNot},
    {"Clip", PrepareClip},
};

}  // namespace

std::span<const KernelEntry> UnaryKernels() { return kUnaryKernels; }

}  // namespace neap::execute::onnx
