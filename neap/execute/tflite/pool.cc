// SPDX-License-Identifier: Apache-2.0
//
// AVERAGE_POOL_2D and MAX_POOL_2D.
#include "neap/execute/loops/pool.h"

#include <limits>

#include "neap/execute/families.h"
#include "neap/execute/tflite/quantized.h"

namespace neap::execute::tflite {
namespace {

using enum graph::ElementType;

Result<Window> PlanPool(const Node& node) {
  NEAP_CHECK_OK(RequireOperands(node, 1, 1));
  NEAP_CHECK_OK(RequireType(node.Out(), node.In(0).type));
  NEAP_TRY(const Window window,
           MakeWindow(*node.op, node.In(0), node.Out(), IntOr(*node.op, "filter_height", 1),
                      IntOr(*node.op, "filter_width", 1)));
  NEAP_CHECK_OK(Require(node.In(0).shape[3] == node.Out().shape[3],
                        "input and output have different numbers of channels"));
  return window;
}

// Runs PoolChannelsLast() on the operator's tensors.
template <typename T, typename Acc, typename Fold, typename Finish>
RunKernel PoolKernel(const Node& node, const Window& window, Acc start, const Fold& fold,
                     const Finish& finish) {
  const std::int64_t batches = node.In(0).shape[0];
  const std::int64_t channels = node.In(0).shape[3];
  return [=](const Arguments& arguments) -> Status {
    PoolChannelsLast<T>(window, batches, channels, Input<T>(arguments, 0), Output<T>(arguments),
                        start, fold, finish);
    return {};
  };
}

// Sums of integers, divided and rounded half away from zero.
Result<RunKernel> QuantizedAverage(const Node& node, const Window& window) {
  NEAP_TRY(const auto limits, QuantizedLimits(*node.op, node.Out()));
  return ForType(QuantizedTypes(), node.In(0).type, node, [&](auto tag) -> Result<RunKernel> {
    using T = typename decltype(tag)::Type;
    return PoolKernel<T>(
        node, window, std::int32_t{0},
        [](std::int32_t sum, T value) { return WrapAdd(sum, value); },
        [limits](std::int32_t sum, std::int64_t cells) {
          const std::int64_t half = sum > 0 ? cells / 2 : -(cells / 2);
          const std::int64_t mean = cells == 0 ? 0 : (sum + half) / cells;
          return static_cast<T>(limits(static_cast<std::int32_t>(mean)));
        });
  });
}

template <typename T, typename Clamp>
RunKernel MaxKernel(const Node& node, const Window& window, const Clamp& limits) {
  return PoolKernel<T>(
      node, window, std::numeric_limits<T>::lowest(),
      [](T most, T value) { return value > most ? value : most; },
      [limits](T most, std::int64_t /*cells*/) { return static_cast<T>(limits(most)); });
}

Result<RunKernel> PrepareAverage(const Node& node) {
  NEAP_TRY(const Window window, PlanPool(node));
  if (IsQuantizedType(node.In(0).type)) return QuantizedAverage(node, window);
  if (node.In(0).type != kFloat32) return UnsupportedType(node);
  NEAP_TRY(const auto limits, FloatLimits(*node.op));
  return PoolKernel<float>(
      node, window, 0.0F, [](float sum, float value) { return sum + value; },
      [limits](float sum, std::int64_t cells) {
        return limits(cells == 0 ? 0.0F : sum / static_cast<float>(cells));
      });
}

Result<RunKernel> PrepareMax(const Node& node) {
  NEAP_TRY(const Window window, PlanPool(node));
  if (IsQuantizedType(node.In(0).type)) {
    NEAP_TRY(const auto limits, QuantizedLimits(*node.op, node.Out()));
    return ForType(QuantizedTypes(), node.In(0).type, node, [&](auto tag) -> Result<RunKernel> {
      return MaxKernel<typename decltype(tag)::Type>(node, window, limits);
    });
  }
  if (node.In(0).type != kFloat32) return UnsupportedType(node);
  NEAP_TRY(const auto limits, FloatLimits(*node.op));
  return MaxKernel<float>(node, window, limits);
}

constexpr KernelEntry kPoolKernels[] = {
    {"AVERAGE_POOL_2D", PrepareAverage},
    {"MAX_POOL_2D", PrepareMax},
};

}  // namespace

std::span<const KernelEntry> PoolKernels() { return kPoolKernels; }

}  // namespace neap::execute::tflite
