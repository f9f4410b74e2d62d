// SPDX-License-Identifier: Apache-2.0
//
// AveragePool, MaxPool, and their global forms, channels first.
#include <algorithm>
#include <limits>
#include <string>

#include "neap/execute/families.h"
#include "neap/execute/onnx/common.h"

namespace neap::execute::onnx {
namespace {

using enum graph::ElementType;
using PoolTypes = TypeList<float, double, std::int8_t, std::uint8_t>;

struct PoolPlan {
  Window window;
  Space pad_end = {0, 0, 0};
  std::int64_t images = 0;  // batch x channels
};

Result<PoolPlan> PlanPool(const Node& node, bool global) {
  NEAP_CHECK_OK(RequireOperands(node, 1, 1));
  NEAP_CHECK_OK(RequireType(node.Out(), node.In(0).type));
  const graph::Shape& in = node.In(0).shape;
  NEAP_CHECK_OK(Require(in.size() >= 3 && in.size() <= 5 && node.Out().Rank() == in.size() &&
                            in[0] == node.Out().shape[0] && in[1] == node.Out().shape[1],
                        "has no kernel for its rank"));
  PoolPlan plan;
  std::vector<std::int64_t> kernel(in.begin() + 2, in.end());
  if (!global) {
    kernel = IntsOr(*node.op, "kernel_shape", {});
    NEAP_CHECK_OK(Require(kernel.size() + 2 == in.size(), "its window has another rank"));
  }
  graph::Op plain;
  NEAP_TRY(plan.window,
           MakeWindow(global ? plain : *node.op, node.In(0), node.Out(), kernel, &plan.pad_end));
  plan.images = in[0] * in[1];
  return plan;
}

// finish(sum of fold over the window inside the input, cells inside the input, cells inside input
// and padding).
template <typename T, typename Acc, typename Fold, typename Finish>
void RunPool(const PoolPlan& plan, const Cell<T>* input, Cell<T>* output, Acc start,
             const Fold& fold, const Finish& finish) {
  const Window& w = plan.window;
  // Cells that padding reaches in one dimension.
  const auto padded = [&](std::size_t d, std::int64_t o) {
    const std::int64_t room = w.input[d] + plan.pad_end[d] - (o * w.stride[d] - w.pad[d]);
    return std::clamp<std::int64_t>((room + w.dilation[d] - 1) / w.dilation[d], 0, w.kernel[d]);
  };
  for (std::int64_t n = 0; n < plan.images; ++n, input += Volume(w.input)) {
    for (std::int64_t z = 0; z < w.output[0]; ++z) {
      const auto in_z = w.Inside(0, z);
      for (std::int64_t y = 0; y < w.output[1]; ++y) {
        const auto in_y = w.Inside(1, y);
        for (std::int64_t x = 0; x < w.output[2]; ++x) {
          const auto in_x = w.Inside(2, x);
          Acc sum = start;
          for (std::int64_t kz = in_z.first; kz < in_z.last; ++kz) {
            for (std::int64_t ky = in_y.first; ky < in_y.last; ++ky) {
              const Cell<T>* const row =
                  input + (w.At(0, z, kz) * w.input[1] + w.At(1, y, ky)) * w.input[2];
              for (std::int64_t kx = in_x.first; kx < in_x.last; ++kx) {
                sum = fold(sum, row[w.At(2, x, kx)].value);
              }
            }
          }
          const std::int64_t cells =
              (in_z.last - in_z.first) * (in_y.last - in_y.first) * (in_x.last - in_x.first);
          (output++)->value = finish(sum, cells, padded(0, z) * padded(1, y) * padded(2, x));
        }
      }
    }
  }
}

Result<RunKernel> MaxKernel(const Node& node, bool global) {
  NEAP_TRY(const PoolPlan plan, PlanPool(node, global));
  return ForType(PoolTypes(), node.In(0).type, node, [&](auto tag) -> Result<RunKernel> {
    using T = typename decltype(tag)::Type;
    return RunKernel([plan](const Arguments& arguments) -> Status {
      RunPool<T>(
          plan, Input<T>(arguments, 0), Output<T>(arguments), std::numeric_limits<T>::lowest(),
          [](T most, T value) { return value > most ? value : most; },
          [](T most, std::int64_t, std::int64_t) { return most; });
      return {};
    });
  });
}

Result<RunKernel> AverageKernel(const Node& node, bool global) {
  NEAP_TRY(const PoolPlan plan, PlanPool(node, global));
  const bool all = !global && IntOr(*node.op, "count_include_pad", 0) != 0;
  return ForType(FloatTypes(), node.In(0).type, node, [&](auto tag) -> Result<RunKernel> {
    using T = typename decltype(tag)::Type;
    return RunKernel([plan, all](const Arguments& arguments) -> Status {
      RunPool<T>(
          plan, Input<T>(arguments, 0), Output<T>(arguments), T{0},
          [](T sum, T value) { return sum + value; },
          [all](T sum, std::int64_t cells, std::int64_t padded) {
            const std::int64_t count = all ? padded : cells;
            return count == 0 ? T{0} : sum / static_cast<T>(count);
          });
      return {};
    });
  });
}

Result<RunKernel> PrepareMaxPool(const Node& node) { return MaxKernel(node, false); }
Result<RunKernel> PrepareGlobalMax(const Node& node) { return MaxKernel(node, true); }
Result<RunKernel> PrepareAverage(const Node& node) { return AverageKernel(node, false); }
Result<RunKernel> PrepareGlobalAverage(const Node& node) { return AverageKernel(node, true); }

constexpr KernelEntry kPoolKernels[] = {
    {"MaxPool", PrepareMaxPool},
    {"GlobalMaxPool", PrepareGlobalMax},
    {"AveragePool", PrepareAverage},
    {"GlobalAveragePool", PrepareGlobalAverage},
};

}  // namespace

std::span<const KernelEntry> PoolKernels() { return kPoolKernels; }

}  // namespace neap::execute::onnx
