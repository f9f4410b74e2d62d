// SPDX-License-Identifier: Apache-2.0
//
// Walks SPLIT, SPLIT_V, SLICE and STRIDED_SLICE element by element.
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

// The first index that the kernel takes in dimension d of its input; nullopt: not by steps of one,
// or not known.
std::optional<std::int64_t> FirstIndex(const Subgraph& subgraph, const Op& op, std::size_t output,
                                       const graph::Shape& in, std::size_t d) {
  const auto rank = static_cast<std::int64_t>(in.size());
  if (Is(op, OpKind::kSlice)) return ConstantAt(subgraph, op, 1, d);
  if (Is(op, OpKind::kSplit, OpKind::kSplitV)) {
    auto axis = ConstantAt(subgraph, op, Is(op, OpKind::kSplit) ? 0 : 2, 0);
    if (!axis) return std::nullopt;
    if (*axis < 0) *axis += rank;
    std::int64_t first = 0;
    for (std::size_t i = 0; *axis == static_cast<std::int64_t>(d) && i < output; ++i) {
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

// The shape of the output with the dimensions that a strided slice leaves out.
graph::Shape FullShape(const Op& op, const graph::Shape& in, const graph::Shape& out) {
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
  return library == ops::KernelLibrary::kNeap || library == ops::kNeapRt ||
         (library != ops::KernelLibrary::kNone && Is(op, OpKind::kSlice));
}

}  // namespace

bool HoldsOutput(const Subgraph& subgraph, const Op& op, std::size_t input, std::size_t output,
                 ops::KernelLibrary library, std::int64_t offset_bytes) {
  if (!CopiesPieces(op, library) || op.domain != "tflite" || !op.bodies.empty() ||
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
  const graph::Shape full = FullShape(op, in, *to.shape);
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
  const bool kind = Is(op, OpKind::kSplit, OpKind::kSplitV, OpKind::kSlice, OpKind::kStridedSlice);
  const std::size_t input = Is(op, OpKind::kSplit) ? 1 : 0;
  if (!CopiesPieces(op, library) || op.domain != "tflite" || !kind || output >= op.outputs.size() ||
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
