// SPDX-License-Identifier: Apache-2.0
//
// MEAN, SUM, REDUCE_*.
#include "neap/execute/loops/reduce.h"

#include <limits>

#include "neap/execute/families.h"
#include "neap/execute/tflite/common.h"

namespace neap::execute::tflite {
namespace {

using enum graph::ElementType;

Result<Reduction> PlanReduction(const Node& node) {
  NEAP_CHECK_OK(RequireOperands(node, 2, 2));
  NEAP_CHECK_OK(RequireType(node.In(1), kInt32));
  NEAP_CHECK_OK(RequireType(node.Out(), node.In(0).type));
  NEAP_CHECK_OK(Require(node.In(1).constant, "has no kernel for axes that are no constants"));
  NEAP_TRY(Reduction plan, MakeReduction(node.In(0).shape, ReadIntegers(kInt32, node.In(1).data)));
  NEAP_CHECK_OK(Require(plan.outputs == node.Out().elements,
                        "its output has not the elements that its axes leave"));
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

Result<RunKernel> PrepareMean(const Node& node) {
  return FloatReduction(node, 0.0F, Add, [](float sum, std::int64_t count) {
    return count == 0 ? 0.0F : sum / static_cast<float>(count);
  });
}
Result<RunKernel> PrepareSum(const Node& node) { return FloatReduction(node, 0.0F, Add, AsIs); }
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

constexpr KernelEntry kKernels[] = {
    {"MEAN", PrepareMean},
    {"SUM", PrepareSum},
    {"REDUCE_PROD", PrepareProd},
    {"REDUCE_MAX", PrepareReduceMax},
    {"REDUCE_MIN", PrepareReduceMin},
};

}  // namespace

std::span<const KernelEntry> ReduceKernels() { return kKernels; }

}  // namespace neap::execute::tflite
