// SPDX-License-Identifier: Apache-2.0
//
// Outputs that are a piece of an input, in one stretch of bytes.
#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "neap/ops/dependence.h"
#include "neap/ops/neap_rt.h"
#include "neap/ops/op_table.h"
#include "neap/ops/overlap.h"
#include "neap/ops/window.h"

namespace neap::ops {
namespace {

using graph::Op;
using graph::Shape;
using graph::Subgraph;
using graph::Tensor;

// The integers of a constant of 32 or 64 bits.
std::optional<std::vector<std::int64_t>> IntegersOf(const Tensor* tensor) {
  if (tensor == nullptr || !tensor->data) return std::nullopt;
  const auto bytes = tensor->data->bytes;
  std::vector<std::int64_t> values;
  if (tensor->type == graph::ElementType::kInt32) {
    for (std::size_t at = 0; at + 4 <= bytes.size(); at += 4) {
      std::int32_t value = 0;
      std::memcpy(&value, bytes.data() + at, sizeof value);
      values.push_back(value);
    }
  } else if (tensor->type == graph::ElementType::kInt64) {
    values.resize(bytes.size() / 8);
    std::memcpy(values.data(), bytes.data(), values.size() * 8);
  } else {
    return std::nullopt;
  }
  return values;
}

// A box of the input: where it begins and how large it is in each dimension.
struct SourceBox {
  std::vector<std::int64_t> begin;
  std::vector<std::int64_t> size;
};

// Along one axis, after the outputs before this one.
std::optional<SourceBox> SplitBox(const Subgraph& subgraph, const Op& op, const Shape& in,
                                  std::optional<std::vector<std::int64_t>> axis,
                                  std::size_t output) {
  if (!axis || axis->size() != 1) return std::nullopt;
  const auto rank = static_cast<std::int64_t>(in.size());
  const std::int64_t along = axis->front() < 0 ? axis->front() + rank : axis->front();
  if (along < 0 || along >= rank) return std::nullopt;
  const auto d = static_cast<std::size_t>(along);
  SourceBox box{std::vector<std::int64_t>(in.size(), 0), in};
  for (std::size_t i = 0; i <= output; ++i) {
    const Tensor* part = graph::Operand(subgraph, op.outputs, i);
    if (part == nullptr || !part->shape || part->shape->size() != in.size()) return std::nullopt;
    box.begin[d] += i < output ? (*part->shape)[d] : 0;
    box.size[d] = (*part->shape)[d];
  }
  return box;
}

std::optional<SourceBox> SliceBox(const Subgraph& subgraph, const Op& op, const Shape& in) {
  const auto begin = IntegersOf(graph::Operand(subgraph, op.inputs, 1));
  const auto size = IntegersOf(graph::Operand(subgraph, op.inputs, 2));
  if (!begin || !size || begin->size() != in.size() || size->size() != in.size()) {
    return std::nullopt;
  }
  SourceBox box{*begin, *size};
  for (std::size_t d = 0; d < in.size(); ++d) {
    if (box.size[d] == -1) box.size[d] = in[d] - box.begin[d];
  }
  return box;
}

// Steps of one, without an ellipsis or new dimensions.
std::optional<SourceBox> StridedSliceBox(const Subgraph& subgraph, const Op& op, const Shape& in) {
  std::array<std::optional<std::vector<std::int64_t>>, 3> words;  // begin, end, steps
  for (std::size_t i = 0; i < words.size(); ++i) {
    words[i] = IntegersOf(graph::Operand(subgraph, op.inputs, i + 1));
    if (!words[i] || words[i]->size() != in.size()) return std::nullopt;
  }
  for (const char* mask : {"ellipsis_mask", "new_axis_mask", "offset"}) {
    if (IntegerAttribute(op, mask, 0) != 0) return std::nullopt;
  }
  const auto set = [&](const char* mask, std::size_t d) {
    return d < 31 && (IntegerAttribute(op, mask, 0) >> d & 1) != 0;
  };
  SourceBox box;
  for (std::size_t d = 0; d < in.size(); ++d) {
    if ((*words[2])[d] != 1) return std::nullopt;
    const auto inside = [&](std::int64_t index) {
      return std::clamp<std::int64_t>(index < 0 ? index + in[d] : index, 0, in[d]);
    };
    const std::int64_t begin = set("begin_mask", d) ? 0 : inside((*words[0])[d]);
    std::int64_t end = set("end_mask", d) ? in[d] : inside((*words[1])[d]);
    if (set("shrink_axis_mask", d)) end = begin + 1;
    box.begin.push_back(begin);
    box.size.push_back(end - begin);
  }
  return box;
}

// Operators of which Neap's kernels alone are plain copies.
bool IsCopyOfNeap(const Op& op) {
  return Is(op, OpKind::kUnpack) ||
         (Is(op, OpKind::kOnnxSplit, OpKind::kOnnxSlice) && IsDefaultOnnxDomain(op.domain));
}

std::optional<SourceBox> CopiedBox(const Subgraph& subgraph, const Op& op, const Shape& out,
                                   std::size_t output) {
  if (op.stateful) {
    // State decides when an operator runs, not which bytes its kernel copies.
    Op stateless = op;
    stateless.stateful = false;
    return CopiedBox(subgraph, stateless, out, output);
  }
  if (!CopiesBoxes(subgraph, op)) return std::nullopt;
  const auto need = NeedOf(subgraph, op, 0, WholeBox(out), output);
  if (!need) return std::nullopt;
  SourceBox box;
  for (const Interval& along : need->box) {
    box.begin.push_back(along.begin);
    box.size.push_back(along.size());
  }
  return box;
}

// Where a box begins, in elements, if it is one stretch of the input: single indices, then one
// dimension in part, then whole ones.
std::optional<std::int64_t> StretchOf(const SourceBox& box, const Shape& in) {
  std::int64_t at = 0;
  bool whole = false;  // from here on
  for (std::size_t d = 0; d < in.size(); ++d) {
    if (box.begin[d] < 0 || box.size[d] < 1 || box.begin[d] > in[d] - box.size[d]) {
      return std::nullopt;
    }
    if (whole && box.size[d] != in[d]) return std::nullopt;
    whole = whole || box.size[d] != 1;
    at = at * in[d] + box.begin[d];
  }
  return at;
}

}  // namespace

std::optional<ViewRule> ViewRuleOf(const Subgraph& subgraph, const Op& op, std::size_t output,
                                   KernelLibrary library) {
  const OpKind kind = KindOf(op);
  // A SLICE moves nothing under any library where source and destination are one.
  const bool copies = library == KernelLibrary::kNeap || library == kNeapRt ||
                      (library != KernelLibrary::kNone && kind == OpKind::kSlice);
  const bool own = library == KernelLibrary::kNeap && IsCopyOfNeap(op);
  if (!copies || (op.domain != "tflite" && !own) || !op.bodies.empty()) return std::nullopt;
  const bool split = kind == OpKind::kSplit;
  ViewRule rule;
  rule.input = split ? 1 : 0;
  const Tensor* in = graph::Operand(subgraph, op.inputs, rule.input);
  const Tensor* out = graph::Operand(subgraph, op.outputs, output);
  if (in == nullptr || out == nullptr || in->constant || !in->shape || !out->shape ||
      in->type != out->type || in->shape->empty()) {
    return std::nullopt;
  }
  const auto in_bytes = graph::TensorBytes(*in);
  const auto out_bytes = graph::TensorBytes(*out);
  const int bits = graph::BitsOf(in->type);
  if (!in_bytes || !out_bytes || *out_bytes == 0 || bits < 8 || bits % 8 != 0) return std::nullopt;
  std::optional<SourceBox> box;
  if (own) {
    box = CopiedBox(subgraph, op, *out->shape, output);
  } else if (split) {
    box = SplitBox(subgraph, op, *in->shape, IntegersOf(graph::Operand(subgraph, op.inputs, 0)),
                   output);
  } else if (kind == OpKind::kSplitV) {
    box = SplitBox(subgraph, op, *in->shape, IntegersOf(graph::Operand(subgraph, op.inputs, 2)),
                   output);
  } else if (kind == OpKind::kSlice) {
    box = SliceBox(subgraph, op, *in->shape);
  } else if (kind == OpKind::kStridedSlice) {
    box = StridedSliceBox(subgraph, op, *in->shape);
  }
  const auto stretch = box ? StretchOf(*box, *in->shape) : std::nullopt;
  if (!stretch) return std::nullopt;
  std::int64_t elements = 1;
  for (const std::int64_t size : box->size) elements *= size;
  if (elements * (bits / 8) != *out_bytes) return std::nullopt;
  rule.bytes = *stretch * (bits / 8);
  return rule;
}

}  // namespace neap::ops
