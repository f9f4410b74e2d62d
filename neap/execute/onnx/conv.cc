// SPDX-License-Identifier: Apache-2.0
//
// Conv, ConvInteger, QLinearConv.
#include <algorithm>
#include <cmath>
#include <utility>

#include "neap/execute/families.h"
#include "neap/execute/loops/conv_first.h"
#include "neap/execute/onnx/common.h"

namespace neap::execute::onnx {
namespace {

using enum graph::ElementType;

Result<RunKernel> PrepareConv(const Node& node) {
  NEAP_CHECK_OK(RequireOperands(node, 2, 3));
  NEAP_TRY(const ConvPlan plan, PlanConv(node, node.In(0), node.In(1)));
  const graph::ElementType type = node.In(0).type;
  const bool has_bias = node.Has(2);
  NEAP_CHECK_OK(RequireType(node.In(1), type));
  NEAP_CHECK_OK(RequireType(node.Out(), type));
  NEAP_CHECK_OK(Require(
      !has_bias || (node.In(2).type == type && node.In(2).elements == plan.OutputChannels()),
      "expected one bias of its type for each output channel"));
  return ForType(FloatTypes(), type, node, [&](auto tag) -> Result<RunKernel> {
    using T = typename decltype(tag)::Type;
    return RunKernel([=](const Arguments& arguments) -> Status {
      const auto* const bias = has_bias ? Input<T>(arguments, 2) : nullptr;
      ConvChannelsFirst<T, T, T>(
          plan, Input<T>(arguments, 0), Input<T>(arguments, 1), T{0},
          [](std::int64_t) { return T{0}; }, Output<T>(arguments),
          [&](T sum, std::int64_t c) { return bias == nullptr ? sum : sum + bias[c].value; });
      return {};
    });
  });
}

using Bytes = TypeList<std::int8_t, std::uint8_t>;

// A zero point for the tensor or for each channel, in a run.
template <typename T>
std::int32_t ZeroAt(const Arguments& arguments, std::size_t input, std::int64_t count,
                    std::int64_t channel) {
  if (count == 0) return 0;
  return Input<T>(arguments, input)[count == 1 ? 0 : channel].value;
}

std::int64_t CountOf(const Node& node, std::size_t input) {
  return node.Has(input) ? node.In(input).elements : 0;
}

Result<RunKernel> PrepareConvInteger(const Node& node) {
  NEAP_CHECK_OK(RequireOperands(node, 2, 4));
  NEAP_TRY(const ConvPlan plan, PlanConv(node, node.In(0), node.In(1)));
  NEAP_CHECK_OK(RequireType(node.Out(), kInt32));
  const std::int64_t in_zeros = CountOf(node, 2);
  const std::int64_t filter_zeros = CountOf(node, 3);
  NEAP_CHECK_OK(
      Require(in_zeros <= 1 && (filter_zeros <= 1 || filter_zeros == plan.OutputChannels()),
              "its zero points are neither one nor one a channel"));
  for (std::size_t i = 2; i < 4; ++i) {
    if (node.Has(i)) NEAP_CHECK_OK(RequireType(node.In(i), node.In(i - 2).type));
  }
  return ForType(Bytes(), node.In(0).type, node, [&](auto in) {
    using In = typename decltype(in)::Type;
    return ForType(Bytes(), node.In(1).type, node, [&](auto weight) -> Result<RunKernel> {
      using Weight = typename decltype(weight)::Type;
      return RunKernel([=](const Arguments& arguments) -> Status {
        ConvChannelsFirst<In, Weight, std::int32_t>(
            plan, Input<In>(arguments, 0), Input<Weight>(arguments, 1),
            ZeroAt<In>(arguments, 2, in_zeros, 0),
            [&](std::int64_t c) { return ZeroAt<Weight>(arguments, 3, filter_zeros, c); },
            Output<std::int32_t>(arguments), [](std::int32_t sum, std::int64_t) { return sum; });
        return {};
      });
    });
  });
}

// Inputs: x, its scale and zero point; w, its; the output's; bias.
Result<RunKernel> PrepareQLinearConv(const Node& node) {
  NEAP_CHECK_OK(RequireOperands(node, 8, 9));
  NEAP_TRY(const ConvPlan plan, PlanConv(node, node.In(0), node.In(3)));
  const std::int64_t channels = plan.OutputChannels();
  const std::int64_t scales = node.In(4).elements;
  const std::int64_t zeros = node.In(5).elements;
  const bool has_bias = node.Has(8);
  bool ok = node.In(1).elements == 1 && node.In(2).elements == 1 && node.In(6).elements == 1 &&
            node.In(7).elements == 1 && (scales == 1 || scales == channels) &&
            (zeros == 1 || zeros == channels) && node.In(2).type == node.In(0).type &&
            node.In(5).type == node.In(3).type && node.In(7).type == node.Out().type &&
            node.In(0).type == node.Out().type;
  for (const std::size_t i : {1U, 4U, 6U}) ok = ok && node.In(i).type == kFloat32;
  ok = ok && (!has_bias || (node.In(8).type == kInt32 && node.In(8).elements == channels));
  NEAP_CHECK_OK(Require(ok, "has no kernel for its scales and zero points"));
  return ForType(Bytes(), node.In(0).type, node, [&](auto in) {
    using T = typename decltype(in)::Type;
    return ForType(Bytes(), node.In(3).type, node, [&](auto weight) -> Result<RunKernel> {
      using Weight = typename decltype(weight)::Type;
      return RunKernel([=](const Arguments& arguments) -> Status {
        const float in_scale = Input<float>(arguments, 1)->value;
        const float out_scale = Input<float>(arguments, 6)->value;
        const auto out_zero = static_cast<float>(Input<T>(arguments, 7)->value);
        const auto stage = [&](std::int32_t sum, std::int64_t c) {
          if (has_bias) sum = MultiplyAdd(sum, 1, Input<std::int32_t>(arguments, 8)[c].value);
          const float scale =
              in_scale * Input<float>(arguments, 4)[scales == 1 ? 0 : c].value / out_scale;
          const float value = std::nearbyint(static_cast<float>(sum) * scale) + out_zero;
          return static_cast<T>(std::clamp(value, static_cast<float>(std::numeric_limits<T>::min()),
                                           static_cast<float>(std::numeric_limits<T>::max())));
        };
        ConvChannelsFirst<T, Weight, std::int32_t>(
            plan, Input<T>(arguments, 0), Input<Weight>(arguments, 3),
            ZeroAt<T>(arguments, 2, 1, 0),
            [&](std::int64_t c) { return ZeroAt<Weight>(arguments, 5, zeros, c); },
            Output<T>(arguments), stage);
        return {};
      });
    });
  });
}

// Each output place sums the inputs whose windows reach it.
template <typename T>
void Transposed(const ConvPlan& plan, const Within& part, const Cell<T>* input,
                const Cell<T>* filter, const Cell<T>* bias, Cell<T>* output) {
  const Window& w = plan.window;
  const std::int64_t in_rows = part.in[0].size();
  const std::int64_t in_columns = part.in[1].size();
  const std::int64_t image = w.input[0] * in_rows * in_columns;
  const std::int64_t taps = Volume(w.kernel);
  const std::int64_t out_rows = part.out[0].size();
  const std::int64_t out_columns = part.out[1].size();
  const std::int64_t places = w.output[0] * out_rows * out_columns;
  // The input index that cell k reaches output place o from; -1: none.
  const auto source = [&](std::size_t d, std::int64_t o, std::int64_t k) {
    const std::int64_t at = o + w.pad[d] - k * w.dilation[d];
    if (at < 0 || at % w.stride[d] != 0 || at / w.stride[d] >= w.input[d]) return std::int64_t{-1};
    return at / w.stride[d];
  };
  for (std::int64_t n = 0; n < plan.batches; ++n, input += image * plan.InputChannels()) {
    for (std::int64_t c = 0; c < plan.OutputChannels(); ++c) {
      const std::int64_t group = c / plan.group_outputs;
      for (std::int64_t o = 0; o < places; ++o) {
        const std::int64_t place[] = {o / (out_rows * out_columns),
                                      o / out_columns % out_rows + part.out[0].first,
                                      o % out_columns + part.out[1].first};
        T sum = bias == nullptr ? T{0} : bias[c].value;
        for (std::int64_t k = 0; k < taps; ++k) {
          const std::int64_t z = source(0, place[0], k / (w.kernel[1] * w.kernel[2]));
          const std::int64_t y = source(1, place[1], k / w.kernel[2] % w.kernel[1]);
          const std::int64_t x = source(2, place[2], k % w.kernel[2]);
          if (z < 0 || y < 0 || x < 0) continue;
          const std::int64_t at =
              (z * in_rows + y - part.in[0].first) * in_columns + x - part.in[1].first;
          for (std::int64_t i = 0; i < plan.group_inputs; ++i) {
            const std::int64_t channel = group * plan.group_inputs + i;
            const std::int64_t tap =
                (channel * plan.group_outputs + c % plan.group_outputs) * taps + k;
            sum += input[channel * image + at].value * filter[tap].value;
          }
        }
        (output++)->value = sum;
      }
    }
  }
}

Result<RunKernel> PrepareConvTranspose(const Node& node) {
  NEAP_CHECK_OK(RequireOperands(node, 2, 3));
  const Operand& input = node.In(0);
  const Operand& filter = node.In(1);
  const Operand& output = node.Out();
  const std::size_t rank = filter.Rank() < 3 ? 0 : filter.Rank() - 2;
  NEAP_CHECK_OK(
      Require(rank >= 1 && rank <= kSpace && input.Rank() == rank + 2 && output.Rank() == rank + 2,
              "has no kernel for its rank"));
  const auto strides = IntsOr(*node.op, "strides", std::vector<std::int64_t>(rank, 1));
  const auto dilations = IntsOr(*node.op, "dilations", std::vector<std::int64_t>(rank, 1));
  const auto pads = IntsOr(*node.op, "pads", std::vector<std::int64_t>(2 * rank, 0));
  const auto extra = IntsOr(*node.op, "output_padding", std::vector<std::int64_t>(rank, 0));
  const std::string automatic = TextOr(*node.op, "auto_pad", "NOTSET");
  const bool sized = HasAttribute(*node.op, "output_shape") || automatic.starts_with("SAME");
  NEAP_CHECK_OK(Require(strides.size() == rank && dilations.size() == rank &&
                            pads.size() == 2 * rank && extra.size() == rank,
                        "strides, dilations or pads have another rank"));
  ConvPlan plan;
  Window& w = plan.window;
  for (std::size_t i = 0; i < rank; ++i) {
    const std::size_t d = kSpace - rank + i;
    constexpr std::int64_t kMax = std::int64_t{1} << 28;
    w.input[d] = input.shape[i + 2];
    w.output[d] = output.shape[i + 2];
    w.kernel[d] = filter.shape[i + 2];
    w.stride[d] = strides[i];
    w.dilation[d] = dilations[i];
    NEAP_CHECK_OK(Require(strides[i] >= 1 && strides[i] < kMax && dilations[i] >= 1 &&
                              dilations[i] < kMax && std::abs(pads[i]) < kMax &&
                              w.input[d] < kMax && w.output[d] < kMax && w.kernel[d] < kMax &&
                              extra[i] >= 0 && extra[i] < kMax,
                          "its window is out of range"));
    w.pad[d] = pads[i];
    if (sized) {
      const std::int64_t total =
          std::max<std::int64_t>(strides[i] * (w.input[d] - 1) + extra[i] +
                                     (w.kernel[d] - 1) * dilations[i] + 1 - w.output[d],
                                 0);
      w.pad[d] = automatic == "SAME_UPPER" ? total / 2 : total - total / 2;
    }
  }
  plan.batches = input.shape[0];
  plan.groups = IntOr(*node.op, "group", 1);
  plan.group_outputs = filter.shape[1];
  NEAP_CHECK_OK(
      Require(plan.groups >= 1 && plan.groups < 1 << 28 && plan.group_outputs >= 1 &&
                  input.shape[1] % plan.groups == 0 && filter.shape[0] == input.shape[1] &&
                  output.shape[1] == plan.OutputChannels() && output.shape[0] == input.shape[0],
              "the channels of input, weights and output do not fit together"));
  plan.group_inputs = input.shape[1] / plan.groups;
  const bool has_bias = node.Has(2);
  NEAP_CHECK_OK(RequireType(filter, input.type));
  NEAP_CHECK_OK(RequireType(output, input.type));
  NEAP_CHECK_OK(Require(
      !has_bias || (node.In(2).type == input.type && node.In(2).elements == plan.OutputChannels()),
      "expected one bias of its type for each output channel"));
  const Within whole{{{0, w.output[1]}, {0, w.output[2]}}, {{0, w.input[1]}, {0, w.input[2]}}};
  const Within part = node.within.value_or(whole);
  return ForType(FloatTypes(), input.type, node, [&](auto tag) -> Result<RunKernel> {
    using T = typename decltype(tag)::Type;
    return RunKernel([=](const Arguments& arguments) -> Status {
      Transposed<T>(plan, part, Input<T>(arguments, 0), Input<T>(arguments, 1),
                    has_bias ? Input<T>(arguments, 2) : nullptr, Output<T>(arguments));
      return {};
    });
  });
}

constexpr KernelEntry kConvKernels[] = {
    {"Conv", PrepareConv},
    {"ConvInteger", PrepareConvInteger},
    {"QLinearConv", PrepareQLinearConv},
    {"ConvTranspose", PrepareConvTranspose},
};

}  // namespace

Result<ConvPlan> PlanConv(const Node& node, const Operand& input, const Operand& filter) {
  const Operand& output = node.Out();
  NEAP_CHECK_OK(
      Require(filter.Rank() >= 3 && input.Rank() == filter.Rank() && output.Rank() == filter.Rank(),
              "input, weights and output have different ranks"));
  ConvPlan plan;
  const std::vector<std::int64_t> kernel(filter.shape.begin() + 2, filter.shape.end());
  NEAP_TRY(plan.window, MakeWindow(*node.op, input, output, kernel, nullptr));
  plan.batches = input.shape[0];
  plan.groups = IntOr(*node.op, "group", 1);
  plan.group_inputs = filter.shape[1];
  NEAP_CHECK_OK(Require(plan.groups >= 1 && plan.groups < 1 << 28 &&
                            filter.shape[0] % plan.groups == 0 && filter.shape[0] > 0 &&
                            input.shape[1] % plan.groups == 0 &&
                            input.shape[1] / plan.groups == plan.group_inputs &&
                            filter.shape[0] == output.shape[1] && input.shape[0] == output.shape[0],
                        "the channels of input, weights and output do not fit together"));
  plan.group_outputs = filter.shape[0] / plan.groups;
  return plan;
}

std::span<const KernelEntry> ConvKernels() { return kConvKernels; }

}  // namespace neap::execute::onnx
