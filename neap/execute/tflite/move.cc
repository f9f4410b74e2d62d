// SPDX-License-Identifier: Apache-2.0
//
// Operators that move elements: shapes, concatenation, slices, padding, transposition.
#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "neap/base/bytes.h"
#include "neap/execute/families.h"
#include "neap/execute/loops/strided.h"
#include "neap/execute/loops/take.h"
#include "neap/execute/tflite/quantized.h"

namespace neap::execute::tflite {
namespace {

using enum graph::ElementType;

// The integers of an input that has to be a constant: the kernel is laid out by them.
Result<std::vector<std::int64_t>> Constants(const Node& node, std::size_t input) {
  NEAP_CHECK_OK(Require(
      node.Has(input) && node.In(input).constant,
      "has no kernel for parameters that are not constants (input " + std::to_string(input) + ")"));
  const graph::ElementType type = node.In(input).type;
  NEAP_CHECK_OK(Require(type == kInt32 || type == kInt64, "expected int32 or int64 parameters"));
  return ReadIntegers(type, node.In(input).data);
}

Result<std::int64_t> OneConstant(const Node& node, std::size_t input) {
  NEAP_TRY(const auto values, Constants(node, input));
  NEAP_CHECK_OK(Require(values.size() == 1, "expected one integer as parameter"));
  return values[0];
}

Result<RunKernel> PrepareReshape(const Node& node) { return CopyKernel(node); }

Result<RunKernel> PrepareConcatenation(const Node& node) {
  NEAP_CHECK_OK(Require(IntOr(*node.op, "fused_activation_function", kNone) == kNone,
                        "has no kernel for its fused activation"));
  const std::int64_t axis = IntOr(*node.op, "axis", 0);
  const bool rescales =
      node.outputs.size() == 1 && node.Out().type == kUint8 && node.Out().quantization != nullptr;
  return rescales ? QuantizedConcat(node, axis) : ConcatKernel(node, axis);
}

Result<RunKernel> PrepareSplit(const Node& node) {
  NEAP_TRY(const std::int64_t axis, OneConstant(node, 0));
  return SplitKernel(node, 1, axis);
}
Result<RunKernel> PrepareSplitV(const Node& node) {
  NEAP_TRY(const std::int64_t axis, OneConstant(node, 2));
  return SplitKernel(node, 0, axis);
}

// Stacks along a new dimension: to the bytes it is a concatenation along that dimension.
Result<RunKernel> PreparePack(const Node& node) {
  NEAP_CHECK_OK(Require(node.outputs.size() == 1 && node.Out().present, "has no output"));
  NEAP_TRY(const std::size_t axis, NormalAxis(IntOr(*node.op, "axis", 0), node.Out().Rank()));
  Node seen = node;
  for (Operand& input : seen.inputs) {
    NEAP_CHECK_OK(Require(input.present && input.Rank() + 1 == node.Out().Rank(),
                          "its inputs do not have one dimension less than its output"));
    input.shape.insert(input.shape.begin() + static_cast<std::ptrdiff_t>(axis), 1);
  }
  return ConcatKernel(seen, static_cast<std::int64_t>(axis));
}
Result<RunKernel> PrepareUnpack(const Node& node) {
  NEAP_CHECK_OK(Require(node.Has(0), "has no input"));
  NEAP_TRY(const std::size_t axis, NormalAxis(IntOr(*node.op, "axis", 0), node.In(0).Rank()));
  Node seen = node;
  for (Operand& output : seen.outputs) {
    NEAP_CHECK_OK(Require(output.present && output.Rank() + 1 == node.In(0).Rank(),
                          "its outputs do not have one dimension less than its input"));
    output.shape.insert(output.shape.begin() + static_cast<std::ptrdiff_t>(axis), 1);
  }
  return SplitKernel(seen, 0, static_cast<std::int64_t>(axis));
}

Result<RunKernel> PrepareTranspose(const Node& node) {
  NEAP_CHECK_OK(RequireOperands(node, 2, 2));
  NEAP_TRY(const auto order, Constants(node, 1));
  return TransposeKernel(node, order);
}

Result<RunKernel> PrepareSlice(const Node& node) {
  NEAP_CHECK_OK(RequireOperands(node, 3, 3));
  const graph::Shape& in = node.In(0).shape;
  NEAP_TRY(const auto begin, Constants(node, 1));
  NEAP_TRY(const auto size, Constants(node, 2));
  NEAP_CHECK_OK(Require(begin.size() == in.size() && size.size() == in.size(),
                        "begin and size have another rank than the input"));
  std::vector<IndexMap> maps;
  for (std::size_t d = 0; d < in.size(); ++d) {
    NEAP_CHECK_OK(
        Require(begin[d] >= 0 && begin[d] <= in[d] && size[d] >= -1 && size[d] <= in[d] - begin[d],
                "the slice is not inside the input"));
    maps.push_back(Stepped(begin[d], 1, size[d] < 0 ? in[d] - begin[d] : size[d]));
  }
  return TakeKernel(node, std::move(maps));
}

struct Masks {
  std::int64_t begin;
  std::int64_t end;
  std::int64_t ellipsis;
  std::int64_t new_axis;
  std::int64_t shrink;
};

// One dimension as Python slices it.
Result<IndexMap> SliceDimension(std::int64_t size, std::int64_t begin, std::int64_t end,
                                std::int64_t step, bool whole_begin, bool whole_end) {
  NEAP_CHECK_OK(Require(step != 0 && step > -(std::int64_t{1} << 31), "a step of the slice is 0"));
  const std::int64_t low = step > 0 ? 0 : -1;
  const std::int64_t high = step > 0 ? size : size - 1;
  const auto clamp = [&](std::int64_t at) {
    return std::clamp(at < 0 ? at + size : at, low, std::max(low, high));
  };
  const std::int64_t first = whole_begin ? (step > 0 ? 0 : size - 1) : clamp(begin);
  const std::int64_t last = whole_end ? (step > 0 ? size : -1) : clamp(end);
  const std::int64_t span = step > 0 ? last - first : first - last;
  const std::int64_t stride = step > 0 ? step : -step;
  return Stepped(first, step, span <= 0 ? 0 : (span + stride - 1) / stride);
}

Result<RunKernel> PrepareStridedSlice(const Node& node) {
  NEAP_CHECK_OK(RequireOperands(node, 4, 4));
  const graph::Shape& in = node.In(0).shape;
  NEAP_TRY(const auto begin, Constants(node, 1));
  NEAP_TRY(const auto end, Constants(node, 2));
  NEAP_TRY(const auto step, Constants(node, 3));
  const Masks masks{IntOr(*node.op, "begin_mask", 0), IntOr(*node.op, "end_mask", 0),
                    IntOr(*node.op, "ellipsis_mask", 0), IntOr(*node.op, "new_axis_mask", 0),
                    IntOr(*node.op, "shrink_axis_mask", 0)};
  NEAP_CHECK_OK(
      Require(masks.ellipsis == 0 && masks.new_axis == 0 && IntOr(*node.op, "offset", 0) == 0,
              "has no kernel for slices with an ellipsis, a new axis or an offset"));
  NEAP_CHECK_OK(Require(begin.size() == end.size() && begin.size() == step.size() &&
                            begin.size() <= in.size() && begin.size() < 32,
                        "begin, end and strides have different lengths"));
  std::vector<IndexMap> maps;
  graph::Shape kept;
  for (std::size_t d = 0; d < in.size(); ++d) {
    if (d >= begin.size()) {
      maps.push_back(Identity(in[d]));
      kept.push_back(in[d]);
      continue;
    }
    const auto has = [&](std::int64_t mask) { return ((mask >> d) & 1) != 0; };
    if (has(masks.shrink)) {
      const std::int64_t at = begin[d] < 0 ? begin[d] + in[d] : begin[d];
      NEAP_CHECK_OK(Require(at >= 0 && at < in[d], "the slice is not inside the input"));
      maps.push_back({at});
      continue;
    }
    NEAP_TRY(IndexMap map,
             SliceDimension(in[d], begin[d], end[d], step[d], has(masks.begin), has(masks.end)));
    kept.push_back(static_cast<std::int64_t>(map.size()));
    maps.push_back(std::move(map));
  }
  NEAP_CHECK_OK(RequireShape(node.Out(), kept));
  Node seen = node;
  seen.outputs[0].shape.clear();
  for (const IndexMap& map : maps) {
    seen.outputs[0].shape.push_back(static_cast<std::int64_t>(map.size()));
  }
  return TakeKernel(seen, std::move(maps));
}

// Pairs (before, after) for each dimension.
Result<std::vector<std::int64_t>> Paddings(const Node& node) {
  NEAP_TRY(auto paddings, Constants(node, 1));
  NEAP_CHECK_OK(Require(paddings.size() == 2 * node.In(0).Rank(),
                        "expected two paddings for each dimension"));
  for (std::size_t i = 0; i < paddings.size(); ++i) {
    NEAP_CHECK_OK(Require(paddings[i] >= 0 && paddings[i] <= node.Out().elements,
                          "a padding is out of range"));
  }
  return paddings;
}

// The default fill value of a pad: zero, which of quantised tensors is the zero point.
Result<std::vector<std::byte>> ZeroOf(const Operand& operand) {
  NEAP_TRY(const std::size_t size, ElementBytes(operand.type));
  std::int64_t zero = 0;
  if (operand.quantization != nullptr && !operand.quantization->zero_points.empty()) {
    zero = operand.quantization->zero_points[0];
  }
  std::vector<std::byte> bytes(size);
  if (operand.type != kFloat32 && operand.type != kFloat64 && operand.type != kFloat16) {
    std::memcpy(bytes.data(), &zero, std::min(size, sizeof zero));
  }
  return bytes;
}

Result<RunKernel> PreparePad(const Node& node) {
  NEAP_CHECK_OK(RequireOperands(node, 2, 3));
  NEAP_TRY(const auto paddings, Paddings(node));
  NEAP_TRY(const std::size_t size, ElementBytes(node.In(0).type));
  NEAP_TRY(const auto zero, ZeroOf(node.Out()));
  NEAP_CHECK_OK(RequireType(node.Out(), node.In(0).type));
  const bool has_value = node.Has(2);
  NEAP_CHECK_OK(
      Require(!has_value || (node.In(2).type == node.In(0).type && node.In(2).elements == 1),
              "the value of the padding is not a single element of its type"));
  const graph::Shape in = node.In(0).shape;
  std::vector<IndexMap> maps;
  graph::Shape out;
  for (std::size_t d = 0; d < in.size(); ++d) {
    out.push_back(paddings[2 * d] + in[d] + paddings[2 * d + 1]);
  }
  NEAP_CHECK_OK(RequireShape(node.Out(), out));
  for (std::size_t d = 0; d < in.size(); ++d) {
    IndexMap map(static_cast<std::size_t>(out[d]), -1);
    for (std::int64_t i = 0; i < in[d]; ++i) map[static_cast<std::size_t>(paddings[2 * d] + i)] = i;
    maps.push_back(std::move(map));
  }
  return RunKernel([=](const Arguments& arguments) -> Status {
    Take(in, maps, size, arguments.inputs[0].data(), has_value ? arguments.inputs[2] : zero,
         arguments.outputs[0].data());
    return {};
  });
}

Result<RunKernel> PrepareMirrorPad(const Node& node) {
  NEAP_CHECK_OK(RequireOperands(node, 2, 2));
  NEAP_TRY(const auto paddings, Paddings(node));
  const std::int64_t edge = IntOr(*node.op, "mode", 0) == 0 ? 1 : 0;  // reflect leaves the edge out
  std::vector<IndexMap> maps;
  for (std::size_t d = 0; d < node.In(0).Rank(); ++d) {
    const std::int64_t size = node.In(0).shape[d];
    NEAP_CHECK_OK(Require(paddings[2 * d] <= size - edge && paddings[2 * d + 1] <= size - edge,
                          "a mirrored padding is larger than the input"));
    IndexMap map;
    for (std::int64_t i = -paddings[2 * d]; i < size + paddings[2 * d + 1]; ++i) {
      map.push_back(i < 0 ? -i - 1 + edge : i >= size ? 2 * size - 1 - edge - i : i);
    }
    maps.push_back(std::move(map));
  }
  return TakeKernel(node, std::move(maps));
}

Result<RunKernel> PrepareTile(const Node& node) {
  NEAP_CHECK_OK(RequireOperands(node, 2, 2));
  NEAP_TRY(const auto repeats, Constants(node, 1));
  NEAP_CHECK_OK(
      Require(repeats.size() == node.In(0).Rank() && node.Out().Rank() == node.In(0).Rank(),
              "expected one number for each dimension"));
  std::vector<IndexMap> maps;
  for (std::size_t d = 0; d < repeats.size(); ++d) {
    const std::int64_t size = node.In(0).shape[d];
    const auto places = CheckedMultiply(size, repeats[d]);
    NEAP_CHECK_OK(Require(places == node.Out().shape[d], "the output is not the repeated input"));
    IndexMap map;
    for (std::int64_t i = 0; i < *places; ++i) map.push_back(i % size);
    maps.push_back(std::move(map));
  }
  return TakeKernel(node, std::move(maps));
}

constexpr KernelEntry kMoveKernels[] = {
    {"RESHAPE", PrepareReshape},
    {"SQUEEZE", PrepareReshape},
    {"EXPAND_DIMS", PrepareReshape},
    {"CONCATENATION", PrepareConcatenation},
    {"SPLIT", PrepareSplit},
    {"SPLIT_V", PrepareSplitV},
    {"PACK", PreparePack},
    {"UNPACK", PrepareUnpack},
    {"TRANSPOSE", PrepareTranspose},
    {"SLICE", PrepareSlice},
    {"STRIDED_SLICE", PrepareStridedSlice},
    {"PAD", PreparePad},
    {"PADV2", PreparePad},
    {"MIRROR_PAD", PrepareMirrorPad},
    {"TILE", PrepareTile},
};

}  // namespace

std::span<const KernelEntry> MoveKernels() { return kMoveKernels; }

}  // namespace neap::execute::tflite
