// SPDX-License-Identifier: Apache-2.0
//
// Walks operators that copy pieces element by element: SPLIT, SPLIT_V, UNPACK, SLICE,
// STRIDED_SLICE, Split and Slice.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

#include "neap/check/kernel_simulation.h"
#include "neap/ops/neap_rt.h"
#include "neap/ops/op_table.h"
#include "neap/ops/window.h"

namespace neap::check {
namespace {

using graph::Op;
using graph::Subgraph;
using graph::Tensor;
using ops::Is;
using ops::OpKind;

// Element `at` of a constant list of integers.
std::optional<std::int64_t> ConstantAt(const Subgraph& subgraph, const Op& op, std::size_t input,
                                       std::size_t at) {
  if (input >= op.inputs.size() || !op.inputs[input].valid()) return std::nullopt;
  const Tensor& tensor = subgraph.tensors[op.inputs[input]];
  if (!tensor.data) return std::nullopt;
  const auto bytes = tensor.data->bytes;
  if (tensor.type == graph::ElementType::kInt32 && at < bytes.size() / 4) {
    std::int32_t value = 0;
    std::memcpy(&value, bytes.data() + 4 * at, 4);
    return value;
  }
  if (tensor.type == graph::ElementType::kInt64 && at < bytes.size() / 8) {
    std::int64_t value = 0;
    std::memcpy(&value, bytes.data() + 8 * at, 8);
    return value;
  }
  return std::nullopt;
}

// Element `at` of a list of Slice: an attribute, or an input.
std::optional<std::int64_t> ListAt(const Subgraph& subgraph, const Op& op, const char* name,
                                   std::size_t input, std::size_t at) {
  const auto found = op.attributes.find(name);
  if (found == op.attributes.end()) return ConstantAt(subgraph, op, input, at);
  const auto* const list = std::get_if<std::vector<std::int64_t>>(&found->second);
  return list == nullptr || at >= list->size() ? std::nullopt : std::optional((*list)[at]);
}

// The same for Slice, whose lists have axes in any order.
std::optional<std::int64_t> FirstOfOnnxSlice(const Subgraph& subgraph, const Op& op,
                                             const graph::Shape& in, std::size_t d,
                                             std::size_t output) {
  constexpr std::size_t kAxes = 3;
  constexpr std::size_t kSteps = 4;
  const auto has = [&](std::size_t i) { return i < op.inputs.size() && op.inputs[i].valid(); };
  const auto rank = static_cast<std::int64_t>(in.size());
  const bool named = op.attributes.contains("axes") || has(kAxes);
  if (!ListAt(subgraph, op, "starts", 1, 0)) return std::nullopt;
  if (named && !ListAt(subgraph, op, "axes", kAxes, 0)) return std::nullopt;
  for (std::size_t i = 0; i < in.size(); ++i) {
    const auto start = ListAt(subgraph, op, "starts", 1, i);
    if (!start) break;
    auto axis = named ? ListAt(subgraph, op, "axes", kAxes, i)
                      : std::optional(static_cast<std::int64_t>(i));
    if (!axis) return std::nullopt;
    if (*axis < 0) *axis += rank;
    if (*axis != static_cast<std::int64_t>(d)) continue;
    // Of one index there is no step.
    const auto& out = subgraph.tensors[op.outputs[output]].shape;
    const bool one = out && d < out->size() && (*out)[d] == 1;
    const auto step = has(kSteps) ? ConstantAt(subgraph, op, kSteps, i) : 1;
    if (step != 1 && !(step && one)) return std::nullopt;
    const std::int64_t last = step == 1 ? in[d] : std::max<std::int64_t>(in[d] - 1, 0);
    return std::clamp<std::int64_t>(*start < 0 ? *start + in[d] : *start, 0, last);
  }
  return 0;
}

// The axis that the operator divides, if it does.
std::optional<std::int64_t> DividedAxis(const Subgraph& subgraph, const Op& op, std::int64_t rank) {
  std::optional<std::int64_t> axis;
  if (Is(op, OpKind::kSplit, OpKind::kSplitV)) {
    axis = ConstantAt(subgraph, op, Is(op, OpKind::kSplit) ? 0 : 2, 0);
  } else if (Is(op, OpKind::kUnpack, OpKind::kOnnxSplit)) {
    axis = ops::IntegerAttribute(op, "axis", 0);
  }
  if (axis && *axis < 0) *axis += rank;
  return axis;
}

// The first index that the kernel takes in dimension d of its input; nullopt: not by steps of one,
// or not known.
std::optional<std::int64_t> FirstIndex(const Subgraph& subgraph, const Op& op, std::size_t output,
                                       const graph::Shape& in, std::size_t d) {
  const auto rank = static_cast<std::int64_t>(in.size());
  if (Is(op, OpKind::kSlice)) return ConstantAt(subgraph, op, 1, d);
  if (Is(op, OpKind::kOnnxSlice)) return FirstOfOnnxSlice(subgraph, op, in, d, output);
  if (Is(op, OpKind::kUnpack)) {
    const auto axis = DividedAxis(subgraph, op, rank);
    return axis == static_cast<std::int64_t>(d) ? static_cast<std::int64_t>(output) : 0;
  }
  if (Is(op, OpKind::kSplit, OpKind::kSplitV, OpKind::kOnnxSplit)) {
    const auto axis = DividedAxis(subgraph, op, rank);
    if (!axis) return std::nullopt;
    std::int64_t first = 0;
    for (std::size_t i = 0; *axis == static_cast<std::int64_t>(d) && i < output; ++i) {
      if (!op.outputs[i].valid()) return std::nullopt;
      const auto& shape = subgraph.tensors[op.outputs[i]].shape;
      if (!shape || shape->size() != in.size()) return std::nullopt;
      first += (*shape)[d];
    }
    return first;
  }
  if (!Is(op, OpKind::kStridedSlice) || ConstantAt(subgraph, op, 3, d) != 1 ||
      ops::IntegerAttribute(op, "ellipsis_mask", 0) != 0 ||
      ops::IntegerAttribute(op, "new_axis_mask", 0) != 0 ||
      ops::IntegerAttribute(op, "offset", 0) != 0 || d > 30) {
    return std::nullopt;
  }
  if ((ops::IntegerAttribute(op, "begin_mask", 0) & std::int64_t{1} << d) != 0) return 0;
  auto begin = ConstantAt(subgraph, op, 1, d);
  if (begin && *begin < 0) *begin += in[d];
  if (begin) *begin = std::min(std::max<std::int64_t>(*begin, 0), in[d]);
  return begin;
}

// The shape of the output with the dimensions that a strided slice or UNPACK leaves out.
graph::Shape FullShape(const Subgraph& subgraph, const Op& op, const graph::Shape& in,
                       const graph::Shape& out) {
  if (Is(op, OpKind::kUnpack)) {
    const auto axis = DividedAxis(subgraph, op, static_cast<std::int64_t>(in.size()));
    if (*axis < 0 || *axis > static_cast<std::int64_t>(out.size())) return {};
    graph::Shape unpacked = out;
    unpacked.insert(unpacked.begin() + *axis, 1);
    return unpacked;
  }
  const std::int64_t gone =
      Is(op, OpKind::kStridedSlice) ? ops::IntegerAttribute(op, "shrink_axis_mask", 0) : 0;
  graph::Shape full;
  std::size_t next = 0;
  for (std::size_t d = 0; d < in.size(); ++d) {
    if (d < 31 && (gone & std::int64_t{1} << d) != 0) {
      full.push_back(1);
    } else {
      full.push_back(next < out.size() ? out[next] : -1);
      ++next;
    }
  }
  if (next != out.size()) full.clear();
  return full;
}

// Whether the library's kernel is one plain copy for each stretch of bytes.
bool CopiesPieces(const Op& op, ops::KernelLibrary library) {
  const bool standard = ops::IsDefaultOnnxDomain(op.domain);
  if (Is(op, OpKind::kUnpack) || standard) return library == ops::KernelLibrary::kNeap;
  return op.domain == "tflite" &&
         (library == ops::KernelLibrary::kNeap || library == ops::kNeapRt ||
          (library != ops::KernelLibrary::kNone && Is(op, OpKind::kSlice)));
}

}  // namespace

bool HoldsOutput(const Subgraph& subgraph, const Op& op, std::size_t input, std::size_t output,
                 ops::KernelLibrary library, std::int64_t offset_bytes) {
  if (!CopiesPieces(op, library) || !op.bodies.empty() ||
      input != (Is(op, OpKind::kSplit) ? 1U : 0U) || output >= op.outputs.size()) {
    return false;
  }
  const Tensor& from = subgraph.tensors[op.inputs[input]];
  const Tensor& to = subgraph.tensors[op.outputs[output]];
  const auto bytes = graph::TensorBytes(to);
  const int bits = graph::BitsOf(to.type);
  if (!from.shape || !to.shape || from.type != to.type || !bytes || bits < 8 || bits % 8 != 0 ||
      from.shape->empty()) {
    return false;
  }
  const graph::Shape& in = *from.shape;
  const graph::Shape full = FullShape(subgraph, op, in, *to.shape);
  if (full.size() != in.size()) return false;
  std::vector<std::int64_t> first;
  for (std::size_t d = 0; d < in.size(); ++d) {
    const auto index = FirstIndex(subgraph, op, output, in, d);
    if (!index || *index < 0 || full[d] < 1 || *index > in[d] - full[d]) return false;
    first.push_back(*index);
  }
  const std::int64_t element = bits / 8;
  graph::Shape at(in.size(), 0);
  for (std::int64_t k = 0; k < *bytes / element; ++k) {
    std::int64_t source = 0;
    for (std::size_t d = 0; d < in.size(); ++d) source = source * in[d] + first[d] + at[d];
    if (source * element != offset_bytes + k * element) return false;
    for (std::size_t d = in.size(); d-- > 0;) {
      if (++at[d] < full[d]) break;
      at[d] = 0;
    }
  }
  return *bytes > 0;
}

bool MayBePiece(const Subgraph& subgraph, const Op& op, std::size_t output,
                ops::KernelLibrary library) {
  const bool kind = Is(op, OpKind::kSplit, OpKind::kSplitV, OpKind::kSlice, OpKind::kStridedSlice,
                       OpKind::kUnpack, OpKind::kOnnxSplit, OpKind::kOnnxSlice);
  const std::size_t input = Is(op, OpKind::kSplit) ? 1 : 0;
  if (!CopiesPieces(op, library) || !kind || output >= op.outputs.size() ||
      !op.outputs[output].valid() || input >= op.inputs.size() || !op.inputs[input].valid()) {
    return false;
  }
  const Tensor& from = subgraph.tensors[op.inputs[input]];
  if (from.constant || from.variable || !from.shape) return false;
  // There is one place that it could have: that of its first element.
  std::int64_t at = 0;
  for (std::size_t d = 0; d < from.shape->size(); ++d) {
    const auto first = FirstIndex(subgraph, op, output, *from.shape, d);
    if (!first || *first < 0 || *first >= (*from.shape)[d]) return false;
    at = at * (*from.shape)[d] + *first;
  }
  return HoldsOutput(subgraph, op, input, output, library, at * (graph::BitsOf(from.type) / 8));
}

bool HandsOver(const Op& op, std::size_t input, ops::KernelLibrary library) {
  if (!Is(op, OpKind::kIf) || op.bodies.size() != 2) return false;
  if (library == ops::KernelLibrary::kNone) return false;
  if (ops::Includes(library, ops::KernelLibrary::kNeap) || ops::Includes(library, ops::kNeapRt)) {
    return false;
  }
  if (input == 0 || input >= op.inputs.size() || op.inputs[input] == op.inputs[0]) return false;
  return std::find(op.captures.begin(), op.captures.end(), op.inputs[input]) == op.captures.end();
}

}  // namespace neap::check
