// SPDX-License-Identifier: Apache-2.0
#include "neap/ops/litert.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace neap::ops {
namespace {

constexpr auto kViews =
    std::to_array<std::string_view>({"BITCAST", "EXPAND_DIMS", "RESHAPE", "SQUEEZE"});
constexpr auto kOverEitherInput = std::to_array<std::string_view>({"ADD", "DIV", "MUL", "SUB"});
constexpr auto kOverFirstInput =
    std::to_array<std::string_view>({"DYNAMIC_UPDATE_SLICE", "SOFTMAX"});

template <std::size_t N>
bool Contains(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

LitertSharing LitertSharingOf(const graph::Op& op) {
  if (op.domain != "tflite") return {};
  if (Contains(kViews, op.type)) return {1, true};
  if (Contains(kOverEitherInput, op.type)) return {2, false};
  if (Contains(kOverFirstInput, op.type)) return {1, false};
  return {};
}

bool LitertKeepsOutput(const graph::Subgraph& subgraph, const graph::Op& op) {
  if (op.domain != "tflite" || (op.type != "DEQUANTIZE" && op.type != "DENSIFY")) return false;
  if (op.inputs.empty() || op.outputs.empty()) return false;
  const graph::TensorId input = op.inputs.front();
  return input.valid() && op.outputs.front().valid() && subgraph.tensors[input].constant;
}

}  // namespace neap::ops
