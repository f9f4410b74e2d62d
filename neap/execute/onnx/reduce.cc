// SPDX-License-Identifier: Apache-2.0
//
// Reductions. Axes are an attribute or, in later versions, an input.
#include "neap/execute/loops/reduce.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "neap/execute/families.h"
#include "neap/execute/onnx/common.h"

namespace neap::execute::onnx {
namespace {

using ReduceTypes = TypeList<float, double, std::int32_t, std::int64_t, std::int8_t, std::uint8_t>;

template <typename Fold, typename Finish>
Result<RunKernel> ReduceKernel(const Node& node, Fold fold, Finish finish, double start_at) {
  NEAP_CHECK_OK(RequireOperands(node, 1, 2));
  NEAP_CHECK_OK(RequireType(node.Out(), node.In(0).type));
  const graph::Shape in = node.In(0).shape;
  const std::int64_t outputs = node.Out().elements;
  const bool none_is_none = IntOr(*node.op, "noop_with_empty_axes", 0) != 0;
  return ForType(ReduceTypes(), node.In(0).type, node, [&](auto tag) -> Result<RunKernel> {
    using T = typename decltype(tag)::Type;
    const T start = std::isinf(start_at) ? (start_at < 0 ? std::numeric_limits<T>::lowest()
                                                         : std::numeric_limits<T>::max())
                                         : static_cast<T>(start_at);
    return RunKernel([=, axes = IntsOr(*node.op, "axes", {}),
                      node_copy = node](const Arguments& arguments) -> Status {
      auto along = node_copy.Has(1) ? Integers(node_copy, arguments, 1) : axes;
      if (along.empty() && !none_is_none) {
        for (std::size_t d = 0; d < in.size(); ++d) along.push_back(static_cast<std::int64_t>(d));
      }
      NEAP_TRY(const Reduction plan, MakeReduction(in, along));
      NEAP_CHECK_OK(
          Require(plan.outputs == outputs, "its axes leave another shape than the planned one"));
      Reduce<T, T>(plan, Input<T>(arguments, 0), Output<T>(arguments), start, fold, finish);
      return {};
    });
  });
}

// Integers are modulo 2^n.
constexpr auto kAdd = [](auto sum, auto value) {
  using T = decltype(sum);
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<std::uint64_t>(sum) + static_cast<std::uint64_t>(value));
  } else {
    return sum + value;
  }
};
constexpr auto kTimes = [](auto product, auto value) {
  using T = decltype(product);
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<std::uint64_t>(product) * static_cast<std::uint64_t>(value));
  } else {
    return product * value;
  }
};
constexpr auto kTotalAsIs = [](auto sum, std::int64_t) { return sum; };

Result<RunKernel> PrepareReduceMean(const Node& node) {
  return ReduceKernel(
      node, kAdd,
      [](auto sum, std::int64_t count) {
        using T = decltype(sum);
        return count == 0 ? T{0} : static_cast<T>(sum / static_cast<T>(count));
      },
      0);
}
Result<RunKernel> PrepareReduceSum(const Node& node) {
  return ReduceKernel(node, kAdd, kTotalAsIs, 0);
}
Result<RunKernel> PrepareReduceProd(const Node& node) {
  return ReduceKernel(node, kTimes, kTotalAsIs, 1);
}
Result<RunKernel> PrepareReduceMax(const Node& node) {
  return ReduceKernel(
      node, [](auto most, auto value) { return value > most ? value : most; }, kTotalAsIs,
      -std::numeric_limits<double>::infinity());
}
Result<RunKernel> PrepareReduceMin(const Node& node) {
  return ReduceKernel(
      node, [](auto least, auto value) { return value < least ? value : least; }, kTotalAsIs,
      std::numeric_limits<double>::infinity());
}

constexpr KernelEntry kReduceKernels[] = {
    {"ReduceMean", PrepareReduceMean}, {"ReduceSum", PrepareReduceSum},
    {"ReduceProd", PrepareReduceProd}, {"ReduceMax", PrepareReduceMax},
    {"ReduceMin", PrepareReduceMin},
};

}  // namespace

std::span<const KernelEntry> ReduceKernels() { return kReduceKernels; }

}  // namespace neap::execute::onnx
