// SPDX-License-Identifier: Apache-2.0
//
// Operators of the domain "neap", which no file has: partial convolutions (neap/rewrite, rule
// channel-wise).
//
// ACCUMULATE: inputs accumulator (absent in the first part), data, weights, bias (absent but in the
//   last part); output accumulator, or the result. Attributes: those of CONV_2D or Conv, "layout"
//   ("channels last": CONV_2D, "channels first": Conv), "last".
//     float32 data: out = accumulator + sum; the last part adds the bias and applies the
//     activation. 8-bit data, int32 output: out = accumulator + sum, modulo 2^32. 8-bit data, 8-bit
//     output: out = accumulator + sum in real numbers, rounded to the steps of
//       the output.
// REQUANTIZE: inputs accumulator (int32), weights (for their scales), bias; output the result.
//   Attributes: those of CONV_2D, "input_scale". The arithmetic that follows the sum in CONV_2D.
//
// Element i of the accumulator is read before element i of the output is written, and never later:
// the output may overlap it.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "neap/execute/families.h"
#include "neap/execute/loops/conv_first.h"
#include "neap/execute/onnx/common.h"
#include "neap/execute/tflite/quantized.h"

namespace neap::execute {
namespace {

using enum graph::ElementType;
using tflite::Limits;

constexpr std::size_t kAccumulator = 0;
constexpr std::size_t kData = 1;
constexpr std::size_t kWeights = 2;
constexpr std::size_t kBias = 3;

// The convolution of data and weights to the output.
Node ConvolutionOf(const Node& node) {
  Node conv = node;
  conv.inputs = {node.In(kData), node.In(kWeights)};
  return conv;
}

bool IsByte(graph::ElementType type) { return type == kInt8 || type == kUint8; }

struct Layout {
  ConvPlan plan;
  bool last = false;  // channels last
};

Result<Layout> LayoutOf(const Node& node) {
  Layout layout;
  layout.last = TextOr(*node.op, "layout", "channels last") == "channels last";
  const Node conv = ConvolutionOf(node);
  if (layout.last) {
    NEAP_TRY(layout.plan, tflite::PlanConv(conv));
  } else {
    NEAP_TRY(layout.plan, onnx::PlanConv(conv, node.In(kData), node.In(kWeights)));
  }
  return layout;
}

Result<Limits<float>> ActivationOf(const Node& node, bool last) {
  if (!last) return Limits<float>{-INFINITY, INFINITY};
  return tflite::FloatLimits(*node.op);
}

Result<RunKernel> FloatPart(const Node& node, const Layout& layout, bool last) {
  NEAP_CHECK_OK(RequireType(node.In(kWeights), kFloat32));
  NEAP_CHECK_OK(RequireType(node.Out(), kFloat32));
  NEAP_TRY(const Limits<float> limits, ActivationOf(node, last));
  const bool has_sum = node.Has(kAccumulator);
  const bool has_bias = node.Has(kBias);
  return RunKernel([=](const Arguments& arguments) -> Status {
    const auto* const sums = has_sum ? Input<float>(arguments, kAccumulator) : nullptr;
    const auto* const bias = has_bias ? Input<float>(arguments, kBias) : nullptr;
    std::int64_t at = 0;  // outputs come in their order
    const auto stage = [&](float sum, std::int64_t channel) {
      if (sums != nullptr) sum = sums[at].value + sum;
      ++at;
      return limits(bias == nullptr ? sum : sum + bias[channel].value);
    };
    if (layout.last) {
      ConvChannelsLast<float, float, float>(layout.plan, Input<float>(arguments, kData),
                                            Input<float>(arguments, kWeights), 0.0F, 0.0F,
                                            Output<float>(arguments), stage);
    } else {
      ConvChannelsFirst<float, float, float>(
          layout.plan, Input<float>(arguments, kData), Input<float>(arguments, kWeights), 0.0F,
          [](std::int64_t) { return 0.0F; }, Output<float>(arguments), stage);
    }
    return {};
  });
}

struct Zeros {
  std::int32_t data = 0;
  std::int32_t weights = 0;
};

template <typename Data, typename Out, typename MakeStage>
RunKernel ByteKernel(const ConvPlan& plan, Zeros zeros, MakeStage make_stage) {
  return [=](const Arguments& arguments) -> Status {
    std::int64_t at = 0;
    const auto stage = make_stage(arguments);
    ConvChannelsLast<Data, Data, std::int32_t>(
        plan, Input<Data>(arguments, kData), Input<Data>(arguments, kWeights), zeros.data,
        zeros.weights, Output<Out>(arguments),
        [&](std::int32_t sum, std::int64_t channel) { return stage(sum, channel, at++); });
    return {};
  };
}

template <typename Data>
RunKernel WidePart(const ConvPlan& plan, Zeros zeros, bool has_sum) {
  return ByteKernel<Data, std::int32_t>(plan, zeros, [has_sum](const Arguments& arguments) {
    const auto* const sums = has_sum ? Input<std::int32_t>(arguments, kAccumulator) : nullptr;
    return [sums](std::int32_t sum, std::int64_t /*channel*/, std::int64_t at) {
      return sums == nullptr ? sum : WrapAdd(sums[at].value, sum);
    };
  });
}

// Real numbers of one part in steps of the output.
struct Steps {
  std::vector<double> of_sum;          // of the products, by channel
  std::vector<double> of_accumulator;  // by channel
  std::vector<double> of_out;
  std::int32_t out_zero = 0;
  Limits<std::int32_t> limits = {-128, 127};
};

Result<std::vector<double>> WideScales(const Operand& operand, std::int64_t channels) {
  NEAP_TRY(const auto scales, tflite::ChannelScales(operand, channels));
  return std::vector<double>(scales.begin(), scales.end());
}

Result<Steps> StepsOf(const Node& node, std::int64_t channels, bool last) {
  Steps steps;
  NEAP_TRY(const tflite::Quant data, tflite::QuantOf(node.In(kData)));
  NEAP_TRY(steps.of_sum, WideScales(node.In(kWeights), channels));
  for (double& scale : steps.of_sum) scale *= static_cast<double>(data.scale);
  if (node.Has(kAccumulator)) {
    NEAP_TRY(steps.of_accumulator, WideScales(node.In(kAccumulator), channels));
  }
  NEAP_TRY(steps.of_out, WideScales(node.Out(), channels));
  if (!last) return steps;
  NEAP_TRY(const tflite::Quant out, tflite::QuantOf(node.Out()));
  steps.out_zero = out.zero;
  NEAP_TRY(steps.limits, tflite::QuantizedLimits(*node.op, node.Out()));
  return steps;
}

template <typename Data, typename Out>
RunKernel NarrowPart(const ConvPlan& plan, Zeros zeros, const Steps& steps, bool has_sum,
                     bool has_bias) {
  return ByteKernel<Data, Out>(plan, zeros, [=](const Arguments& arguments) {
    const auto* const sums = has_sum ? Input<std::int8_t>(arguments, kAccumulator) : nullptr;
    const auto* const bias = has_bias ? Input<std::int32_t>(arguments, kBias) : nullptr;
    return [&steps, sums, bias](std::int32_t sum, std::int64_t channel, std::int64_t at) {
      const auto c = static_cast<std::size_t>(channel);
      double real = static_cast<double>(sum);
      if (bias != nullptr) real += static_cast<double>(bias[channel].value);
      real *= steps.of_sum[c];
      if (sums != nullptr) {
        real += static_cast<double>(static_cast<std::int32_t>(sums[at].value)) *
                steps.of_accumulator[c];
      }
      const double rounded = std::nearbyint(real / steps.of_out[c]) + steps.out_zero;
      const double low = steps.limits.low;
      const double high = steps.limits.high;
      return static_cast<Out>(static_cast<std::int32_t>(std::clamp(rounded, low, high)));
    };
  });
}

template <typename Data>
Result<RunKernel> BytePart(const Node& node, const Layout& layout, Zeros zeros, bool last) {
  const bool has_sum = node.Has(kAccumulator);
  const bool has_bias = node.Has(kBias);
  if (node.Out().type == kInt32) {
    NEAP_CHECK_OK(Require(!has_bias, "an accumulator of 32 bits has no bias"));
    if (has_sum) NEAP_CHECK_OK(RequireType(node.In(kAccumulator), kInt32));
    return WidePart<Data>(layout.plan, zeros, has_sum);
  }
  if (has_sum) NEAP_CHECK_OK(RequireType(node.In(kAccumulator), kInt8));
  NEAP_TRY(const Steps steps, StepsOf(node, layout.plan.OutputChannels(), last));
  if (node.Out().type == kInt8) {
    return NarrowPart<Data, std::int8_t>(layout.plan, zeros, steps, has_sum, has_bias);
  }
  if (node.Out().type == kUint8) {
    return NarrowPart<Data, std::uint8_t>(layout.plan, zeros, steps, has_sum, has_bias);
  }
  return UnsupportedType(node);
}

Result<RunKernel> PrepareAccumulate(const Node& node) {
  const bool there = node.inputs.size() == 4 && node.Has(kData) && node.Has(kWeights) &&
                     node.outputs.size() == 1 && node.Out().present;
  NEAP_CHECK_OK(Require(there, "expected data, weights and an output"));
  NEAP_TRY(const Layout layout, LayoutOf(node));
  if (node.Has(kAccumulator)) {
    NEAP_CHECK_OK(RequireShape(node.In(kAccumulator), node.Out().shape));
  }
  NEAP_CHECK_OK(Require(!node.Has(kBias) || node.In(kBias).elements == layout.plan.OutputChannels(),
                        "expected one bias for each output channel"));
  const bool last = IntOr(*node.op, "last", 0) != 0;
  const graph::ElementType type = node.In(kData).type;
  if (type == kFloat32) {
    if (node.Has(kAccumulator)) NEAP_CHECK_OK(RequireType(node.In(kAccumulator), kFloat32));
    if (node.Has(kBias)) NEAP_CHECK_OK(RequireType(node.In(kBias), kFloat32));
    return FloatPart(node, layout, last);
  }
  if (!IsByte(type) || !layout.last || node.In(kWeights).type != type) return UnsupportedType(node);
  if (node.Has(kBias)) NEAP_CHECK_OK(RequireType(node.In(kBias), kInt32));
  NEAP_TRY(const tflite::Quant data, tflite::QuantOf(node.In(kData)));
  NEAP_TRY(const std::int32_t weight_zero, tflite::WeightZero(node.In(kWeights)));
  const Zeros zeros = {data.zero, weight_zero};
  return type == kInt8 ? BytePart<std::int8_t>(node, layout, zeros, last)
                       : BytePart<std::uint8_t>(node, layout, zeros, last);
}

template <typename Out>
RunKernel ResultKernel(std::vector<FixedFactor> factors, std::int32_t zero,
                       Limits<std::int32_t> limits, bool has_bias, std::int64_t elements) {
  return [=, factors = std::move(factors)](const Arguments& arguments) -> Status {
    const auto* const sums = Input<std::int32_t>(arguments, 0);
    const auto* const bias = has_bias ? Input<std::int32_t>(arguments, 2) : nullptr;
    const auto channels = static_cast<std::int64_t>(factors.size());
    for (std::int64_t i = 0; i < elements; ++i) {
      const std::int64_t channel = i % channels;
      std::int32_t sum = sums[i].value;
      if (bias != nullptr) sum = WrapAdd(sum, bias[channel].value);
      const std::int32_t scaled = Scale(sum, factors[static_cast<std::size_t>(channel)]);
      Output<Out>(arguments)[i].value = static_cast<Out>(limits(WrapAdd(scaled, zero)));
    }
    return {};
  };
}

Result<RunKernel> PrepareResult(const Node& node) {
  NEAP_CHECK_OK(RequireOperands(node, 2, 3));
  NEAP_CHECK_OK(RequireType(node.In(0), kInt32));
  NEAP_CHECK_OK(RequireShape(node.In(0), node.Out().shape));
  const std::int64_t channels = node.Out().shape.empty() ? 0 : node.Out().shape.back();
  NEAP_CHECK_OK(Require(channels > 0, "expected channels"));
  const bool has_bias = node.Has(2);
  NEAP_CHECK_OK(Require(!has_bias || (node.In(2).type == kInt32 && node.In(2).elements == channels),
                        "expected one bias of 32 bits for each output channel"));
  NEAP_TRY(const tflite::Quant out, tflite::QuantOf(node.Out()));
  NEAP_TRY(const auto scales, tflite::ChannelScales(node.In(1), channels));
  NEAP_TRY(const auto limits, tflite::QuantizedLimits(*node.op, node.Out()));
  const double input_scale = RealOr(*node.op, "input_scale", 1);
  std::vector<FixedFactor> factors;
  for (const float scale : scales) {
    // As CONV_2D: the scales of uint8 are multiplied in single precision.
    const double product = node.Out().type == kUint8
                               ? static_cast<double>(static_cast<float>(input_scale) * scale)
                               : input_scale * static_cast<double>(scale);
    factors.push_back(MakeFixedFactor(product / static_cast<double>(out.scale)));
  }
  const std::int64_t elements = node.Out().elements;
  if (node.Out().type == kInt8) {
    return ResultKernel<std::int8_t>(std::move(factors), out.zero, limits, has_bias, elements);
  }
  if (node.Out().type == kUint8) {
    return ResultKernel<std::uint8_t>(std::move(factors), out.zero, limits, has_bias, elements);
  }
  return UnsupportedType(node);
}

constexpr KernelEntry kKernels[] = {
    {"ACCUMULATE", PrepareAccumulate},
    {"REQUANTIZE", PrepareResult},
};

}  // namespace

std::span<const KernelEntry> NeapKernels() { return kKernels; }

}  // namespace neap::execute
