// SPDX-License-Identifier: Apache-2.0
//
// CONV_2D and DEPTHWISE_CONV_2D, TRANSPOSE_CONV.
#include <utility>

#include "neap/execute/families.h"
#include "neap/execute/loops/conv.h"
#include "neap/execute/tflite/quantized.h"

namespace neap::execute::tflite {
namespace {

using enum graph::ElementType;

struct FloatStage {
  const Cell<float>* bias;  // nullptr: none
  Limits<float> limits;
  float operator()(float sum, std::int64_t channel) const {
    return limits(bias == nullptr ? sum : sum + bias[channel].value);
  }
};

Result<ConvPlan> PlanDepthwise(const Node& node) {
  const Operand& input = node.In(0);
  const Operand& filter = node.In(1);
  const Operand& output = node.Out();
  NEAP_CHECK_OK(Require(filter.Rank() == 4 && filter.shape[0] == 1, "expected a filter [1,h,w,c]"));
  ConvPlan plan;
  NEAP_TRY(plan.window, MakeWindow(*node.op, input, output, filter.shape[1], filter.shape[2]));
  plan.batches = input.shape[0];
  plan.group_inputs = 1;
  plan.groups = input.shape[3];
  NEAP_CHECK_OK(Require(
      plan.groups > 0 && output.shape[3] % plan.groups == 0 && filter.shape[3] == output.shape[3],
      "the channels of input, filter and output do not fit together"));
  plan.group_outputs = output.shape[3] / plan.groups;
  return plan;
}

Status RequireBias(const Node& node, std::int64_t channels) {
  return Require(!node.Has(2) || node.In(2).elements == channels,
                 "expected one bias for each output channel");
}

Result<RunKernel> FloatConv(const Node& node, const ConvPlan& plan, bool depthwise) {
  NEAP_TRY(const auto limits, FloatLimits(*node.op));
  NEAP_CHECK_OK(Require(!node.Has(2) || node.In(2).type == kFloat32, "expected a float32 bias"));
  const bool has_bias = node.Has(2);
  return RunKernel([=](const Arguments& arguments) -> Status {
    const FloatStage stage{has_bias ? Input<float>(arguments, 2) : nullptr, limits};
    const auto* const input = Input<float>(arguments, 0);
    const auto* const filter = Input<float>(arguments, 1);
    auto* const output = Output<float>(arguments);
    if (depthwise) {
      DepthwiseChannelsLast<float, float, float, float>(plan, input, filter, 0.0F, 0.0F, output,
                                                        stage);
    } else {
      ConvChannelsLast<float, float, float, float>(plan, input, filter, 0.0F, 0.0F, output, stage);
    }
    return {};
  });
}

Result<RunKernel> PrepareAnyConv(const Node& node, bool depthwise) {
  NEAP_CHECK_OK(RequireOperands(node, 2, 3));
  NEAP_TRY(const ConvPlan plan, depthwise ? PlanDepthwise(node) : PlanConv(node));
  NEAP_CHECK_OK(RequireBias(node, plan.OutputChannels()));
  const graph::ElementType type = node.In(0).type;
  if (type == kFloat32 && node.In(1).type == kFloat32 && node.Out().type == kFloat32) {
    return FloatConv(node, plan, depthwise);
  }
  if (type == kFloat32 && node.In(1).type == kInt8 && !depthwise) return HybridConv(node, plan);
  if (IsQuantizedType(type)) return QuantizedConv(node, plan, depthwise);
  return UnsupportedType(node);
}

Result<RunKernel> PrepareConv(const Node& node) { return PrepareAnyConv(node, false); }
Result<RunKernel> PrepareDepthwise(const Node& node) { return PrepareAnyConv(node, true); }

constexpr KernelEntry kConvKernels[] = {
    {"CONV_2D", PrepareConv},
    {"DEPTHWISE_CONV_2D", PrepareDepthwise},
};

}  // namespace

Result<ConvPlan> PlanConv(const Node& node) {
  const Operand& input = node.In(0);
  const Operand& filter = node.In(1);
  const Operand& output = node.Out();
  NEAP_CHECK_OK(Require(filter.Rank() == 4, "expected a filter of rank 4"));
  ConvPlan plan;
  NEAP_TRY(plan.window, MakeWindow(*node.op, input, output, filter.shape[1], filter.shape[2]));
  plan.batches = input.shape[0];
  plan.group_inputs = filter.shape[3];
  NEAP_CHECK_OK(Require(plan.group_inputs > 0 && input.shape[3] % plan.group_inputs == 0,
                        "the channels of its input are not a multiple of its filter's"));
  plan.groups = input.shape[3] / plan.group_inputs;
  NEAP_CHECK_OK(Require(
      plan.groups > 0 && filter.shape[0] % plan.groups == 0 && filter.shape[0] == output.shape[3],
      "the channels of its output are not those of its filter"));
  plan.group_outputs = filter.shape[0] / plan.groups;
  return plan;
}

std::span<const KernelEntry> ConvKernels() { return kConvKernels; }

}  // namespace neap::execute::tflite
