// SPDX-License-Identifier: Apache-2.0
//
// MEAN, SUM, REDUCE_*.
#include "neap/execute/loops/reduce.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "neap/execute/families.h"
#include "neap/execute/tflite/quantized.h"

namespace neap::execute::tflite {
namespace {

using enum graph::ElementType;

Result<Reduction> PlanReduction(const Node& node) {
  NEAP_CHECK_OK(RequireOperands(node, 2, 2));
  NEAP_CHECK_OK(RequireType(node.In(1), kInt32));
  NEAP_CHECK_OK(RequireType(node.Out(), node.In(0).type));
  NEAP_CHECK_OK(Require(node.In(1).constant, "has no kernel for axes that are not constants"));
  NEAP_TRY(Reduction plan, MakeReduction(node.In(0).shape, ReadIntegers(kInt32, node.In(1).data)));
  NEAP_CHECK_OK(Require(plan.outputs == node.Out().elements,
                        "the size of its output does not match its axes"));
  return plan;
}

template <typename Fold, typename Finish>
Result<RunKernel> FloatReduction(const Node& node, float start, Fold fold, Finish finish) {
  NEAP_TRY(const Reduction plan, PlanReduction(node));
  if (node.In(0).type != kFloat32) return UnsupportedType(node);
  return RunKernel([=](const Arguments& arguments) -> Status {
    Reduce<float, float>(plan, Input<float>(arguments, 0), Output<float>(arguments), start, fold,
                         finish);
    return {};
  });
}

float Add(float sum, float value) { return sum + value; }
float AsIs(float sum, std::int64_t /*count*/) { return sum; }

// The stock kernels' way to the factor of a mean.
FixedFactor DividedBy(FixedFactor factor, std::int64_t elements) {
  const std::int32_t room = std::min(63 - std::countl_zero(static_cast<std::uint64_t>(elements)),
                                     std::min(32, 31 + factor.shift));
  factor.fraction = static_cast<std::int32_t>((std::int64_t{factor.fraction} << room) / elements);
  factor.shift -= room;
  return factor;
}

struct QuantizedFold {
  Reduction plan;
  std::int32_t in_zero = 0;
  std::int32_t out_zero = 0;
  FixedFactor factor;
};

Result<QuantizedFold> PlanQuantized(const Node& node) {
  QuantizedFold fold;
  NEAP_TRY(fold.plan, PlanReduction(node));
  NEAP_CHECK_OK(Require(fold.plan.folded > 0, "reduces nothing"));
  NEAP_TRY(const Quant in, QuantOf(node.In(0)));
  NEAP_TRY(const Quant out, QuantOf(node.Out()));
  fold.in_zero = in.zero;
  fold.out_zero = out.zero;
  fold.factor = MakeFixedFactor(static_cast<double>(in.scale) / static_cast<double>(out.scale));
  return fold;
}

template <typename T>
RunKernel QuantizedKernel(const QuantizedFold& fold, const Limits<std::int32_t>& limits) {
  return [=](const Arguments& arguments) -> Status {
    Reduce<T, T>(
        fold.plan, Input<T>(arguments, 0), Output<T>(arguments), std::int32_t{0},
        [zero = fold.in_zero](std::int32_t sum, T value) { return WrapAdd(sum, value - zero); },
        [&](std::int32_t sum, std::int64_t /*count*/) {
          return static_cast<T>(limits(WrapAdd(Scale(sum, fold.factor), fold.out_zero)));
        });
    return {};
  };
}

Result<RunKernel> QuantizedSum(const Node& node, const QuantizedFold& fold) {
  const Limits<std::int32_t> limits = TypeLimits(node.Out().type);
  return ForType(QuantizedTypes(), node.In(0).type, node, [&](auto tag) -> Result<RunKernel> {
    return QuantizedKernel<typename decltype(tag)::Type>(fold, limits);
  });
}

Result<RunKernel> PrepareMean(const Node& node) {
  if (node.Has(0) && IsQuantizedType(node.In(0).type)) {
    NEAP_TRY(QuantizedFold fold, PlanQuantized(node));
    fold.factor = DividedBy(fold.factor, fold.plan.folded);
    return QuantizedSum(node, fold);
  }
  return FloatReduction(node, 0.0F, Add, [](float sum, std::int64_t count) {
    return count == 0 ? 0.0F : sum / static_cast<float>(count);
  });
}
Result<RunKernel> PrepareSum(const Node& node) {
  if (!node.Has(0) || !IsQuantizedType(node.In(0).type)) {
    return FloatReduction(node, 0.0F, Add, AsIs);
  }
  NEAP_TRY(const QuantizedFold fold, PlanQuantized(node));
  if (node.kernels == Kernels::kTflm) return QuantizedSum(node, fold);
  // LiteRT's kernel of 8 bits reads and writes int8 as if it were uint8; it has none of 16.
  if (node.In(0).type == kInt16) return UnsupportedType(node);
  return QuantizedKernel<std::uint8_t>(fold, TypeLimits(kUint8));
}
Result<RunKernel> PrepareProd(const Node& node) {
  return FloatReduction(
      node, 1.0F, [](float product, float value) { return product * value; }, AsIs);
}
Result<RunKernel> PrepareReduceMax(const Node& node) {
  return FloatReduction(
      node, std::numeric_limits<float>::lowest(),
      [](float most, float value) { return value > most ? value : most; }, AsIs);
}
Result<RunKernel> PrepareReduceMin(const Node& node) {
  return FloatReduction(
      node, std::numeric_limits<float>::max(),
      [](float least, float value) { return value < least ? value : least; }, AsIs);
}

constexpr KernelEntry kReduceKernels[] = {
    {"MEAN", PrepareMean},
    {"SUM", PrepareSum},
    {"REDUCE_PROD", PrepareProd},
    {"REDUCE_MAX", PrepareReduceMax},
    {"REDUCE_MIN", PrepareReduceMin},
};

}  // namespace

std::span<const KernelEntry> ReduceKernels() { return kReduceKernels; }

}  // namespace neap::execute::tflite
