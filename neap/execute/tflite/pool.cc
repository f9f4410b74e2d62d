// SPDX-License-Identifier: Apache-2.0
//
// AVERAGE_POOL_2D and MAX_POOL_2D.
#include "neap/execute/loops/pool.h"

#include <limits>

#include "neap/execute/families.h"
#include "neap/execute/tflite/common.h"

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

Result<RunKernel> PrepareAverage(const Node& node) {
  NEAP_TRY(const Window window, PlanPool(node));
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

constexpr KernelEntry kKernels[] = {
    {"AVERAGE_POOL_2D", PrepareAverage},
    {"MAX_POOL_2D", PrepareMax},
};

}  // namespace

std::span<const KernelEntry> PoolKernels() { return kKernels; }

}  // namespace neap::execute::tflite
