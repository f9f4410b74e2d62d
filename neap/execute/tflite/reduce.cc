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

// Sums, or for MEAN, whose factor of the scales is divided by the number of elements, means.
Result<RunKernel> QuantizedSum(const Node& node, bool divides) {
  NEAP_TRY(const Reduction plan, PlanReduction(node));
  NEAP_TRY(const Quant in, QuantOf(node.In(0)));
  NEAP_TRY(const Quant out, QuantOf(node.Out()));
  const Limits<std::int32_t> limits = TypeLimits(node.Out().type);
  NEAP_CHECK_OK(Require(plan.folded > 0, divides ? "a mean of nothing" : "a sum of nothing"));
  FixedFactor factor =
      MakeFixedFactor(static_cast<double>(in.scale) / static_cast<double>(out.scale));
  if (divides) factor = DividedBy(factor, plan.folded);
  return ForType(QuantizedTypes(), node.In(0).type, node, [&](auto tag) -> Result<RunKernel> {
    using T = typename decltype(tag)::Type;
    return RunKernel([=](const Arguments& arguments) -> Status {
      Reduce<T, T>(
          plan, Input<T>(arguments, 0), Output<T>(arguments), std::int32_t{0},
          [zero = in.zero](std::int32_t sum, T value) { return WrapAdd(sum, value - zero); },
          [&](std::int32_t sum, std::int64_t /*count*/) {
            return static_cast<T>(limits(WrapAdd(Scale(sum, factor), out.zero)));
          });
      return {};
    });
  });
}

Result<RunKernel> PrepareMean(const Node& node) {
  if (node.Has(0) && IsQuantizedType(node.In(0).type)) return QuantizedSum(node, true);
  return FloatReduction(node, 0.0F, Add, [](float sum, std::int64_t count) {
    return count == 0 ? 0.0F : sum / static_cast<float>(count);
  });
}
Result<RunKernel> PrepareSum(const Node& node) {
  if (!node.Has(0) || !IsQuantizedType(node.In(0).type)) {
    return FloatReduction(node, 0.0F, Add, AsIs);
  }
  if (node.kernels == Kernels::kLitert) {
    // LiteRT's kernels add stored values, which wrap around, but for uint8 with other scales.
    NEAP_TRY(const Quant in, QuantOf(node.In(0)));
    NEAP_TRY(const Quant out, QuantOf(node.Out()));
    const bool scales = in.scale != out.scale || in.zero != out.zero;
    if (node.In(0).type != kUint8 || !scales) return UnsupportedType(node);
  }
  return QuantizedSum(node, false);
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
