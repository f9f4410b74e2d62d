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
                        "input and output have not the same channels"));
  return window;
}

// Sums of integers, divided and rounded half away from zero.
Result<RunKernel> QuantizedAverage(const Node& node, const Window& window) {
  NEAP_TRY(const auto limits, QuantizedLimits(*node.op, node.Out()));
  const std::int64_t batches = node.In(0).shape[0];
  const std::int64_t channels = node.In(0).shape[3];
  return ForType(QuantizedTypes(), node.In(0).type, node, [&](auto tag) -> Result<RunKernel> {
    using T = typename decltype(tag)::Type;
    return RunKernel([=](const Arguments& arguments) -> Status {
      PoolChannelsLast<T>(
          window, batches, channels, Input<T>(arguments, 0), Output<T>(arguments), std::int32_t{0},
          [](std::int32_t sum, T value) { return WrapAdd(sum, value); },
          [&](std::int32_t sum, std::int64_t cells) {
            const std::int64_t half = sum > 0 ? cells / 2 : -(cells / 2);
            const std::int64_t mean = cells == 0 ? 0 : (sum + half) / cells;
            return static_cast<T>(limits(static_cast<std::int32_t>(mean)));
          });
      return {};
    });
  });
}

Result<RunKernel> QuantizedMax(const Node& node, const Window& window) {
  NEAP_TRY(const auto limits, QuantizedLimits(*node.op, node.Out()));
  const std::int64_t batches = node.In(0).shape[0];
  const std::int64_t channels = node.In(0).shape[3];
  return ForType(QuantizedTypes(), node.In(0).type, node, [&](auto tag) -> Result<RunKernel> {
    using T = typename decltype(tag)::Type;
    return RunKernel([=](const Arguments& arguments) -> Status {
      PoolChannelsLast<T>(
          window, batches, channels, Input<T>(arguments, 0), Output<T>(arguments),
          std::numeric_limits<T>::lowest(),
          [](T most, T value) { return value > most ? value : most; },
          [&](T most, std::int64_t /*cells*/) { return static_cast<T>(limits(most)); });
      return {};
    });
  });
}

Result<RunKernel> PrepareAverage(const Node& node) {
  NEAP_TRY(const Window window, PlanPool(node));
  if (IsQuantizedType(node.In(0).type)) return QuantizedAverage(node, window);
  if (node.In(0).type != kFloat32) return UnsupportedType(node);
  NEAP_TRY(const auto limits, FloatLimits(*node.op));
  const std::int64_t batches = node.In(0).shape[0];
  const std::int64_t channels = node.In(0).shape[3];
  return RunKernel([=](const Arguments& arguments) -> Status {
    PoolChannelsLast<float>(
        window, batches, channels, Input<float>(arguments, 0), Output<float>(arguments), 0.0F,
        [](float sum, float value) { return sum + value; },
        [&](float sum, std::int64_t cells) {
          return limits(cells == 0 ? 0.0F : sum / static_cast<float>(cells));
        });
    return {};
  });
}

Result<RunKernel> PrepareMax(const Node& node) {
  NEAP_TRY(const Window window, PlanPool(node));
  if (IsQuantizedType(node.In(0).type)) return QuantizedMax(node, window);
  if (node.In(0).type != kFloat32) return UnsupportedType(node);
  NEAP_TRY(const auto limits, FloatLimits(*node.op));
  const std::int64_t batches = node.In(0).shape[0];
  const std::int64_t channels = node.In(0).shape[3];
  return RunKernel([=](const Arguments& arguments) -> Status {
    PoolChannelsLast<float>(
        window, batches, channels, Input<float>(arguments, 0), Output<float>(arguments),
        std::numeric_limits<float>::lowest(),
        [](float most, float value) { return value > most ? value : most; },
        [&](float most, std::int64_t /*cells*/) { return limits(most); });
    return {};
  });
}

constexpr KernelEntry kPoolKernels[] = {
    {"AVERAGE_POOL_2D", PrepareAverage},
    {"MAX_POOL_2D", PrepareMax},
};

}  // namespace

std::span<const KernelEntry> PoolKernels() { return kPoolKernels; }

}  // namespace neap::execute::tflite
