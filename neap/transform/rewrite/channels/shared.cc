// SPDX-License-Identifier: Apache-2.0
#include "neap/transform/rewrite/channels/shared.h"

#include <algorithm>

#include "neap/ops/op_table.h"
#include "neap/ops/window.h"
#include "neap/transform/rewrite/rules/common.h"

namespace neap::rewrite {

using graph::Op;
using graph::OpId;
using graph::Subgraph;
using graph::Tensor;
using graph::TensorId;
using ops::OpKind;

namespace {

std::int32_t ZeroOf(const Tensor& tensor) {
  return static_cast<std::int32_t>(tensor.quantization->zero_points.front());
}

// Input `index`, where it is computed or a graph input, of plain int8.
const Tensor* ComputedInput(const Subgraph& subgraph, const Op& op, std::size_t index) {
  const Tensor* const tensor = graph::Operand(subgraph, op.inputs, index);
  return tensor != nullptr && !tensor->constant && IsPlainInt8(*tensor) ? tensor : nullptr;
}

// The sizes that RESHAPE is given end with the number of channels, or leave it to be computed.
bool KeepsLastSize(const Op& op, const Tensor* sizes, std::int64_t channels) {
  const auto ends = [&](const std::vector<std::int64_t>& list) {
    return list.empty() || list.back() == channels ||
           (list.back() == -1 && std::count(list.begin(), list.end(), -1) == 1);
  };
  const std::vector<std::int64_t> attribute = IntsOr(op, "new_shape");
  if (!ends(attribute)) return false;
  if (sizes == nullptr) return !attribute.empty();
  if (!sizes->constant || sizes->type != graph::ElementType::kInt32) return false;
  const auto values = IntegersOf(*sizes);
  return values && !values->empty() && ends(*values);
}

bool IsChannelWise(const Subgraph& subgraph, const Op& op, const Tensor& in, const Tensor& out) {
  const Tensor* const second = graph::Operand(subgraph, op.inputs, 1);
  switch (ops::KindOf(op)) {
    case OpKind::kAveragePool2d:
    case OpKind::kMaxPool2d:
      return ops::WindowOf(subgraph, op) && SameNumbers(in, out) && ClampOf(op, out);
    case OpKind::kAdd: {
      const Tensor* const other = ComputedInput(subgraph, op, 1);
      return other != nullptr && in.shape == out.shape && other->shape == out.shape &&
             ClampOf(op, out);
    }
    case OpKind::kMean: {
      if (second == nullptr || !second->constant) return false;
      const auto axes = IntegersOf(*second);
      const auto last = static_cast<std::int64_t>(in.shape->size()) - 1;
      return axes &&
             std::all_of(axes->begin(), axes->end(),
                         [&](auto axis) { return axis < last && axis >= -last; }) &&
             std::none_of(axes->begin(), axes->end(), [](auto axis) { return axis == -1; });
    }
    case OpKind::kPad: {
      if (second == nullptr || !second->constant || !SameNumbers(in, out)) return false;
      const auto sizes = IntegersOf(*second);
      return sizes && sizes->size() == 2 * in.shape->size() && sizes->back() == 0 &&
             (*sizes)[sizes->size() - 2] == 0;
    }
    case OpKind::kReshape:
      return SameNumbers(in, out) && KeepsLastSize(op, second, ChannelsOf(in));
    default:
      return false;
  }
}

Ranges Full(const Tensor& tensor) {
  return tensor.type == graph::ElementType::kInt8 && ChannelsOf(tensor) > 0
             ? Ranges(static_cast<std::size_t>(ChannelsOf(tensor)))
             : Ranges();
}

// A channel that is its zero point everywhere is a real 0, which sums and means keep exactly.
bool IsZero(const Range& range, const Tensor& tensor) {
  return range == Range{ZeroOf(tensor), ZeroOf(tensor)};
}

Ranges ChannelWiseRanges(const Subgraph& subgraph, const Op& op,
                         const IdVector<TensorId, Ranges>& known) {
  const Tensor& in = subgraph.tensors[op.inputs[0]];
  const Tensor& out = subgraph.tensors[op.outputs[0]];
  Ranges ranges = known[op.inputs[0]];
  const OpKind kind = ops::KindOf(op);
  const auto clamp = ClampOf(op, out);
  for (std::size_t c = 0; c < ranges.size(); ++c) {
    Range& range = ranges[c];
    const std::int32_t zero = ZeroOf(out);
    if (kind == OpKind::kAveragePool2d || kind == OpKind::kMaxPool2d) {
      range = clamp->Of(range);
    } else if (kind == OpKind::kPad) {
      range = {std::min(range.low, zero), std::max(range.high, zero)};
    } else if (kind == OpKind::kMean) {
      range = IsZero(range, in) ? Range{zero, zero} : Range();
    } else if (kind == OpKind::kAdd) {
      const TensorId other = op.inputs[1];
      const bool zeros = IsZero(range, in) && IsZero(known[other][c], subgraph.tensors[other]);
      range = zeros ? Range{zero, zero} : clamp->Of(Range());
    }
  }
  return ranges;
}

}  // namespace

std::int64_t ChannelsOf(const Tensor& tensor) {
  return tensor.shape && !tensor.shape->empty() ? tensor.shape->back() : 0;
}

std::vector<TensorId> TensorsWithSameChannels(const Subgraph& subgraph, const Op& op,
                                              const std::optional<WeightedOp>& weighted) {
  if (weighted) {
    if (!weighted->per_channel || weighted->multiplier != 1) return {};
    return {op.inputs[0], op.outputs[0]};
  }
  if (op.domain != "tflite" || op.outputs.size() != 1) return {};
  const Tensor* const in = ComputedInput(subgraph, op, 0);
  const Tensor* const out = graph::Operand(subgraph, op.outputs, 0);
  if (in == nullptr || out == nullptr || !IsPlainInt8(*out) || ChannelsOf(*in) <= 0 ||
      ChannelsOf(*in) != ChannelsOf(*out) || !IsChannelWise(subgraph, op, *in, *out)) {
    return {};
  }
  if (ops::Is(op, OpKind::kAdd)) return {op.inputs[0], op.inputs[1], op.outputs[0]};
  return {op.inputs[0], op.outputs[0]};
}

IdVector<TensorId, Ranges> RangesOf(const Subgraph& subgraph, const std::vector<OpId>& order,
                                    const IdVector<OpId, std::optional<WeightedOp>>& weighted) {
  IdVector<TensorId, Ranges> ranges(subgraph.tensors.size());
  for (const TensorId id : subgraph.tensors.Ids()) ranges[id] = Full(subgraph.tensors[id]);
  for (const OpId id : order) {
    const Op& op = subgraph.ops[id];
    if (weighted[id]) {
      ranges[op.outputs[0]] = OutputRanges(*weighted[id], ranges[op.inputs[0]]);
    } else if (!TensorsWithSameChannels(subgraph, op, weighted[id]).empty()) {
      ranges[op.outputs[0]] = ChannelWiseRanges(subgraph, op, ranges);
    }
  }
  return ranges;
}

}  // namespace neap::rewrite
