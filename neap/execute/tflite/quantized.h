// SPDX-License-Identifier: Apache-2.0
//
// Quantised operands of TensorFlow Lite. Private to neap/execute.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "neap/base/result.h"
#include "neap/execute/fixed_point.h"
#include "neap/execute/kernel.h"
#include "neap/execute/tflite/common.h"

namespace neap::execute::tflite {

using QuantizedTypes = TypeList<std::int8_t, std::uint8_t, std::int16_t>;

bool IsQuantizedType(graph::ElementType type);

// real = scale * (integer - zero).
struct Quant {
  float scale = 0;
  std::int32_t zero = 0;
};

// Of a tensor with one scale, whose zero point its type can hold. Fails otherwise.
Result<Quant> QuantOf(const Operand& operand);

// The scales of `count` output channels: one for each, or one for all.
Result<std::vector<float>> ChannelScales(const Operand& operand, std::int64_t count);

// Zero points of weights with a scale for each channel are all 0; the one of others.
Result<std::int32_t> WeightZero(const Operand& operand);

// The range of a quantised type, narrowed by the fused activation of `op`.
Result<Limits<std::int32_t>> QuantizedLimits(const graph::Op& op, const Operand& output);
Limits<std::int32_t> TypeLimits(graph::ElementType type);

// Integer nearest to `value`, half away from zero, where it fits; the nearest end elsewhere (and 0
// for a NaN).
std::int32_t RoundToInt(float value);

// out[i] = table[in[i]] for one-byte integers: f in real numbers, rounded to the output's scale.
template <typename F>
Result<RunKernel> TableKernel(const Node& node, F f) {
  NEAP_TRY(const Quant in, QuantOf(node.In(0)));
  NEAP_TRY(const Quant out, QuantOf(node.Out()));
  const bool is_signed = node.In(0).type == graph::ElementType::kInt8;
  const Limits<std::int32_t> limits = TypeLimits(node.Out().type);
  const float inverse_scale = 1.0F / out.scale;
  std::vector<std::uint8_t> table(256);
  for (std::int32_t i = 0; i < 256; ++i) {
    const std::int32_t value = is_signed ? static_cast<std::int8_t>(i) : i;
    const float real = in.scale * static_cast<float>(value - in.zero);
    const std::int32_t rounded = RoundToInt(f(real) * inverse_scale);
    table[static_cast<std::size_t>(i)] =
        static_cast<std::uint8_t>(limits(WrapAdd(rounded, out.zero)));
  }
  return RunKernel([table, elements = node.Out().elements](const Arguments& arguments) -> Status {
    const auto* const from = Input<std::uint8_t>(arguments, 0);
    for (std::int64_t i = 0; i < elements; ++i) {
      Output<std::uint8_t>(arguments)[i].value = table[from[i].value];
    }
    return {};
  });
}

// The geometry of CONV_2D: input 0, filter 1, output 0.
Result<ConvPlan> PlanConv(const Node& node);

// Kernels of one file each, called by those of the operator's family when its type is quantised.
Result<RunKernel> HybridConv(const Node& node, const ConvPlan& plan);
Result<RunKernel> QuantizedConv(const Node& node, const ConvPlan& plan, bool depthwise);
Result<RunKernel> QuantizedFullyConnected(const Node& node, std::int64_t rows, std::int64_t depth,
                                          std::int64_t columns);
enum class Sum : bool { kAdd, kSubtract };
Result<RunKernel> QuantizedSum(const Node& node, Sum sign);
Result<RunKernel> QuantizedMul(const Node& node);
Result<RunKernel> QuantizedConcat(const Node& node, std::int64_t axis);
Result<RunKernel> QuantizedSoftmax(const Node& node, std::int64_t rows, std::int64_t length);
Result<RunKernel> QuantizedLogistic(const Node& node);
Result<RunKernel> QuantizedTanh(const Node& node);
Result<RunKernel> QuantizedHardSwish(const Node& node);
Result<RunKernel> QuantizedRelu(const Node& node, float low, float high);
Result<RunKernel> QuantizedLeakyRelu(const Node& node, float alpha);

}  // namespace neap::execute::tflite
