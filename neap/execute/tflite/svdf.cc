// SPDX-License-Identifier: Apache-2.0
//
// SVDF: filters over the last inputs, each of rank one (features times time), summed in groups.
#include <algorithm>
#include <utility>
#include <vector>

#include "neap/execute/loops/conv.h"
#include "neap/execute/tflite/lstm.h"
#include "neap/execute/tflite/quantized.h"

namespace neap::execute::tflite {
namespace {

using enum graph::ElementType;

enum SvdfInput : std::size_t { kFeatures = 1, kTimes = 2, kBias = 3, kMemory = 4, kSvdfInputs = 5 };

struct SvdfPlan {
  std::int64_t batches = 0;
  std::int64_t width = 0;
  std::int64_t filters = 0;
  std::int64_t memory = 0;  // inputs back
  std::int64_t rank = 0;    // filters of one output
  bool has_bias = false;
};

Result<SvdfPlan> PlanSvdf(const Node& node) {
  NEAP_CHECK_OK(RequireOperands(node, 3, kSvdfInputs));
  NEAP_CHECK_OK(Require(node.Has(kMemory) && node.In(0).Rank() == 2 &&
                            node.In(kFeatures).Rank() == 2 && node.In(kTimes).Rank() == 2,
                        "does not have the inputs of its type"));
  SvdfPlan plan;
  plan.batches = node.In(0).shape[0];
  plan.width = node.In(0).shape[1];
  plan.filters = node.In(kFeatures).shape[0];
  plan.memory = node.In(kTimes).shape[1];
  plan.rank = IntOr(*node.op, "rank", 0);
  plan.has_bias = node.Has(kBias);
  const bool counts = plan.rank > 0 && plan.memory > 0 && plan.filters % plan.rank == 0;
  NEAP_CHECK_OK(
      Require(counts && node.In(kFeatures).shape[1] == plan.width &&
                  node.In(kTimes).shape[0] == plan.filters &&
                  node.In(kMemory).elements == plan.batches * plan.filters * plan.memory &&
                  (!plan.has_bias || node.In(kBias).elements == plan.filters / plan.rank) &&
                  node.Out().elements == plan.batches * (plan.filters / plan.rank),
              "its inputs and its output do not fit together"));
  return plan;
}

// out = finish(bias + sum of times * memory), where the memory moves by one and ends with
// feature(sum of features * input).
template <typename In, typename State, typename Acc, typename Feature, typename Finish>
RunKernel MakeSvdf(const SvdfPlan& plan, Acc in_zero, Feature feature, Finish finish) {
  return [=](const Arguments& arguments) -> Status {
    auto* out = Output<In>(arguments);
    std::vector<Acc> sums(static_cast<std::size_t>(plan.filters));
    for (std::int64_t n = 0; n < plan.batches; ++n) {
      const auto* const row = Input<In>(arguments, 0) + n * plan.width;
      for (std::int64_t f = 0; f < plan.filters; ++f) {
        const Acc latest = feature(Dot<Acc>(row, Input<In>(arguments, kFeatures) + f * plan.width,
                                            plan.width, in_zero, Acc{0}, Acc{0}));
        const auto* const times = Input<State>(arguments, kTimes) + f * plan.memory;
        const auto* const old =
            Input<State>(arguments, kMemory) + (n * plan.filters + f) * plan.memory;
        const Acc sum = Dot<Acc>(old + 1, times, plan.memory - 1, Acc{0}, Acc{0}, Acc{0});
        sums[static_cast<std::size_t>(f)] =
            MultiplyAdd<Acc>(sum, latest, static_cast<Acc>(times[plan.memory - 1].value));
      }
      for (std::int64_t u = 0; u < plan.filters / plan.rank; ++u) {
        Acc sum = plan.has_bias ? Input<Acc>(arguments, kBias)[u].value : Acc{0};
        for (std::int64_t r = 0; r < plan.rank; ++r) {
          sum = MultiplyAdd<Acc>(sum, sums[static_cast<std::size_t>(u * plan.rank + r)], Acc{1});
        }
        (out++)->value = finish(sum);
      }
    }
    return {};
  };
}

Result<RunKernel> QuantizedSvdf(const Node& node, const SvdfPlan& plan) {
  const bool types = node.In(kFeatures).type == kInt8 && node.In(kTimes).type == kInt16 &&
                     node.In(kMemory).type == kInt16 && node.Out().type == kInt8 &&
                     (!plan.has_bias || node.In(kBias).type == kInt32);
  // The stock kernels have no other activation, and leave it to the output's range.
  if (!types || IntOr(*node.op, "fused_activation_function", kNone) != kRelu) {
    return UnsupportedType(node);
  }
  NEAP_TRY(const Quant in, QuantOf(node.In(0)));
  NEAP_TRY(const Quant features, QuantOf(node.In(kFeatures)));
  NEAP_TRY(const Quant times, QuantOf(node.In(kTimes)));
  NEAP_TRY(const Quant memory, QuantOf(node.In(kMemory)));
  NEAP_TRY(const Quant out, QuantOf(node.Out()));
  NEAP_CHECK_OK(Require(features.zero == 0 && times.zero == 0 && memory.zero == 0,
                        "expected weights and a memory with zero point 0"));
  const FixedFactor to_memory =
      MakeFixedFactor(static_cast<double>(in.scale * features.scale / memory.scale));
  const FixedFactor to_out =
      MakeFixedFactor(static_cast<double>(memory.scale * times.scale / out.scale));
  return MakeSvdf<std::int8_t, std::int16_t, std::int32_t>(
      plan, in.zero,
      [to_memory](std::int32_t sum) { return std::clamp(Scale(sum, to_memory), -32768, 32767); },
      [to_out, zero = out.zero](std::int32_t sum) {
        return static_cast<std::int8_t>(std::clamp(WrapAdd(Scale(sum, to_out), zero), -128, 127));
      });
}

}  // namespace

Result<RunKernel> PrepareSvdf(const Node& node) {
  NEAP_TRY(const SvdfPlan plan, PlanSvdf(node));
  if (node.In(0).type == kInt8) return QuantizedSvdf(node, plan);
  bool floats = node.Out().type == kFloat32;
  for (const Operand& input : node.inputs) {
    floats = floats && (!input.present || input.type == kFloat32);
  }
  if (!floats) return UnsupportedType(node);
  NEAP_TRY(const auto limits, FloatLimits(*node.op));
  return MakeSvdf<float, float, float>(
      plan, 0.0F, [](float sum) { return sum; }, limits);
}

}  // namespace neap::execute::tflite
