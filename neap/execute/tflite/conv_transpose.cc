// SPDX-License-Identifier: Apache-2.0
//
// TRANSPOSE_CONV: each output place sums the inputs whose windows reach it.
#include <algorithm>
#include <utility>

#include "neap/execute/families.h"
#include "neap/execute/tflite/quantized.h"

namespace neap::execute::tflite {
namespace {

using enum graph::ElementType;

struct Plan {
  std::int64_t batches;
  std::int64_t in[2];
  std::int64_t out[2];
  std::int64_t kernel[2];
  std::int64_t stride[2];
  std::int64_t pad[2];
  // Of a part: its first places, and its sizes instead of those of the whole.
  std::int64_t out_first[2];
  std::int64_t in_first[2];
  std::int64_t in_last[2];
  std::int64_t in_depth;
  std::int64_t out_depth;

  // The index of the given input that reaches output index `at` by tap `tap`; -1: none.
  std::int64_t InputAt(std::size_t axis, std::int64_t at, std::int64_t tap) const {
    const std::int64_t from = at + out_first[axis] + pad[axis] - tap;
    if (from < 0 || from % stride[axis] != 0 || from / stride[axis] >= in_last[axis]) return -1;
    return from / stride[axis] - in_first[axis];
  }
};

Result<Plan> MakePlan(const Node& node) {
  NEAP_CHECK_OK(RequireOperands(node, 3, 4));
  const graph::Shape& filter = node.In(1).shape;
  const graph::Shape& in = node.In(2).shape;
  const graph::Shape& out = node.Out().shape;
  NEAP_CHECK_OK(Require(filter.size() == 4 && in.size() == 4 && out.size() == 4 &&
                            in[0] == out[0] && filter[0] == out[3] && filter[3] == in[3],
                        "input, weights and output do not fit together"));
  NEAP_CHECK_OK(Require(IntOr(*node.op, "fused_activation_function", kNone) <= kRelu6 &&
                            (!node.Has(3) || node.In(3).elements == out[3]),
                        "expected one bias for each output channel"));
  Plan plan{};
  plan.batches = in[0];
  plan.in_depth = in[3];
  plan.out_depth = out[3];
  const char* const strides[] = {"stride_h", "stride_w"};
  const bool same = IntOr(*node.op, "padding", kSame) == kSame;
  for (std::size_t i = 0; i < 2; ++i) {
    plan.in[i] = in[i + 1];
    plan.out[i] = out[i + 1];
    plan.kernel[i] = filter[i + 1];
    plan.stride[i] = IntOr(*node.op, strides[i], 1);
    NEAP_CHECK_OK(Require(plan.stride[i] >= 1 && plan.stride[i] < 65536 && plan.kernel[i] >= 1,
                          "its strides are out of range"));
    const std::int64_t places =
        same ? (plan.out[i] + plan.stride[i] - 1) / plan.stride[i]
             : (plan.out[i] + plan.stride[i] - plan.kernel[i]) / plan.stride[i];
    const std::int64_t missing = (places - 1) * plan.stride[i] + plan.kernel[i] - plan.out[i];
    plan.pad[i] = std::max<std::int64_t>(missing, 0) / 2;
    plan.in_last[i] = plan.in[i];
    if (!node.within) continue;
    plan.out_first[i] = node.within->out[i].first;
    plan.out[i] = node.within->out[i].size();
    plan.in_first[i] = node.within->in[i].first;
    plan.in_last[i] = node.within->in[i].last;
    plan.in[i] = node.within->in[i].size();
  }
  return plan;
}

template <typename In, typename Weight, typename Acc, typename Stage>
void Run(const Plan& p, const Cell<In>* input, const Cell<Weight>* filter, Acc in_zero,
         Acc weight_zero, Cell<In>* output, const Stage& stage) {
  for (std::int64_t n = 0; n < p.batches; ++n, input += p.in[0] * p.in[1] * p.in_depth) {
    for (std::int64_t y = 0; y < p.out[0]; ++y) {
      for (std::int64_t x = 0; x < p.out[1]; ++x) {
        for (std::int64_t c = 0; c < p.out_depth; ++c) {
          Acc sum = 0;
          // Backwards through the window is forwards through the input, as the stock kernels add.
          for (std::int64_t ky = p.kernel[0] - 1; ky >= 0; --ky) {
            const std::int64_t above = p.InputAt(0, y, ky);
            if (above < 0) continue;
            for (std::int64_t kx = p.kernel[1] - 1; kx >= 0; --kx) {
              const std::int64_t left = p.InputAt(1, x, kx);
              if (left < 0) continue;
              const std::int64_t at = above * p.in[1] + left;
              AddDots<1>(input + at * p.in_depth,
                         filter + ((c * p.kernel[0] + ky) * p.kernel[1] + kx) * p.in_depth, 0,
                         p.in_depth, in_zero, weight_zero, &sum);
            }
          }
          (output++)->value = stage(sum, c);
        }
      }
    }
  }
}

Result<RunKernel> FloatTranspose(const Node& node, const Plan& plan) {
  const bool has_bias = node.Has(3);
  if (node.In(1).type != kFloat32 || node.Out().type != kFloat32 ||
      (has_bias && node.In(3).type != kFloat32)) {
    return UnsupportedType(node);
  }
  NEAP_TRY(const auto limits, FloatLimits(*node.op));
  return RunKernel([=](const Arguments& arguments) -> Status {
    Run<float, float, float>(
        plan, Input<float>(arguments, 2), Input<float>(arguments, 1), 0.0F, 0.0F,
        Output<float>(arguments), [&](float sum, std::int64_t c) {
          return limits(has_bias ? sum + Input<float>(arguments, 3)[c].value : sum);
        });
    return {};
  });
}

template <typename T>
Result<RunKernel> WholeTranspose(const Node& node, const Plan& plan) {
  const bool has_bias = node.Has(3);
  if (node.In(1).type != node.In(2).type || node.Out().type != node.In(2).type ||
      (has_bias && node.In(3).type != kInt32)) {
    return UnsupportedType(node);
  }
  NEAP_TRY(const Quant in, QuantOf(node.In(2)));
  NEAP_TRY(const Quant out, QuantOf(node.Out()));
  NEAP_TRY(const std::int32_t weight_zero, WeightZero(node.In(1)));
  NEAP_TRY(const auto scales, ChannelScales(node.In(1), plan.out_depth));
  NEAP_TRY(const auto limits, QuantizedLimits(*node.op, node.Out()));
  std::vector<FixedFactor> factors;
  for (const float scale : scales) {
    factors.push_back(MakeFixedFactor(static_cast<double>(in.scale) * static_cast<double>(scale) /
                                      static_cast<double>(out.scale)));
  }
  return RunKernel([=](const Arguments& arguments) -> Status {
    Run<T, T, std::int32_t>(
        plan, Input<T>(arguments, 2), Input<T>(arguments, 1), in.zero, weight_zero,
        Output<T>(arguments), [&](std::int32_t sum, std::int64_t c) {
          if (has_bias) {
            sum = WrapAdd(sum, Input<std::int32_t>(arguments, 3)[c].value);
          }
          const std::int32_t scaled = Scale(sum, factors[static_cast<std::size_t>(c)]);
          return static_cast<T>(limits(WrapAdd(scaled, out.zero)));
        });
    return {};
  });
}

Result<RunKernel> PrepareTransposeConv(const Node& node) {
  NEAP_TRY(const Plan plan, MakePlan(node));
  switch (node.In(2).type) {
    case kFloat32:
      return FloatTranspose(node, plan);
    case kInt8:
      return WholeTranspose<std::int8_t>(node, plan);
    case kUint8:
      return WholeTranspose<std::uint8_t>(node, plan);
    default:
      return UnsupportedType(node);
  }
}

constexpr KernelEntry kConvTransposeKernels[] = {{"TRANSPOSE_CONV", PrepareTransposeConv}};

}  // namespace

std::span<const KernelEntry> TransposeConvKernels() { return kConvTransposeKernels; }

}  // namespace neap::execute::tflite
