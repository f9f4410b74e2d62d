// SPDX-License-Identifier: Apache-2.0
//
// Operators of one operand element by element.
#include <cmath>
#include <cstdint>

#include "neap/execute/families.h"
#include "neap/execute/loops/elementwise.h"
#include "neap/execute/tflite/quantized.h"

namespace neap::execute::tflite {
namespace {

using enum graph::ElementType;

Status RequireOneSize(const Node& node) {
  NEAP_CHECK_OK(RequireOperands(node, 1, 1));
  return Require(node.In(0).elements == node.Out().elements,
                 "input and output have different numbers of elements");
}

template <typename F>
Result<RunKernel> FloatMap(const Node& node, F f) {
  NEAP_CHECK_OK(RequireOneSize(node));
  if (node.In(0).type != kFloat32 || node.Out().type != kFloat32) return UnsupportedType(node);
  return MapKernel<float, float>(node.Out().elements, f);
}

bool IsQuantizedMap(const Node& node) {
  return RequireOneSize(node) && IsQuantizedType(node.In(0).type);
}

float HardSwish(float x) { return x * Limits<float>{0, 6}(x + 3.0F) / 6.0F; }

// The stock kernels leave the formula where it is exp(x) or 1 to a float's eye, the first a little
// early: below -9 it would differ in a byte.
float LogisticInParts(float x) {
  constexpr float kLikeExp = -9;
  constexpr float kLikeOne = 16.61904716F;
  if (x > kLikeOne) return 1;
  return x < kLikeExp ? std::exp(x) : 1.0F / (1.0F + std::exp(-x));
}

Result<RunKernel> PrepareLogistic(const Node& node) {
  if (IsQuantizedMap(node)) return QuantizedLogistic(node);
  return FloatMap(node, LogisticInParts);
}
Result<RunKernel> PrepareTanh(const Node& node) {
  if (IsQuantizedMap(node)) return QuantizedTanh(node);
  return FloatMap(node, [](float x) { return std::tanh(x); });
}
Result<RunKernel> PrepareRelu(const Node& node) {
  if (IsQuantizedMap(node)) return QuantizedRelu(node, 0, std::numeric_limits<float>::infinity());
  return FloatMap(node, [](float x) { return x < 0 ? 0 : x; });
}
Result<RunKernel> PrepareRelu6(const Node& node) {
  if (IsQuantizedMap(node)) return QuantizedRelu(node, 0, 6);
  return FloatMap(node, Limits<float>{0, 6});
}
Result<RunKernel> PrepareReluN1(const Node& node) {
  if (IsQuantizedMap(node)) return QuantizedRelu(node, -1, 1);
  return FloatMap(node, Limits<float>{-1, 1});
}
Result<RunKernel> PrepareRelu01(const Node& node) { return FloatMap(node, Limits<float>{0, 1}); }
Result<RunKernel> PrepareHardSwish(const Node& node) {
  if (IsQuantizedMap(node)) return QuantizedHardSwish(node);
  return FloatMap(node, HardSwish);
}
Result<RunKernel> PrepareLeakyRelu(const Node& node) {
  const auto alpha = static_cast<float>(RealOr(*node.op, "alpha", 0));
  if (IsQuantizedMap(node)) return QuantizedLeakyRelu(node, alpha);
  return FloatMap(node, [alpha](float x) { return x > 0 ? x : x * alpha; });
}
Result<RunKernel> PrepareElu(const Node& node) {
  return FloatMap(node, [](float x) { return x < 0 ? std::expm1(x) : x; });
}
Result<RunKernel> PrepareGelu(const Node& node) {
  if (IntOr(*node.op, "approximate", 0) != 0) {
    return FloatMap(node, [](float x) {
      constexpr float kFactor = 0.7978845608028654F;  // sqrt(2 / pi)
      return 0.5F * x * (1.0F + std::tanh(kFactor * (x + 0.044715F * x * x * x)));
    });
  }
  return FloatMap(node, [](float x) { return 0.5F * x * (1.0F + std::erf(x * 0.70710678F)); });
}
Result<RunKernel> PrepareExp(const Node& node) {
  return FloatMap(node, [](float x) { return std::exp(x); });
}
Result<RunKernel> PrepareLog(const Node& node) {
  return FloatMap(node, [](float x) { return std::log(x); });
}
Result<RunKernel> PrepareSqrt(const Node& node) {
  return FloatMap(node, [](float x) { return std::sqrt(x); });
}
Result<RunKernel> PrepareRsqrt(const Node& node) {
  return FloatMap(node, [](float x) { return 1.0F / std::sqrt(x); });
}
Result<RunKernel> PrepareSin(const Node& node) {
  return FloatMap(node, [](float x) { return std::sin(x); });
}
Result<RunKernel> PrepareCos(const Node& node) {
  return FloatMap(node, [](float x) { return std::cos(x); });
}
Result<RunKernel> PrepareAbs(const Node& node) {
  return FloatMap(node, [](float x) { return std::fabs(x); });
}
Result<RunKernel> PrepareNeg(const Node& node) {
  return FloatMap(node, [](float x) { return -x; });
}
Result<RunKernel> PrepareSquare(const Node& node) {
  return FloatMap(node, [](float x) { return x * x; });
}
Result<RunKernel> PrepareFloor(const Node& node) {
  return FloatMap(node, [](float x) { return std::floor(x); });
}
Result<RunKernel> PrepareCeil(const Node& node) {
  return FloatMap(node, [](float x) { return std::ceil(x); });
}
Result<RunKernel> PrepareRound(const Node& node) {
  return FloatMap(node, [](float x) { return std::nearbyint(x); });
}

// out = x < 0 ? alpha * x : x, alpha broadcast.
Result<RunKernel> PreparePrelu(const Node& node) {
  NEAP_CHECK_OK(RequireOperands(node, 2, 2));
  for (const Operand* operand : {&node.In(0), &node.In(1), &node.Out()}) {
    if (operand->type != kFloat32) return UnsupportedType(node);
  }
  return BinaryKernel<float, float, float>(
      node, [](float x, float alpha) { return x >= 0 ? x : x * alpha; });
}

constexpr KernelEntry kUnaryKernels[] = {
    {"LOGISTIC", PrepareLogistic},
    {"TANH", PrepareTanh},
    {"RELU", PrepareRelu},
    {"RELU6", PrepareRelu6},
    {"RELU_N1_TO_1", PrepareReluN1},
    {"RELU_0_TO_1", PrepareRelu01},
    {"HARD_SWISH", PrepareHardSwish},
    {"LEAKY_RELU", PrepareLeakyRelu},
    {"ELU", PrepareElu},
    {"GELU", PrepareGelu},
    {"EXP", PrepareExp},
    {"LOG", PrepareLog},
    {"SQRT", PrepareSqrt},
    {"RSQRT", PrepareRsqrt},
    {"SIN", PrepareSin},
    {"COS", PrepareCos},
    {"ABS", PrepareAbs},
    {"NEG", PrepareNeg},
    {"SQUARE", PrepareSquare},
    {"FLOOR", PrepareFloor},
    {"CEIL", PrepareCeil},
    {"ROUND", PrepareRound},
    {"PRELU", PreparePrelu},
};

}  // namespace

std::span<const KernelEntry> UnaryKernels() { return kUnaryKernels; }

}  // namespace neap::execute::tflite
