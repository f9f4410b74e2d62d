// SPDX-License-Identifier: Apache-2.0
#include "neap/transform/cascade/tile_rules.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "neap/ops/op_table.h"
#include "neap/ops/traits.h"
#include "neap/ops/window.h"

namespace neap::cascade {
namespace {

using ops::Is;
using ops::OpKind;

constexpr auto kWindows = std::to_array<OpKind>(
    {OpKind::kOnnxAveragePool, OpKind::kOnnxConv, OpKind::kOnnxConvInteger, OpKind::kOnnxFusedConv,
     OpKind::kOnnxLpPool, OpKind::kOnnxMaxPool, OpKind::kOnnxQLinearConv});
constexpr auto kOthers = std::to_array<OpKind>(
    {OpKind::kOnnxConcat, OpKind::kOnnxDepthToSpace, OpKind::kOnnxFlatten, OpKind::kOnnxGemm,
     OpKind::kOnnxGlobalAveragePool, OpKind::kOnnxGlobalMaxPool, OpKind::kOnnxIdentity,
     OpKind::kOnnxLayerNormalization, OpKind::kOnnxLogSoftmax, OpKind::kOnnxMatMul,
     OpKind::kOnnxQLinearMatMul, OpKind::kOnnxReduceMax, OpKind::kOnnxReduceMean,
     OpKind::kOnnxReduceMin, OpKind::kOnnxReduceSum, OpKind::kOnnxSoftmax,
     OpKind::kOnnxSpaceToDepth, OpKind::kOnnxTranspose, OpKind::kOnnxUnsqueeze});

bool IsOnnx(const graph::Op& op) {
  return ops::IsDefaultOnnxDomain(op.domain) || Is(op, OpKind::kOnnxFusedConv);
}

template <typename List>
bool Contains(const List& list, OpKind kind) {
  return std::find(list.begin(), list.end(), kind) != list.end();
}

}  // namespace

bool RunsOnParts(const graph::Op& op) {
  if (ops::IsElementwise(op)) return true;
  if (!IsOnnx(op)) return false;
  // Where the last window hangs over the end, a mean would count what is not there.
  if (Contains(kWindows, ops::KindOf(op))) return ops::IntegerAttribute(op, "ceil_mode", 0) == 0;
  // Without axes, it removes the axis of a part of one index, too.
  if (Is(op, OpKind::kOnnxSqueeze)) return op.inputs.size() > 1 || op.attributes.contains("axes");
  return Contains(kOthers, ops::KindOf(op));
}

bool WritesWhatItReads(const graph::Op& op) {
  return Is(op, OpKind::kOnnxLayerNormalization, OpKind::kOnnxLogSoftmax, OpKind::kOnnxSoftmax);
}

bool KeepsElements(const graph::Op& op) {
  return ops::IsReshapeLike(op) || Is(op, OpKind::kOnnxDepthToSpace, OpKind::kOnnxSpaceToDepth);
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
  if (!IsOnnx(op) || !Contains(kWindows, ops::KindOf(op))) return true;
  if (need.padding.size() < 3) return false;
  std::vector<std::int64_t> pads;
  for (std::size_t d = 2; d < need.padding.size(); ++d) pads.push_back(need.padding[d].before);
  for (std::size_t d = 2; d < need.padding.size(); ++d) pads.push_back(need.padding[d].after);
  step->attributes.emplace_back("pads", std::move(pads));
  step->removed.emplace_back("auto_pad");
  return true;
}

}  // namespace neap::cascade
