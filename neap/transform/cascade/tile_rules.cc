// SPDX-License-Identifier: Apache-2.0
#include "neap/transform/cascade/tile_rules.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "neap/ops/op_table.h"
#include "neap/ops/recurrence.h"
#include "neap/ops/traits.h"
#include "neap/ops/window.h"
#include "neap/transform/cascade/constants.h"

namespace neap::cascade {
namespace {

using ops::Is;
using ops::OpKind;

constexpr auto kWindows = std::to_array<OpKind>(
    {OpKind::kOnnxAveragePool, OpKind::kOnnxConv, OpKind::kOnnxConvInteger, OpKind::kOnnxFusedConv,
     OpKind::kOnnxLpPool, OpKind::kOnnxMaxPool, OpKind::kOnnxQLinearConv});
constexpr auto kOthers = std::to_array<OpKind>({OpKind::kOnnxConcat,
                                                OpKind::kOnnxConvTranspose,
                                                OpKind::kOnnxDepthToSpace,
                                                OpKind::kOnnxFlatten,
                                                OpKind::kOnnxGather,
                                                OpKind::kOnnxGemm,
                                                OpKind::kOnnxGlobalAveragePool,
                                                OpKind::kOnnxGlobalMaxPool,
                                                OpKind::kOnnxIdentity,
                                                OpKind::kOnnxLayerNormalization,
                                                OpKind::kOnnxLogSoftmax,
                                                OpKind::kOnnxMatMul,
                                                OpKind::kOnnxPad,
                                                OpKind::kOnnxQLinearMatMul,
                                                OpKind::kOnnxReduceMax,
                                                OpKind::kOnnxReduceMean,
                                                OpKind::kOnnxReduceMin,
                                                OpKind::kOnnxReduceSum,
                                                OpKind::kOnnxResize,
                                                OpKind::kOnnxSlice,
                                                OpKind::kOnnxSoftmax,
                                                OpKind::kOnnxSpaceToDepth,
                                                OpKind::kOnnxSplit,
                                                OpKind::kOnnxTile,
                                                OpKind::kOnnxTranspose,
                                                OpKind::kOnnxUnsqueeze,
                                                OpKind::kOnnxUpsample});

bool IsOnnx(const graph::Op& op) {
  return ops::IsDefaultOnnxDomain(op.domain) || Is(op, OpKind::kOnnxFusedConv);
}

template <typename List>
bool Contains(const List& list, OpKind kind) {
  return std::find(list.begin(), list.end(), kind) != list.end();
}

bool HasBytes(const graph::Subgraph& subgraph, const graph::Op& op) {
  const auto type = subgraph.tensors[op.inputs[0]].type;
  return type == graph::ElementType::kInt8 || type == graph::ElementType::kUint8;
}

// A product of dequantised tensors, the second one of constants, that is quantised behind it, but
// for a Relu or a Clip between: ONNX Runtime computes it with integers.
bool IsDequantisedProduct(const graph::Subgraph& subgraph, const graph::Op& op) {
  if (DequantizerOf(subgraph, op.inputs[1]) == nullptr) return false;
  const auto from =
      std::find_if(subgraph.ops.begin(), subgraph.ops.end(), [&](const graph::Op& before) {
        return before.outputs.size() == 1 && before.outputs[0] == op.inputs[0];
      });
  if (from == subgraph.ops.end() || !Is(*from, OpKind::kOnnxDequantizeLinear)) return false;
  graph::TensorId last = op.outputs[0];
  for (int behind = 0; behind < 2; ++behind) {
    const graph::Op* reader = nullptr;
    for (const graph::Op& other : subgraph.ops) {
      if (std::find(other.inputs.begin(), other.inputs.end(), last) == other.inputs.end()) continue;
      if (reader != nullptr) return false;
      reader = &other;
    }
    if (reader == nullptr) return false;
    if (Is(*reader, OpKind::kOnnxQuantizeLinear)) return true;
    if (!Is(*reader, OpKind::kOnnxRelu, OpKind::kOnnxClip)) return false;
    last = reader->outputs[0];
  }
  return false;
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

bool RunsInSteps(const graph::Subgraph& subgraph, const graph::Op& op) {
  const auto recurrence = ops::RecurrenceOf(subgraph, op);
  // ONNX Runtime adds up RNN of one batch otherwise in another number of steps.
  return recurrence && IsOnnx(op) && !Is(op, OpKind::kOnnxRNN) && !recurrence->last_only &&
         recurrence->output == 0 && recurrence->initial.empty();
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

bool HasParameters(const graph::Op& op) {
  return IsOnnx(op) &&
         (Contains(kWindows, ops::KindOf(op)) ||
          Is(op, OpKind::kOnnxSlice, OpKind::kOnnxPad, OpKind::kOnnxResize, OpKind::kOnnxUpsample,
             OpKind::kOnnxConvTranspose, OpKind::kOnnxGather, OpKind::kOnnxTile));
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

void TakePart(const graph::Op& op, const std::vector<SliceStep>& steps, const ops::Box& in,
              const ops::Box& out, TileStep* step) {
  std::vector<std::int64_t> begins;
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> ends;
  std::vector<std::int64_t> strides;
  std::vector<std::int64_t> axes;
  for (std::size_t d = 0; d < out.size(); ++d) {
    begins.push_back(steps[d].start + out[d].begin * steps[d].step - in[d].begin);
    sizes.push_back(out[d].size());
    ends.push_back(begins.back() + (out[d].size() - 1) * steps[d].step + 1);
    strides.push_back(steps[d].step);
    axes.push_back(static_cast<std::int64_t>(d));
  }
  if (Is(op, OpKind::kSlice)) {
    step->constants = {{1, begins}, {2, sizes}};
  } else if (Is(op, OpKind::kStridedSlice)) {
    step->constants = {{1, begins}, {2, ends}, {3, strides}};
    step->attributes.emplace_back("begin_mask", std::int64_t{0});
    step->attributes.emplace_back("end_mask", std::int64_t{0});
  } else if (op.inputs.size() == 1) {  // before version 10 of ONNX
    step->attributes.emplace_back("starts", begins);
    step->attributes.emplace_back("ends", ends);
    step->attributes.emplace_back("axes", axes);
  } else {
    step->constants = {{1, begins}, {2, ends}, {3, axes}, {4, strides}};
  }
}

namespace {

using ops::Box;
using ops::Interval;

// Whole factors by which an axis grows, and by which places are computed without rounding.
bool ScaleExplicitly(const graph::Subgraph& subgraph, const graph::Op& op, const ops::Need& need,
                     Box* computed, TileStep* step) {
  const graph::Shape& in = *subgraph.tensors[op.inputs[0]].shape;
  const graph::Shape& out = *subgraph.tensors[op.outputs[0]].shape;
  const auto text = [&](const char* name, std::string_view otherwise) {
    const auto found = op.attributes.find(name);
    const auto* const value =
        found == op.attributes.end() ? nullptr : std::get_if<std::string>(&found->second);
    return value == nullptr ? std::string(otherwise) : *value;
  };
  const bool old = Is(op, OpKind::kOnnxUpsample) || op.inputs.size() == 2;
  const std::string places =
      text("coordinate_transformation_mode", old ? "asymmetric" : "half_pixel");
  constexpr std::int64_t kMaxFactor = 64;
  std::vector<std::int64_t> sizes;
  for (std::size_t d = 0; d < in.size(); ++d) {
    const bool cut = need.box[d] != Interval{0, in[d]} || (*computed)[d] != Interval{0, out[d]};
    if (!cut) {
      sizes.push_back(out[d]);
      continue;
    }
    const std::int64_t factor = in[d] == 0 || out[d] % in[d] != 0 ? 0 : out[d] / in[d];
    const bool exact = factor > 0 && factor <= kMaxFactor && (factor & (factor - 1)) == 0;
    if (!exact || (places != "asymmetric" && places != "half_pixel")) return false;
    (*computed)[d] = {need.box[d].begin * factor, need.box[d].end * factor};
    sizes.push_back((*computed)[d].size());
  }
  const bool has_sizes = !old && op.inputs.size() > 3 && op.inputs[3].valid();
  if (has_sizes) step->constants[3] = sizes;
  return true;
}

// Padding by which the part writes just the output's part.
bool SpreadExplicitly(const graph::Subgraph& subgraph, const graph::Op& op, const ops::Need& need,
                      const Box& out, TileStep* step) {
  const graph::Shape& weights = *subgraph.tensors[op.inputs[1]].shape;
  if (out[1] != Interval{0, (*subgraph.tensors[op.outputs[0]].shape)[1]}) return false;
  const std::size_t places = out.size() - 2;
  const auto list = [&](const char* name, std::size_t count, std::int64_t otherwise) {
    const auto found = op.attributes.find(name);
    const auto* const values = found == op.attributes.end()
                                   ? nullptr
                                   : std::get_if<std::vector<std::int64_t>>(&found->second);
    return values == nullptr || values->empty() ? std::vector<std::int64_t>(count, otherwise)
                                                : *values;
  };
  const auto strides = list("strides", places, 1);
  const auto dilations = list("dilations", places, 1);
  const auto pads = list("pads", 2 * places, 0);
  std::vector<std::int64_t> before;
  std::vector<std::int64_t> after;
  for (std::size_t d = 0; d < places; ++d) {
    const Interval& in = need.box[d + 2];
    const Interval& part = out[d + 2];
    before.push_back(pads[d] + part.begin - in.begin * strides[d]);
    after.push_back((in.size() - 1) * strides[d] + (weights[d + 2] - 1) * dilations[d] + 1 -
                    before.back() - part.size());
  }
  std::vector<std::int64_t> more(places, 0);
  for (std::size_t d = 0; d < places; ++d) {
    if (before[d] < 0 || after[d] <= -strides[d]) return false;
    more[d] = std::max<std::int64_t>(-after[d], 0);
    after[d] = std::max<std::int64_t>(after[d], 0);
  }
  before.insert(before.end(), after.begin(), after.end());
  step->attributes.emplace_back("pads", std::move(before));
  step->removed.emplace_back("auto_pad");
  step->removed.emplace_back("output_padding");
  if (std::any_of(more.begin(), more.end(), [](std::int64_t by) { return by > 0; })) {
    step->attributes.emplace_back("output_padding", std::move(more));
  }
  return true;
}

// Of Pad in a mode that repeats the input: by axis, the output's index of input index 0. nullopt:
// of other operators.
std::optional<std::vector<std::int64_t>> RepeatedFrom(const graph::Subgraph& subgraph,
                                                      const graph::Op& op) {
  const auto mode = op.attributes.find("mode");
  if (!Is(op, OpKind::kOnnxPad) || mode == op.attributes.end()) return std::nullopt;
  const auto* const name = std::get_if<std::string>(&mode->second);
  if (name == nullptr || *name == "constant") return std::nullopt;
  graph::Op plain = op;
  plain.attributes.erase("mode");
  const Box all = ops::WholeBox(*subgraph.tensors[op.outputs[0]].shape);
  const auto need = ops::NeedOf(subgraph, plain, 0, all);
  if (!need) return std::nullopt;
  std::vector<std::int64_t> from;
  for (std::size_t d = 0; d < all.size(); ++d) {
    from.push_back(need->padding[d].before - need->box[d].begin);
  }
  return from;
}

// The part with the padding that it reaches into. Rows beside it are computed, too.
bool RepeatPart(const graph::Subgraph& subgraph, const graph::Op& op,
                const std::vector<std::int64_t>& from, Box* computed, ops::Need* need) {
  const graph::Shape& in = *subgraph.tensors[op.inputs[0]].shape;
  for (std::size_t d = 0; d < in.size(); ++d) {
    Interval& out = (*computed)[d];
    const Interval& part = need->box[d];
    const std::int64_t before = std::max<std::int64_t>(from[d] - out.begin, 0);
    const std::int64_t after = std::max<std::int64_t>(out.end - from[d] - in[d], 0);
    if ((before > 0 && part.begin > 0) || (after > 0 && part.end < in[d])) return false;
    need->padding[d] = {before, after};
    out = {from[d] + part.begin - before, from[d] + part.end + after};
  }
  return true;
}

bool PadPart(const graph::Subgraph& subgraph, const graph::Op& op, ops::Need need, Box* computed,
             TileStep* step) {
  const auto from = RepeatedFrom(subgraph, op);
  if (from && !RepeatPart(subgraph, op, *from, computed, &need)) return false;
  std::vector<std::int64_t> pads;
  pads.reserve(2 * need.padding.size());
  for (const ops::Need::Padding& along : need.padding) pads.push_back(along.before);
  for (const ops::Need::Padding& along : need.padding) pads.push_back(along.after);
  if (std::any_of(pads.begin(), pads.end(), [](std::int64_t by) { return by < 0; })) return false;
  if (op.inputs.size() == 1) {
    if (op.attributes.contains("paddings")) return false;  // before version 2
    step->attributes.emplace_back("pads", std::move(pads));
    return true;
  }
  if (op.inputs.size() > 3 && op.inputs[3].valid()) {
    std::vector<std::int64_t> axes;
    for (std::size_t d = 0; d < need.box.size(); ++d) axes.push_back(static_cast<std::int64_t>(d));
    step->constants[3] = std::move(axes);
  }
  step->constants[1] = std::move(pads);
  return true;
}

// A part of the channels of a window has groups of its own. ONNX Runtime adds up floats otherwise
// in another number of groups.
bool CutGroups(const graph::Subgraph& subgraph, const graph::Op& op, const Box& out,
               TileStep* step) {
  const std::int64_t groups = ops::IntegerAttribute(op, "group", 1);
  const std::int64_t channels = (*subgraph.tensors[op.outputs[0]].shape)[1];
  if (groups == 1 || out[1] == Interval{0, channels}) return true;
  if (!HasBytes(subgraph, op)) return false;
  const std::int64_t of_group = channels / groups;
  if (out[1].begin % of_group != 0 || out[1].end % of_group != 0) return false;
  step->attributes.emplace_back("group", out[1].size() / of_group);
  return true;
}

// Repeated axes are whole.
bool RepeatsWhole(const graph::Subgraph& subgraph, const graph::Op& op, const ops::Need& need,
                  const Box& out) {
  const graph::Shape& from = *subgraph.tensors[op.inputs[0]].shape;
  const graph::Shape& to = *subgraph.tensors[op.outputs[0]].shape;
  for (std::size_t d = 0; d < out.size(); ++d) {
    const bool whole = need.box[d] == Interval{0, from[d]} && out[d] == Interval{0, to[d]};
    if (!whole && (from[d] != to[d] || need.box[d] != out[d])) return false;
  }
  return true;
}

// Indices count from the start of the data, and all of them are read.
bool GathersAll(const graph::Subgraph& subgraph, const graph::Op& op, const ops::Need& need,
                const Box& out) {
  const graph::Shape& from = *subgraph.tensors[op.inputs[0]].shape;
  const auto rank = static_cast<std::int64_t>(from.size());
  const std::int64_t given = ops::IntegerAttribute(op, "axis", 0);
  const auto axis = static_cast<std::size_t>(given < 0 ? given + rank : given);
  if (axis >= from.size() || need.box[axis] != Interval{0, from[axis]}) return false;
  const graph::Shape& to = *subgraph.tensors[op.outputs[0]].shape;
  const auto& indices = subgraph.tensors[op.inputs[1]].shape;
  if (!indices || indices->size() + from.size() != to.size() + 1) return false;
  for (std::size_t d = axis; d < axis + indices->size(); ++d) {
    if (out[d] != Interval{0, to[d]}) return false;
  }
  return true;
}

}  // namespace

bool CutsColumns(const graph::Subgraph& subgraph, const graph::Op& op, ops::StockRuntime runtime) {
  if (!IsOnnx(op)) {
    const bool floats = subgraph.tensors[op.inputs[0]].type == graph::ElementType::kFloat32;
    return !floats || runtime != ops::StockRuntime::kLitert || Is(op, OpKind::kBatchMatmul);
  }
  const bool integers = HasBytes(subgraph, op);
  const bool window = Contains(kWindows, ops::KindOf(op));
  // One channel by one filter is a depthwise convolution, whose kernel adds up otherwise.
  if (window) return integers && (*subgraph.tensors[op.inputs[0]].shape)[1] > 1;
  if (integers || IsDequantisedProduct(subgraph, op)) return true;
  const graph::Tensor& second = subgraph.tensors[op.inputs[1]];
  return second.constant && second.data.has_value() &&
         DequantizerOf(subgraph, op.inputs[1]) == nullptr;
}

void WidenToBorders(const graph::Subgraph& subgraph, const graph::Op& op, const Box& part,
                    ops::Need* need) {
  const auto from = RepeatedFrom(subgraph, op);
  if (!from) return;
  const graph::Shape& in = *subgraph.tensors[op.inputs[0]].shape;
  for (std::size_t d = 0; d < in.size(); ++d) {
    if (part[d].begin < (*from)[d]) need->box[d].begin = 0;
    if (part[d].end > (*from)[d] + in[d]) need->box[d].end = in[d];
  }
}

bool PlaceExplicitly(const graph::Subgraph& subgraph, const graph::Op& op, const ops::Need& need,
                     ops::Box* computed, TileStep* step) {
  if (!IsOnnx(op)) return true;
  switch (ops::KindOf(op)) {
    case OpKind::kOnnxSlice: {
      const auto steps = StepsOf(subgraph, op);
      if (steps) TakePart(op, *steps, need.box, *computed, step);
      return steps.has_value();
    }
    case OpKind::kOnnxPad:
      return PadPart(subgraph, op, need, computed, step);
    case OpKind::kOnnxConv:
    case OpKind::kOnnxConvInteger:
    case OpKind::kOnnxFusedConv:
    case OpKind::kOnnxQLinearConv:
      return CutGroups(subgraph, op, *computed, step);
    case OpKind::kOnnxResize:
    case OpKind::kOnnxUpsample:
      return ScaleExplicitly(subgraph, op, need, computed, step);
    case OpKind::kOnnxConvTranspose:
      return SpreadExplicitly(subgraph, op, need, *computed, step);
    case OpKind::kOnnxGather:
      return GathersAll(subgraph, op, need, *computed);
    case OpKind::kOnnxTile:
      return RepeatsWhole(subgraph, op, need, *computed);
    default:
      return true;
  }
}

}  // namespace neap::cascade
