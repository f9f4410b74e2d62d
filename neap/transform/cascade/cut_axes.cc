// SPDX-License-Identifier: Apache-2.0
#include "neap/transform/cascade/cut_axes.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <set>
#include <vector>

#include "neap/ops/dependence.h"
#include "neap/ops/op_table.h"
#include "neap/ops/traits.h"
#include "neap/ops/window.h"

namespace neap::cascade {
namespace {

using graph::Op;
using graph::OpId;
using graph::Shape;
using graph::Subgraph;
using graph::TensorId;
using ops::Box;
using ops::Interval;
using ops::Is;
using ops::OpKind;

constexpr std::size_t kImageRank = 4;

// Operators whose output has an axis for every axis of their first input, moved or left out.
bool MovesAxes(const Op& op) {
  // Without a list, it removes the axis of a tile of one index, too.
  if (Is(op, OpKind::kSqueeze)) return op.attributes.contains("squeeze_dims");
  return ops::IsReshapeLike(op) ||
         Is(op, OpKind::kTranspose, OpKind::kMean, OpKind::kSum, OpKind::kReduceMax,
            OpKind::kReduceMin, OpKind::kReduceProd, OpKind::kReduceAny, OpKind::kReduceAll,
            OpKind::kArgMax, OpKind::kArgMin, OpKind::kGather);
}

bool HasSlices(const Subgraph& subgraph, const Op& op) {
  return MovesAxes(op) || ops::WindowOf(subgraph, op) ||
         Is(op, OpKind::kMirrorPad, OpKind::kResizeBilinear, OpKind::kResizeNearestNeighbor,
            OpKind::kDepthToSpace, OpKind::kSpaceToDepth, OpKind::kTile);
}

// The axis of the input that an axis of an output of an operator that splits is a part of.
std::optional<std::size_t> SplitAxis(const Subgraph& subgraph, const Op& op, std::size_t output,
                                     std::size_t axis) {
  const TensorId input = op.inputs[DataInputOf(op)];
  const auto& out = subgraph.tensors[op.outputs[output]].shape;
  if (!input.valid() || subgraph.tensors[input].constant || !out) return std::nullopt;
  const auto all = SourceOf(subgraph, op, output, ops::WholeBox(*out));
  Box first = ops::WholeBox(*out);
  first[axis].end = 1;
  const auto part = SourceOf(subgraph, op, output, first);
  if (!all || !part) return std::nullopt;
  // Other axes stay as they are.
  for (std::size_t d = 0; d < all->size(); ++d) {
    if ((*all)[d] != (*part)[d]) return d;
  }
  return std::nullopt;
}

}  // namespace

std::size_t DataInputOf(const Op& op) {
  if (Is(op, OpKind::kTransposeConv)) return 2;
  return Is(op, OpKind::kSplit) ? 1 : 0;
}

std::optional<Box> SourceOf(const Subgraph& subgraph, const Op& op, std::size_t output,
                            const Box& part) {
  const auto need = ops::NeedOf(subgraph, op, DataInputOf(op), part, output);
  return need ? std::optional(need->box) : std::nullopt;
}

std::optional<Columns> ColumnsOf(const Subgraph& subgraph, const Op& op, std::size_t axis) {
  constexpr std::size_t kMatrix = 2;
  const bool linear = Is(op, OpKind::kOnnxQLinearConv, OpKind::kOnnxQLinearMatMul);
  Columns columns = {0, linear ? 3U : 1U, 0};
  const graph::Tensor* const first = graph::Operand(subgraph, op.inputs, columns.first);
  const graph::Tensor* const second = graph::Operand(subgraph, op.inputs, columns.second);
  const graph::Tensor* const out = graph::Operand(subgraph, op.outputs, 0);
  if (first == nullptr || second == nullptr || out == nullptr || !first->shape || !second->shape ||
      !out->shape || axis >= out->shape->size() || ops::IsHybrid(subgraph, op)) {
    return std::nullopt;
  }
  const std::size_t rank = second->shape->size();
  const bool last = axis + 1 == out->shape->size();
  switch (ops::KindOf(op)) {
    case OpKind::kConv2d:
      if (!last || rank != kImageRank || first->shape->size() != kImageRank ||
          first->shape->back() != second->shape->back()) {
        return std::nullopt;
      }
      return columns;
    case OpKind::kFullyConnected:
      if (!last || rank != kMatrix || !second->constant) return std::nullopt;
      return columns;
    case OpKind::kOnnxConv:
    case OpKind::kOnnxFusedConv:
    case OpKind::kOnnxQLinearConv:
      if (axis != 1 || ops::IntegerAttribute(op, "group", 1) != 1) return std::nullopt;
      return columns;
    case OpKind::kBatchMatmul:
    case OpKind::kOnnxGemm:
    case OpKind::kOnnxMatMul:
    case OpKind::kOnnxQLinearMatMul: {
      const bool turned =
          ops::IntegerAttribute(op, "adj_y", 0) != 0 || ops::IntegerAttribute(op, "transB", 0) != 0;
      if (!last || rank < kMatrix || first->shape->size() < kMatrix) return std::nullopt;
      columns.axis = rank - (turned ? 2 : 1);
      return columns;
    }
    default:
      return std::nullopt;
  }
}

std::vector<std::vector<std::size_t>> GridAxesOf(const Op& op, const Shape& shape) {
  const bool tflite = op.domain == "tflite";
  std::vector<std::vector<std::size_t>> candidates;
  if (shape.size() == kImageRank) {
    candidates = tflite ? std::vector<std::vector<std::size_t>>{{1, 2}, {0}, {3}}
                        : std::vector<std::vector<std::size_t>>{{2, 3}, {0}, {1}};
  } else if (shape.size() == 3 && !tflite && shape[0] == 1) {
    candidates = {{1, 2}};
  } else if (shape.size() == 3) {
    candidates = {{0}, {1}, {2}};
  } else if (shape.size() == 2) {
    candidates = {{0}, {1}};
  }
  std::vector<std::vector<std::size_t>> grids;
  for (const std::vector<std::size_t>& axes : candidates) {
    std::vector<std::size_t> longer;
    for (const std::size_t axis : axes) {
      if (shape[axis] > 1) longer.push_back(axis);
    }
    if (!longer.empty()) grids.push_back(std::move(longer));
  }
  return grids;
}

std::optional<std::size_t> SlicedAxis(const Subgraph& subgraph, const Op& op, std::size_t axis) {
  if (!HasSlices(subgraph, op) || op.outputs.size() != 1 || op.inputs.empty() ||
      !op.inputs[0].valid() || subgraph.tensors[op.inputs[0]].constant) {
    return std::nullopt;
  }
  const auto& in = subgraph.tensors[op.inputs[0]].shape;
  const auto& out = subgraph.tensors[op.outputs[0]].shape;
  if (!in || !out || axis >= out->size() || (*out)[axis] < 2) return std::nullopt;
  const auto all = ops::NeedOf(subgraph, op, 0, ops::WholeBox(*out));
  if (!all || all->box.size() != in->size()) return std::nullopt;
  std::optional<std::size_t> found;
  for (const std::int64_t at : {std::int64_t{0}, (*out)[axis] - 1}) {
    Box slice = ops::WholeBox(*out);
    slice[axis] = {at, at + 1};
    const auto need = ops::NeedOf(subgraph, op, 0, slice);
    if (!need) return std::nullopt;
    for (std::size_t d = 0; d < in->size(); ++d) {
      if (need->box[d] == all->box[d] && need->padding[d] == all->padding[d]) continue;
      const bool same = need->box[d] == Interval{at, at + 1} && (*in)[d] == (*out)[axis];
      if (!same || found.value_or(d) != d) return std::nullopt;
      found = d;
    }
  }
  return found;
}

bool NeedsAllBetween(const Subgraph& subgraph, const Op& op) {
  if (ops::IsElementwise(op)) return true;
  constexpr std::int64_t kMostIndices = 4096;
  for (std::size_t output = 0; output < op.outputs.size(); ++output) {
    if (!op.outputs[output].valid()) continue;
    const auto& shape = subgraph.tensors[op.outputs[output]].shape;
    if (!shape) return false;
    for (std::size_t axis = 0; axis < shape->size(); ++axis) {
      if ((*shape)[axis] > kMostIndices) return false;
      std::vector<Box> covered(op.inputs.size());
      for (std::int64_t at = 0; at < (*shape)[axis]; ++at) {
        Box part = ops::WholeBox(*shape);
        part[axis] = {at, at + 1};
        for (std::size_t i = 0; i < op.inputs.size(); ++i) {
          if (!op.inputs[i].valid() || subgraph.tensors[op.inputs[i]].constant) continue;
          const auto need = ops::NeedOf(subgraph, op, i, part, output);
          if (!need) return false;
          Box& so_far = covered[i];
          if (at == 0) so_far = need->box;
          for (std::size_t d = 0; d < so_far.size(); ++d) {
            const ops::Interval& next = need->box[d];
            if (next.begin > so_far[d].end || next.end < so_far[d].begin) return false;
            so_far[d] = {std::min(so_far[d].begin, next.begin), std::max(so_far[d].end, next.end)};
          }
        }
      }
    }
  }
  return true;
}

std::optional<std::vector<SliceStep>> StepsOf(const Subgraph& subgraph, const Op& op) {
  const auto& out = subgraph.tensors[op.outputs[0]].shape;
  if (!out) return std::nullopt;
  Box box;
  for (std::size_t d = 0; d < out->size(); ++d) box.push_back({0, 1});
  const auto first = ops::NeedOf(subgraph, op, 0, box);
  if (!first || first->box.size() != out->size()) return std::nullopt;
  for (std::size_t d = 0; d < out->size(); ++d) {
    if ((*out)[d] > 1) box[d] = {1, 2};
  }
  const auto second = ops::NeedOf(subgraph, op, 0, box);
  if (!second) return std::nullopt;
  std::vector<SliceStep> steps;
  for (std::size_t d = 0; d < out->size(); ++d) {
    const std::int64_t start = first->box[d].begin;
    const std::int64_t step = (*out)[d] > 1 ? second->box[d].begin - start : 1;
    if (step < 1) return std::nullopt;
    steps.push_back({start, step});
  }
  return steps;
}

std::optional<std::map<TensorId, std::size_t>> AxesOfRegion(const Subgraph& subgraph,
                                                            const std::vector<OpId>& ops,
                                                            TensorId output, std::size_t axis,
                                                            std::string* why) {
  std::map<TensorId, std::size_t> axes = {{output, axis}};
  std::set<TensorId> read;
  for (std::size_t k = ops.size(); k-- > 0;) {
    const Op& op = subgraph.ops[ops[k]];
    const auto refuse = [&](const char* what) {
      *why = "operator " + graph::Describe(ops[k], op) + ": " + what;
      return std::nullopt;
    };
    read.insert(op.inputs.begin(), op.inputs.end());
    if (ops::Has(op, ops::trait::kSplits)) {
      for (std::size_t i = 0; i < op.outputs.size(); ++i) {
        const auto part = axes.find(op.outputs[i]);
        if (part == axes.end() && read.contains(op.outputs[i])) {
          return refuse("has an output that is not cut");
        }
        if (part == axes.end()) continue;
        const auto from = SplitAxis(subgraph, op, i, part->second);
        if (!from) return refuse("does not keep the axis that is cut");
        const auto [at, added] = axes.emplace(op.inputs[DataInputOf(op)], *from);
        if (!added && at->second != *from) return refuse("needs its input along two axes");
      }
      continue;
    }
    const auto cut = axes.find(op.outputs[0]);
    if (cut == axes.end()) return refuse("has an output that is not cut");
    const std::size_t rank = subgraph.tensors[op.outputs[0]].shape->size();
    // Of windows and products the data alone are cut: kernels take weights whole.
    const bool alike =
        ops::IsElementwise(op) || Is(op, OpKind::kConcatenation, OpKind::kBatchMatmul);
    const std::size_t first = DataInputOf(op);
    for (std::size_t i = first; i < (alike ? op.inputs.size() : first + 1); ++i) {
      const TensorId input = op.inputs[i];
      if (!input.valid() || subgraph.tensors[input].constant) continue;
      std::size_t from = cut->second;
      const auto columns = ColumnsOf(subgraph, op, from);
      if (columns && i != columns->second) continue;
      if (columns) {
        from = columns->axis;
      } else if (MovesAxes(op)) {
        const auto sliced = SlicedAxis(subgraph, op, cut->second);
        if (!sliced) return refuse("does not keep the axis that is cut");
        from = *sliced;
      } else if (subgraph.tensors[input].shape->size() != rank ||
                 ((*subgraph.tensors[input].shape)[from] == 1 &&
                  (*subgraph.tensors[op.outputs[0]].shape)[from] > 1)) {
        continue;  // it repeats along the axis, or cannot be cut
      }
      const auto [at, added] = axes.emplace(input, from);
      if (!added && at->second != from) return refuse("needs its input along two axes");
    }
  }
  return axes;
}

}  // namespace neap::cascade
