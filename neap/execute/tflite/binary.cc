// SPDX-License-Identifier: Apache-2.0
//
// Operators of two operands element by element, and ADD_N, SELECT.
#include <algorithm>
#include <cmath>
#include <type_traits>

#include "neap/execute/families.h"
#include "neap/execute/loops/elementwise.h"
#include "neap/execute/loops/select.h"
#include "neap/execute/tflite/quantized.h"

namespace neap::execute::tflite {
namespace {

using enum graph::ElementType;
using Wholes = TypeList<std::int32_t, std::int64_t>;
using Comparable =
    TypeList<float, std::int8_t, std::uint8_t, std::int16_t, std::int32_t, std::int64_t>;

template <typename T>
T WrapAdd(T a, T b) {
  using U = std::make_unsigned_t<T>;
  return static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
}
template <typename T>
T WrapSubtract(T a, T b) {
  using U = std::make_unsigned_t<T>;
  return static_cast<T>(static_cast<U>(a) - static_cast<U>(b));
}
template <typename T>
T WrapMultiply(T a, T b) {
  using U = std::make_unsigned_t<T>;
  return static_cast<T>(static_cast<U>(a) * static_cast<U>(b));
}

Status RequireOneType(const Node& node) {
  NEAP_CHECK_OK(RequireOperands(node, 2, 2));
  NEAP_CHECK_OK(RequireType(node.In(1), node.In(0).type));
  return RequireType(node.Out(), node.In(0).type);
}

// Both inputs and the output of one quantised type.
bool IsQuantized(const Node& node) {
  return RequireOneType(node) && IsQuantizedType(node.In(0).type);
}

// float32 by f and the fused activation, int32 and int64 by g (modulo 2^n, without activation).
template <typename F, typename G>
Result<RunKernel> Arithmetic(const Node& node, F f, G g) {
  NEAP_CHECK_OK(RequireOneType(node));
  if (node.In(0).type == kFloat32) {
    NEAP_TRY(const auto limits, FloatLimits(*node.op));
    return BinaryKernel<float, float, float>(
        node, [f, limits](float a, float b) { return limits(f(a, b)); });
  }
  if (IntOr(*node.op, "fused_activation_function", kNone) != kNone) return UnsupportedType(node);
  return ForType(Wholes(), node.In(0).type, node, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return BinaryKernel<T, T, T>(node, g);
  });
}

Result<RunKernel> PrepareAdd(const Node& node) {
  if (IsQuantized(node)) return QuantizedSum(node, Sum::kAdd);
  return Arithmetic(
      node, [](float a, float b) { return a + b; }, [](auto a, auto b) { return WrapAdd(a, b); });
}
Result<RunKernel> PrepareSub(const Node& node) {
  if (IsQuantized(node)) return QuantizedSum(node, Sum::kSubtract);
  return Arithmetic(
      node, [](float a, float b) { return a - b; },
      [](auto a, auto b) { return WrapSubtract(a, b); });
}
Result<RunKernel> PrepareMul(const Node& node) {
  if (IsQuantized(node)) return QuantizedMul(node);
  return Arithmetic(
      node, [](float a, float b) { return a * b; },
      [](auto a, auto b) { return WrapMultiply(a, b); });
}
Result<RunKernel> PrepareDiv(const Node& node) {
  return Arithmetic(
      node, [](float a, float b) { return a / b; },
      [](auto a, auto b) -> decltype(a) {
        // Cases that C leaves undefined are 0 and the negative itself.
        if (b == 0) return 0;
        return b == -1 ? WrapSubtract<decltype(a)>(0, a) : static_cast<decltype(a)>(a / b);
      });
}
Result<RunKernel> PrepareSquaredDifference(const Node& node) {
  return Arithmetic(
      node, [](float a, float b) { return (a - b) * (a - b); },
      [](auto a, auto b) { return WrapMultiply(WrapSubtract(a, b), WrapSubtract(a, b)); });
}
Result<RunKernel> PreparePow(const Node& node) {
  NEAP_CHECK_OK(RequireOneType(node));
  if (node.In(0).type != kFloat32) return UnsupportedType(node);
  return BinaryKernel<float, float, float>(node, [](float a, float b) { return std::pow(a, b); });
}

// Quantised operands of one scale compare as their integers do.
bool SameQuantization(const Operand& a, const Operand& b) {
  if (a.quantization == nullptr || b.quantization == nullptr) {
    return a.quantization == b.quantization;
  }
  return a.quantization->scales == b.quantization->scales &&
         a.quantization->zero_points == b.quantization->zero_points;
}

template <typename F>
Result<RunKernel> Selection(const Node& node, F f) {
  NEAP_CHECK_OK(RequireOneType(node));
  return ForType(Comparable(), node.In(0).type, node, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return BinaryKernel<T, T, T>(node, f);
  });
}
Result<RunKernel> PrepareMaximum(const Node& node) {
  return Selection(node, [](auto a, auto b) { return a > b ? a : b; });
}
Result<RunKernel> PrepareMinimum(const Node& node) {
  return Selection(node, [](auto a, auto b) { return a < b ? a : b; });
}

template <typename F>
Result<RunKernel> Comparison(const Node& node, F /*f*/) {
  NEAP_CHECK_OK(RequireOperands(node, 2, 2));
  NEAP_CHECK_OK(RequireType(node.In(1), node.In(0).type));
  NEAP_CHECK_OK(RequireType(node.Out(), kBool));
  if (!SameQuantization(node.In(0), node.In(1))) return UnsupportedType(node);
  return ForType(Comparable(), node.In(0).type, node, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return BinaryKernel<T, T, std::uint8_t>(
        node, [](T a, T b) { return static_cast<std::uint8_t>(F()(a, b) ? 1 : 0); });
  });
}
Result<RunKernel> PrepareEqual(const Node& node) {
  return Comparison(node, [](auto a, auto b) { return a == b; });
}
Result<RunKernel> PrepareNotEqual(const Node& node) {
  return Comparison(node, [](auto a, auto b) { return a != b; });
}
Result<RunKernel> PrepareLess(const Node& node) {
  return Comparison(node, [](auto a, auto b) { return a < b; });
}
Result<RunKernel> PrepareLessEqual(const Node& node) {
  return Comparison(node, [](auto a, auto b) { return a <= b; });
}
Result<RunKernel> PrepareGreater(const Node& node) {
  return Comparison(node, [](auto a, auto b) { return a > b; });
}
Result<RunKernel> PrepareGreaterEqual(const Node& node) {
  return Comparison(node, [](auto a, auto b) { return a >= b; });
}

Result<RunKernel> PrepareAddN(const Node& node) {
  NEAP_CHECK_OK(RequireOperands(node, 1, node.inputs.size()));
  for (const Operand& input : node.inputs) {
    NEAP_CHECK_OK(RequireType(input, kFloat32));
    NEAP_CHECK_OK(RequireShape(input, node.Out().shape));
  }
  NEAP_CHECK_OK(RequireType(node.Out(), kFloat32));
  const std::int64_t elements = node.Out().elements;
  return RunKernel([elements](const Arguments& arguments) -> Status {
    for (std::int64_t i = 0; i < elements; ++i) {
      float sum = 0;
      for (std::size_t n = 0; n < arguments.inputs.size(); ++n) {
        sum += Input<float>(arguments, n)[i].value;
      }
      Output<float>(arguments)[i].value = sum;
    }
    return {};
  });
}

// SELECT_V2 with broadcasting, and SELECT where that is the same.
Result<RunKernel> PrepareSelect(const Node& node) { return SelectKernel(Comparable(), node); }

constexpr KernelEntry kBinaryKernels[] = {
    {"ADD", PrepareAdd},
    {"SUB", PrepareSub},
    {"MUL", PrepareMul},
    {"DIV", PrepareDiv},
    {"SQUARED_DIFFERENCE", PrepareSquaredDifference},
    {"POW", PreparePow},
    {"MAXIMUM", PrepareMaximum},
    {"MINIMUM", PrepareMinimum},
    {"EQUAL", PrepareEqual},
    {"NOT_EQUAL", PrepareNotEqual},
    {"LESS", PrepareLess},
    {"LESS_EQUAL", PrepareLessEqual},
    {"GREATER", PrepareGreater},
    {"GREATER_EQUAL", PrepareGreaterEqual},
    {"ADD_N", PrepareAddN},
    {"SELECT_V2", PrepareSelect},
};

}  // namespace

std::span<const KernelEntry> BinaryKernels() { return kBinaryKernels; }

}  // namespace neap::execute::tflite
