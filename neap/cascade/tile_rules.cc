// SPDX-License-Identifier: Apache-2.0
#include "neap/cascade/tile_rules.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "neap/ops/traits.h"
#include "neap/ops/window.h"

namespace neap::cascade {
namespace {

constexpr auto kWindows = std::to_array<std::string_view>(
    {"AveragePool", "Conv", "ConvInteger", "LpPool", "MaxPool", "QLinearConv"});
constexpr auto kOthers = std::to_array<std::string_view>({
    "Concat",
    "Gemm",
    "LogSoftmax",
    "MatMul",
    "QLinearMatMul",
    "ReduceMax",
    "ReduceMean",
    "ReduceMin",
    "ReduceSum",
    "Softmax",
    "Transpose",
});

template <typename List>
bool Contains(const List& list, std::string_view type) {
  return std::find(list.begin(), list.end(), type) != list.end();
}

}  // namespace

bool RunsOnParts(const graph::Op& op) {
  if (ops::IsElementwise(op)) return true;
  if (!op.domain.empty() && op.domain != "ai.onnx") return false;
  // Where the last window hangs over the end, a mean would count what is not there.
  if (Contains(kWindows, op.type)) return ops::IntegerAttribute(op, "ceil_mode", 0) == 0;
  return Contains(kOthers, op.type);
}

bool WritesWhatItReads(const graph::Op& op) {
  return op.type == "Softmax" || op.type == "LogSoftmax";
}

bool LacksAttribute(const graph::Op& op) {
  constexpr std::string_view kType = ".type";
  return std::any_of(op.attributes.begin(), op.attributes.end(), [&](const auto& attribute) {
    const std::string& name = attribute.first;
    return name.ends_with(kType) &&
           !op.attributes.contains(name.substr(0, name.size() - kType.size()));
  });
}

bool PadExplicitly(const graph::Op& op, const ops::Need& need, TileStep* step) {
  const bool onnx = op.domain.empty() || op.domain == "ai.onnx";
  if (!onnx || !Contains(kWindows, op.type)) return true;
  if (need.padding.size() < 3) return false;
  std::vector<std::int64_t> pads;
  for (std::size_t d = 2; d < need.padding.size(); ++d) pads.push_back(need.padding[d].before);
  for (std::size_t d = 2; d < need.padding.size(); ++d) pads.push_back(need.padding[d].after);
  step->attributes.emplace_back("pads", std::move(pads));
  step->removed.emplace_back("auto_pad");
  return true;
}

}  // namespace neap::cascade
