// SPDX-License-Identifier: Apache-2.0
#include "neap/ops/traits.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <span>

namespace neap::ops {
namespace {

// Sorted, so that a look-up is a binary search; the test checks the order.
constexpr auto kOnnxElementwise = std::to_array<std::string_view>({
    "Abs",
    "Acos",
    "Acosh",
    "Add",
    "And",
    "Asin",
    "Asinh",
    "Atan",
    "Atanh",
    "BatchNormalization",
    "BiasGelu",
    "BitShift",
    "BitwiseAnd",
    "BitwiseNot",
    "BitwiseOr",
    "BitwiseXor",
    "Cast",
    "CastLike",
    "Ceil",
    "Celu",
    "Clip",
    "Cos",
    "Cosh",
    "DequantizeLinear",
    "Div",
    "Dropout",
    "Elu",
    "Equal",
    "Erf",
    "Exp",
    "FastGelu",
    "Floor",
    "Gelu",
    "Greater",
    "GreaterOrEqual",
    "HardSigmoid",
    "HardSwish",
    "IntegerDiv",
    "IsInf",
    "IsNaN",
    "LeakyRelu",
    "Less",
    "LessOrEqual",
    "Log",
    "Max",
    "Mean",
    "Min",
    "Mish",
    "Mod",
    "Mul",
    "Neg",
    "Not",
    "Or",
    "PRelu",
    "Pow",
    "QLinearAdd",
    "QLinearLeakyRelu",
    "QLinearMul",
    "QLinearSigmoid",
    "Quant",
    "QuantizeLinear",
    "QuickGelu",
    "Reciprocal",
    "Relu",
    "RequantShift",
    "Round",
    "Selu",
    "Shrink",
    "Sigmoid",
    "Sign",
    "Sin",
    "Sinh",
    "Softplus",
    "Softsign",
    "Sqrt",
    "Sub",
    "Sum",
    "Swish",
    "Tan",
    "Tanh",
    "ThresholdedRelu",
    "TrueIntegerDiv",
    "Where",
    "Xor",
    "iGELU",
    "iHardswish",
});

constexpr auto kTfliteElementwise = std::to_array<std::string_view>({
    "ABS",         "ADD",           "ADD_N",
    "ATAN2",       "BITWISE_XOR",   "CAST",
    "CEIL",        "COS",           "DEQUANTIZE",
    "DIV",         "ELU",           "EQUAL",
    "EXP",         "FAKE_QUANT",    "FLOOR",
    "FLOOR_DIV",   "FLOOR_MOD",     "GELU",
    "GREATER",     "GREATER_EQUAL", "HARD_SWISH",
    "LEAKY_RELU",  "LESS",          "LESS_EQUAL",
    "LOG",         "LOGICAL_AND",   "LOGICAL_NOT",
    "LOGICAL_OR",  "LOGISTIC",      "MAXIMUM",
    "MINIMUM",     "MUL",           "NEG",
    "NOT_EQUAL",   "POW",           "PRELU",
    "QUANTIZE",    "RELU",          "RELU6",
    "RELU_0_TO_1", "RELU_N1_TO_1",  "RIGHT_SHIFT",
    "ROUND",       "RSQRT",         "SELECT",
    "SELECT_V2",   "SIGN",          "SIN",
    "SQRT",        "SQUARE",        "SQUARED_DIFFERENCE",
    "SUB",         "TANH",          "ZEROS_LIKE",
});

constexpr auto kOnnxReshape = std::to_array<std::string_view>({
    "Flatten",
    "Identity",
    "Reshape",
    "Squeeze",
    "Unsqueeze",
});

constexpr auto kTfliteReshape = std::to_array<std::string_view>({
    "EXPAND_DIMS",
    "RESHAPE",
    "SQUEEZE",
});

constexpr auto kOnnxStateful = std::to_array<std::string_view>({
    "Bernoulli",
    "Multinomial",
    "RandomNormal",
    "RandomNormalLike",
    "RandomUniform",
    "RandomUniformLike",
});

constexpr auto kTfliteStateful = std::to_array<std::string_view>({
    "ASSIGN_VARIABLE",
    "CALL",
    "CALL_ONCE",
    "CUSTOM",
    "DELEGATE",
    "HASHTABLE",
    "HASHTABLE_FIND",
    "HASHTABLE_IMPORT",
    "HASHTABLE_LOOKUP",
    "HASHTABLE_SIZE",
    "MULTINOMIAL",
    "RANDOM_STANDARD_NORMAL",
    "RANDOM_UNIFORM",
    "READ_VARIABLE",
    "STABLEHLO_CUSTOM_CALL",
    "STABLEHLO_RNG_BIT_GENERATOR",
    "VAR_HANDLE",
});

bool Contains(std::span<const std::string_view> sorted, std::string_view name) {
  return std::binary_search(sorted.begin(), sorted.end(), name);
}

enum class Family : char { kOnnx, kTflite, kOther };

Family FamilyOf(std::string_view domain) {
  if (domain == "tflite") return Family::kTflite;
  if (domain == "custom" || domain == "json") return Family::kOther;
  return Family::kOnnx;
}

// A name means what the standard says only in the domains that Neap knows.
bool IsKnownOnnxDomain(std::string_view domain) {
  return domain.empty() || domain == "ai.onnx" || domain == "com.microsoft" ||
         domain == "PACTOps" || domain == "onnx.brevitas" || domain == "qonnx.custom_op.general" ||
         domain == "finn.custom_op.general";
}

}  // namespace

bool IsElementwise(const graph::Op& op) {
  switch (FamilyOf(op.domain)) {
    case Family::kTflite:
      return Contains(kTfliteElementwise, op.type);
    case Family::kOnnx:
      return IsKnownOnnxDomain(op.domain) && Contains(kOnnxElementwise, op.type);
    case Family::kOther:
      return false;
  }
  return false;
}

bool IsReshapeLike(const graph::Op& op) {
  switch (FamilyOf(op.domain)) {
    case Family::kTflite:
      return Contains(kTfliteReshape, op.type);
    case Family::kOnnx:
      return IsKnownOnnxDomain(op.domain) && Contains(kOnnxReshape, op.type);
    case Family::kOther:
      return false;
  }
  return false;
}

bool WritesOverFirstInput(const graph::Subgraph& subgraph, const graph::Op& op) {
  const graph::Tensor* input = graph::Operand(subgraph, op.inputs, 0);
  const graph::Tensor* output = graph::Operand(subgraph, op.outputs, 0);
  if (input == nullptr || output == nullptr || !input->shape || !output->shape) return false;
  if (op.domain == "neap" && op.type == "ACCUMULATE") {
    return std::count(op.inputs.begin(), op.inputs.end(), op.inputs[0]) == 1;
  }
  const auto elements = [](const graph::Tensor& tensor) {
    return std::accumulate(
        tensor.shape->begin(), tensor.shape->end(), std::uint64_t{1},
        [](std::uint64_t count, std::int64_t d) { return count * static_cast<std::uint64_t>(d); });
  };
  return (IsElementwise(op) || IsReshapeLike(op)) && elements(*input) == elements(*output);
}

bool IsStatefulType(std::string_view domain, std::string_view type) {
  switch (FamilyOf(domain)) {
    case Family::kTflite:
      return Contains(kTfliteStateful, type) || type.starts_with("BUILTIN_");
    case Family::kOnnx:
      return (domain.empty() || domain == "ai.onnx") && Contains(kOnnxStateful, type);
    case Family::kOther:
      return domain == "custom";
  }
  return false;
}

}  // namespace neap::ops
