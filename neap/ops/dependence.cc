// SPDX-License-Identifier: Apache-2.0
#include "neap/ops/dependence.h"

#include <algorithm>

#include "neap/ops/dependence_rules.h"
#include "neap/ops/onnx_rules.h"
#include "neap/ops/op_table.h"
#include "neap/ops/window.h"

namespace neap::ops {
namespace dependence {

using graph::Shape;

bool Subject::Has(std::size_t other) const {
  return other < op.inputs.size() && op.inputs[other].valid();
}

const Shape* Subject::ShapeOf(std::size_t other) const {
  if (!Has(other)) return nullptr;
  const auto& shape = subgraph.tensors[op.inputs[other]].shape;
  const bool known = shape && std::all_of(shape->begin(), shape->end(),
                                          [](auto d) { return d >= 0 && d <= kMaxIndex; });
  return known ? &*shape : nullptr;
}

std::int64_t Subject::Int(const char* name, std::int64_t otherwise) const {
  return IntegerAttribute(op, name, otherwise);
}

std::optional<Integers> Subject::Ints(const char* name) const {
  const auto found = op.attributes.find(name);
  if (found == op.attributes.end()) return std::nullopt;
  const auto* values = std::get_if<Integers>(&found->second);
  return values == nullptr ? std::nullopt : std::optional(*values);
}

std::string_view Subject::Text(const char* name, std::string_view otherwise) const {
  const auto found = op.attributes.find(name);
  if (found == op.attributes.end()) return otherwise;
  const auto* text = std::get_if<std::string>(&found->second);
  return text == nullptr ? otherwise : std::string_view(*text);
}

std::optional<Integers> Subject::Values(std::size_t other) const {
  if (!Has(other)) return std::nullopt;
  const graph::Tensor& tensor = subgraph.tensors[op.inputs[other]];
  if (!tensor.constant || !onnx::IsWhole(tensor.type)) return std::nullopt;
  const auto decoded = onnx::Decode(tensor);
  if (!decoded) return std::nullopt;
  Integers values;
  for (const onnx::Number& number : *decoded) values.push_back(number.whole);
  return values;
}

std::optional<std::size_t> Subject::Axis(std::int64_t axis, std::size_t rank) {
  return onnx::Axis(axis, rank);
}

Need Clipped(const Shape& in, const Box& wanted) {
  Need need;
  for (std::size_t d = 0; d < in.size(); ++d) {
    const Interval& want = wanted[d];
    const std::int64_t size = in[d];
    Interval have = {std::clamp<std::int64_t>(want.begin, 0, size),
                     std::clamp<std::int64_t>(want.end, 0, size)};
    have.end = std::max(have.begin, have.end);
    need.box.push_back(have);
    Need::Padding padding;
    if (!want.empty()) {
      padding.before = std::max<std::int64_t>(std::min<std::int64_t>(want.end, 0) - want.begin, 0);
      padding.after = std::max<std::int64_t>(want.end - std::max(want.begin, size), 0);
    }
    need.padding.push_back(padding);
  }
  return need;
}

Need Whole(const Shape& in) { return Clipped(in, WholeBox(in)); }

namespace {

const Shape* KnownShape(const graph::Subgraph& subgraph, const std::vector<graph::TensorId>& list,
                        std::size_t at) {
  if (at >= list.size() || !list[at].valid()) return nullptr;
  const auto& shape = subgraph.tensors[list[at]].shape;
  const bool known =
      shape && shape->size() <= onnx::kMaxRank &&
      std::all_of(shape->begin(), shape->end(), [](auto d) { return d >= 0 && d <= kMaxIndex; });
  return known ? &*shape : nullptr;
}

bool Within(const Box& box, const Shape& shape) {
  if (box.size() != shape.size()) return false;
  for (std::size_t d = 0; d < box.size(); ++d) {
    if (box[d].begin < 0 || box[d].end > shape[d]) return false;
  }
  return true;
}

}  // namespace
}  // namespace dependence

Box WholeBox(const graph::Shape& shape) {
  Box box;
  for (const std::int64_t d : shape) box.push_back({0, d});
  return box;
}

bool IsEmpty(const Box& box) {
  return std::any_of(box.begin(), box.end(), [](const Interval& i) { return i.empty(); });
}

Box Hull(const Box& a, const Box& b) {
  if (IsEmpty(a)) return b;
  if (IsEmpty(b)) return a;
  Box hull = a;
  for (std::size_t d = 0; d < hull.size(); ++d) {
    hull[d].begin = std::min(hull[d].begin, b[d].begin);
    hull[d].end = std::max(hull[d].end, b[d].end);
  }
  return hull;
}

std::int64_t ElementsOf(const Box& box) {
  std::int64_t elements = 1;
  for (const Interval& interval : box) elements *= interval.size();
  return elements;
}

std::optional<Need> NeedOf(const graph::Subgraph& subgraph, const graph::Op& op, std::size_t input,
                           const Box& output_box, std::size_t output) {
  using namespace dependence;
  if (!op.bodies.empty() || op.stateful) return std::nullopt;
  const graph::Shape* in = KnownShape(subgraph, op.inputs, input);
  const graph::Shape* out = KnownShape(subgraph, op.outputs, output);
  if (in == nullptr || out == nullptr || !Within(output_box, *out)) return std::nullopt;
  const OpRow& row = RowOf(KindOf(op));
  // Vendor operators may have more inputs than the standard operator of the same name.
  const bool standard = op.domain == "tflite" || IsDefaultOnnxDomain(op.domain);
  auto rule = standard || row.kind == OpKind::kOnnxFusedConv ? row.need : nullptr;
  if ((row.traits & trait::kElementwise) != 0) rule = Elementwise;
  if (rule == nullptr) return std::nullopt;
  const Subject subject{subgraph, op, row.kind, input, output, *in, *out, output_box};
  if (IsEmpty(output_box)) return Clipped(*in, Box(in->size()));
  MaybeNeed need = rule(subject);
  if (need && IsEmpty(need->box)) {
    for (Interval& interval : need->box) interval.end = interval.begin;
  } else if (need) {
    WidenToScale(subject, &*need);
  }
  return need;
}

constexpr std::size_t kImageRank = 4;

namespace {

constexpr std::int64_t kMaxPlaces = 1 << 22;

// Of images and signals whose channels come first: one value for each channel, which needs that
// channel alone.
bool IsMeanOfPlanes(const graph::Subgraph& subgraph, const graph::Op& op, const graph::Shape& in,
                    const graph::Shape& out) {
  constexpr std::size_t kChannel = 1;
  const std::int64_t width = in.size() == kImageRank ? in[3] : 1;
  if (out.size() <= kChannel || in[2] < 1 || width < 1 || in[2] > kMaxPlaces ||
      in[2] * width > kMaxPlaces || out[kChannel] != in[kChannel]) {
    return false;
  }
  std::int64_t elements = 1;
  for (const std::int64_t d : out) elements *= d;
  if (elements != in[kChannel]) return false;
  Box first = WholeBox(out);
  first[kChannel] = {0, 1};
  Box plane = WholeBox(in);
  plane[kChannel] = {0, 1};
  const auto need = NeedOf(subgraph, op, 0, first);
  return need && need->box == plane;
}

// Of images and signals whose channels come last: every axis but the last is reduced to one index.
bool IsMeanOfPixels(const graph::Subgraph& subgraph, const graph::Op& op, const graph::Shape& in,
                    const graph::Shape& out) {
  std::int64_t places = 1;
  for (std::size_t d = 1; d + 1 < in.size(); ++d) places = std::min(places * in[d], kMaxPlaces + 1);
  std::int64_t channels = 1;
  for (const std::int64_t d : out) channels *= d;
  if (places < 1 || places > kMaxPlaces || channels != in.back()) return false;
  if (out.empty() || out.back() != channels) return false;
  const auto need = NeedOf(subgraph, op, 0, WholeBox(out));
  return need && need->box == WholeBox(in);
}

}  // namespace

bool IsMeanOfPlaces(const graph::Subgraph& subgraph, const graph::Op& op, bool channels_first) {
  const bool onnx =
      Is(op, OpKind::kOnnxGlobalAveragePool, OpKind::kOnnxReduceMean, OpKind::kOnnxReduceSum);
  const bool known = (onnx || Is(op, OpKind::kMean, OpKind::kAveragePool2d, OpKind::kSum)) &&
                     op.outputs.size() == 1 && op.outputs[0].valid() && !op.inputs.empty() &&
                     op.inputs[0].valid() && !subgraph.tensors[op.inputs[0]].constant;
  if (!known || (onnx && !IsDefaultOnnxDomain(op.domain))) return false;
  const graph::Tensor& in = subgraph.tensors[op.inputs[0]];
  const graph::Tensor& out = subgraph.tensors[op.outputs[0]];
  const bool small = in.type == out.type && (in.type == graph::ElementType::kInt8 ||
                                             in.type == graph::ElementType::kUint8);
  const bool real = in.type == out.type && in.type == graph::ElementType::kFloat32;
  // Kernels of float pool by windows, and sums of 8 bits are not means.
  if (real ? Is(op, OpKind::kAveragePool2d) : !small || onnx || Is(op, OpKind::kSum)) return false;
  if (!in.shape || !out.shape || in.shape->size() < 3 || in.shape->size() > kImageRank ||
      (*in.shape)[0] != 1) {
    return false;
  }
  return channels_first ? IsMeanOfPlanes(subgraph, op, *in.shape, *out.shape)
                        : IsMeanOfPixels(subgraph, op, *in.shape, *out.shape);
}

bool SumsInOrder(const graph::Subgraph& subgraph, const graph::Op& op) {
  return subgraph.tensors[op.inputs[0]].type == graph::ElementType::kFloat32;
}

std::int64_t SumBytesOf(const graph::Subgraph& subgraph, const graph::Op& op) {
  constexpr std::int64_t kMaxPlacesOfTwoBytes = 256;
  if (SumsInOrder(subgraph, op)) return 1;
  const graph::Shape& in = *subgraph.tensors[op.inputs[0]].shape;
  std::int64_t places = 1;
  for (std::size_t d = 1; d + 1 < in.size(); ++d) places *= in[d];
  return places <= kMaxPlacesOfTwoBytes ? 2 : 4;
}

std::optional<std::int64_t> ResizeFactor(const graph::Subgraph& subgraph, const graph::Op& op,
                                         std::size_t axis) {
  constexpr std::int64_t kMost = 1024;         // units of kernels of integers
  constexpr std::int64_t kMaxPlace = 1 << 20;  // exact with a fraction in single precision
  if (!Is(op, OpKind::kResizeBilinear, OpKind::kResizeNearestNeighbor) ||
      IntegerAttribute(op, "align_corners", 0) != 0) {
    return std::nullopt;
  }
  const graph::Tensor* const in = graph::Operand(subgraph, op.inputs, 0);
  const graph::Tensor* const out = graph::Operand(subgraph, op.outputs, 0);
  if (in == nullptr || out == nullptr || !in->shape || !out->shape ||
      in->shape->size() != kImageRank || out->shape->size() != kImageRank) {
    return std::nullopt;
  }
  const std::int64_t from = (*in->shape)[axis];
  const std::int64_t to = (*out->shape)[axis];
  if (from < 1 || to < from || to > kMaxPlace || to % from != 0) return std::nullopt;
  const std::int64_t factor = to / from;
  return factor <= kMost && (factor & (factor - 1)) == 0 ? std::optional(factor) : std::nullopt;
}

bool CopiesBoxes(const graph::Subgraph& subgraph, const graph::Op& op) {
  if (Has(op, trait::kSplits)) return true;
  if (!Is(op, OpKind::kSlice, OpKind::kStridedSlice, OpKind::kOnnxSlice)) return false;
  const graph::Tensor* const in = graph::Operand(subgraph, op.inputs, 0);
  const graph::Tensor* const out = graph::Operand(subgraph, op.outputs, 0);
  if (in == nullptr || out == nullptr || !in->shape || !out->shape || in->type != out->type ||
      in->shape->size() != out->shape->size()) {
    return false;
  }
  const int bits = graph::BitsOf(in->type);
  if (bits == 0 || bits % 8 != 0) return false;
  Box first;
  Box last;
  for (const std::int64_t size : *out->shape) {
    if (size < 1) return false;
    first.push_back({0, 1});
    last.push_back({size - 1, size});
  }
  const auto from = NeedOf(subgraph, op, 0, first);
  const auto to = NeedOf(subgraph, op, 0, last);
  if (!from || !to) return false;
  for (std::size_t d = 0; d < first.size(); ++d) {
    const std::int64_t size = (*out->shape)[d];
    if (from->box[d].size() != 1 || to->box[d].size() != 1 ||
        to->box[d].begin - from->box[d].begin != size - 1) {
      return false;
    }
  }
  return true;
}

bool IsByChannel(const graph::Subgraph& subgraph, const graph::Op& op) {
  if (op.domain != "tflite" || op.outputs.size() != 1 || !op.outputs[0].valid()) return false;
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    const bool value = op.inputs[i].valid() && !subgraph.tensors[op.inputs[i]].constant;
    if (value != (i == 0)) return false;
  }
  if (op.inputs.empty()) return false;
  const graph::Tensor& in = subgraph.tensors[op.inputs[0]];
  const graph::Tensor& out = subgraph.tensors[op.outputs[0]];
  if (in.type != out.type || !in.shape || !out.shape || *in.shape != *out.shape ||
      in.shape->size() != kImageRank || (*in.shape)[0] != 1 || graph::BitsOf(in.type) % 8 != 0) {
    return false;
  }
  const std::int64_t channels = (*in.shape)[3];
  for (std::int64_t c = 0; c < channels; ++c) {
    Box box = WholeBox(*out.shape);
    box[3] = {c, c + 1};
    const auto need = NeedOf(subgraph, op, 0, box);
    if (!need || need->box[3] != Interval{c, c + 1}) return false;
  }
  return true;
}

}  // namespace neap::ops
