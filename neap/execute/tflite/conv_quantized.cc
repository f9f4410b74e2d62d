// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "neap/execute/tflite/quantized.h"

namespace neap::execute::tflite {
namespace {

using enum graph::ElementType;

// From a sum of products to the output's integers.
template <typename Acc, typename Bias, typename Out>
struct QuantizedStage {
  const Cell<Bias>* bias;  // nullptr: none
  const FixedFactor* factors;
  std::int32_t zero;
  Limits<std::int32_t> limits;
  bool rounds_once;
  Out operator()(Acc sum, std::int64_t channel) const {
    if (bias != nullptr) sum = MultiplyAdd<Acc>(sum, Acc{1}, static_cast<Acc>(bias[channel].value));
    std::int32_t scaled = 0;
    if constexpr (std::is_same_v<Acc, std::int64_t>) {
      scaled = ScaleWide(sum, factors[channel]);
    } else {
      scaled = rounds_once ? ScaleOnce(sum, factors[channel]) : Scale(sum, factors[channel]);
    }
    return static_cast<Out>(limits(WrapAdd(scaled, zero)));
  }
};

struct Stages {
  std::vector<FixedFactor> factors;
  Quant in;
  Quant out;
  std::int32_t weight_zero = 0;
  Limits<std::int32_t> limits = {0, 0};
  bool has_bias = false;
  bool rounds_once = false;
};

Result<Stages> MakeStages(const Node& node, std::int64_t channels) {
  Stages stages;
  NEAP_TRY(stages.in, QuantOf(node.In(0)));
  NEAP_TRY(stages.out, QuantOf(node.Out()));
  NEAP_TRY(const auto scales, ChannelScales(node.In(1), channels));
  NEAP_TRY(stages.weight_zero, WeightZero(node.In(1)));
  NEAP_TRY(stages.limits, QuantizedLimits(*node.op, node.Out()));
  stages.has_bias = node.Has(2);
  // The stock kernels multiply the scales of uint8 in single precision.
  const bool single = node.In(0).type == kUint8;
  for (const float scale : scales) {
    const double product = single
                               ? static_cast<double>(stages.in.scale * scale)
                               : static_cast<double>(stages.in.scale) * static_cast<double>(scale);
    stages.factors.push_back(MakeFixedFactor(product / static_cast<double>(stages.out.scale)));
  }
  return stages;
}

template <typename In, typename Weight, typename Acc, typename Bias>
Result<RunKernel> MakeConv(const ConvPlan& plan, Stages stages, bool depthwise) {
  return RunKernel([plan, depthwise,
                    stages = std::move(stages)](const Arguments& arguments) -> Status {
    const QuantizedStage<Acc, Bias, In> stage{stages.has_bias ? Input<Bias>(arguments, 2) : nullptr,
                                              stages.factors.data(), stages.out.zero,
                                              stages.limits, stages.rounds_once};
    const auto* const input = Input<In>(arguments, 0);
    const auto* const filter = Input<Weight>(arguments, 1);
    const auto in_zero = static_cast<Acc>(stages.in.zero);
    const auto weight_zero = static_cast<Acc>(stages.weight_zero);
    if (depthwise) {
      DepthwiseChannelsLast<In, Weight, Acc>(plan, input, filter, in_zero, weight_zero,
                                             Output<In>(arguments), stage);
    } else {
      ConvChannelsLast<In, Weight, Acc>(plan, input, filter, in_zero, weight_zero,
                                        Output<In>(arguments), stage);
    }
    return {};
  });
}

Result<RunKernel> ForTypes(const Node& node, const ConvPlan& plan, Stages stages, bool depthwise) {
  const graph::ElementType type = node.In(0).type;
  const graph::ElementType weight = node.In(1).type;
  if (node.Out().type != type) return UnsupportedType(node);
  const bool narrow_bias = !node.Has(2) || node.In(2).type == kInt32;
  if (type == kInt8 && weight == kInt8 && narrow_bias) {
    return MakeConv<std::int8_t, std::int8_t, std::int32_t, std::int32_t>(plan, std::move(stages),
                                                                          depthwise);
  }
  if (type == kUint8 && weight == kUint8 && narrow_bias) {
    return MakeConv<std::uint8_t, std::uint8_t, std::int32_t, std::int32_t>(plan, std::move(stages),
                                                                            depthwise);
  }
  if (type == kInt16 && weight == kInt8) {
    if (!node.Has(2) || node.In(2).type == kInt64) {
      return MakeConv<std::int16_t, std::int8_t, std::int64_t, std::int64_t>(
          plan, std::move(stages), depthwise);
    }
    if (narrow_bias) {
      return MakeConv<std::int16_t, std::int8_t, std::int32_t, std::int32_t>(
          plan, std::move(stages), depthwise);
    }
  }
  return UnsupportedType(node);
}

}  // namespace

Result<RunKernel> QuantizedConv(const Node& node, const ConvPlan& plan, bool depthwise) {
  NEAP_TRY(Stages stages, MakeStages(node, plan.OutputChannels()));
  return ForTypes(node, plan, std::move(stages), depthwise);
}

Result<RunKernel> QuantizedFullyConnected(const Node& node, std::int64_t rows, std::int64_t depth,
                                          std::int64_t columns) {
  NEAP_TRY(Stages stages, MakeStages(node, columns));
  // LiteRT hands matrix products of int8 to a library that rounds once.
  stages.rounds_once = node.kernels != Kernels::kTflm && node.In(0).type == kInt8;
  // A matrix product is a convolution over one row of places.
  ConvPlan plan;
  plan.window.input[2] = rows;
  plan.window.output[2] = rows;
  plan.group_inputs = depth;
  plan.group_outputs = columns;
  return ForTypes(node, plan, std::move(stages), false);
}

}  // namespace neap::execute::tflite
