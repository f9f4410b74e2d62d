// SPDX-License-Identifier: Apache-2.0
//
// Operators that move elements. Parameters may be inputs of the model, so that maps are made in
// each run and compared with the shape that was planned.
#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "neap/execute/families.h"
#include "neap/execute/loops/strided.h"
#include "neap/execute/loops/take.h"
#include "neap/execute/onnx/common.h"

namespace neap::execute::onnx {
namespace {

using enum graph::ElementType;

Status RunTake(Shapes shapes, std::vector<IndexMap> maps, const std::optional<Within>& within,
               const Arguments& arguments, std::span<const std::byte> fill) {
  for (std::size_t d = 0; d < maps.size(); ++d) {
    NEAP_CHECK_OK(Require(static_cast<std::int64_t>(maps[d].size()) == shapes.out[d],
                          "its parameters give another shape than the planned one"));
  }
  if (within) NEAP_CHECK_OK(CutMaps(*within, 2, &maps, &shapes.in));
  Take(shapes.in, maps, shapes.element_bytes, arguments.inputs[0].data(), fill,
       arguments.outputs[0].data());
  return {};
}

Result<RunKernel> PrepareCopy(const Node& node) { return CopyKernel(node); }

Result<RunKernel> PrepareTranspose(const Node& node) {
  NEAP_CHECK_OK(RequireOperands(node, 1, 1));
  std::vector<std::int64_t> order(node.In(0).Rank());
  for (std::size_t d = 0; d < order.size(); ++d) {
    order[d] = static_cast<std::int64_t>(order.size() - 1 - d);
  }
  return TransposeKernel(node, IntsOr(*node.op, "perm", order));
}

Result<RunKernel> PrepareConcat(const Node& node) {
  return ConcatKernel(node, IntOr(*node.op, "axis", 1));
}

// Sizes are those of the outputs.
Result<RunKernel> PrepareSplit(const Node& node) {
  NEAP_CHECK_OK(Require(node.inputs.size() <= 2, "has too many inputs"));
  return SplitKernel(node, 0, IntOr(*node.op, "axis", 0));
}

Result<RunKernel> PrepareGather(const Node& node) {
  return GatherKernel(node, IntOr(*node.op, "axis", 0), 0, true);
}

// One dimension from `start` to `end`, which may be outside of it.
Result<IndexMap> SliceDimension(std::int64_t size, std::int64_t start, std::int64_t end,
                                std::int64_t step) {
  NEAP_CHECK_OK(Require(step != 0, "a step of the slice is 0"));
  const auto clamp = [&](std::int64_t at, std::int64_t low, std::int64_t high) {
    if (at < 0) at = at < -size ? -1 : at + size;
    return std::clamp(at, low, std::max(low, high));
  };
  if (step > 0) {
    start = clamp(start, 0, size);
    end = end < -size ? 0 : clamp(end, 0, size);
    return Stepped(start, step, start >= end ? 0 : (end - start - 1) / step + 1);
  }
  start = clamp(start, -1, size - 1);
  end = clamp(end, -1, size - 1);
  const std::int64_t down = step == std::numeric_limits<std::int64_t>::min() ? size : -step;
  return Stepped(start, -std::min(down, std::max<std::int64_t>(size, 1)),
                 start <= end ? 0 : (start - end - 1) / down + 1);
}

// Parameters are inputs since version 10, attributes before.
Result<RunKernel> PrepareSlice(const Node& node) {
  NEAP_TRY(const Shapes shapes, MoveShapes(node));
  NEAP_CHECK_OK(Require(shapes.in.size() == shapes.out.size(), "its output has another rank"));
  const bool inputs = node.inputs.size() > 1;
  const auto attribute = [&](const char* name) { return IntsOr(*node.op, name, {}); };
  return RunKernel([=, starts = attribute("starts"), ends = attribute("ends"),
                    axes = attribute("axes"),
                    node_copy = node](const Arguments& arguments) -> Status {
    const auto first = inputs ? Integers(node_copy, arguments, 1) : starts;
    const auto last = inputs ? Integers(node_copy, arguments, 2) : ends;
    auto along = inputs ? Integers(node_copy, arguments, 3) : axes;
    auto steps = inputs ? Integers(node_copy, arguments, 4) : std::vector<std::int64_t>();
    if (along.empty()) {
      for (std::size_t i = 0; i < first.size(); ++i) along.push_back(static_cast<std::int64_t>(i));
    }
    if (steps.empty()) steps.assign(first.size(), 1);
    NEAP_CHECK_OK(Require(
        last.size() == first.size() && along.size() == first.size() && steps.size() == first.size(),
        "starts, ends, axes and steps have different lengths"));
    std::vector<IndexMap> maps;
    for (const std::int64_t size : shapes.in) maps.push_back(Identity(size));
    for (std::size_t i = 0; i < first.size(); ++i) {
      NEAP_TRY(const std::size_t d, NormalAxis(along[i], shapes.in.size()));
      NEAP_TRY(maps[d], SliceDimension(shapes.in[d], first[i], last[i], steps[i]));
    }
    return RunTake(shapes, std::move(maps), node_copy.within, arguments, {});
  });
}

// Where padded indices come from, -1 for the constant.
Result<IndexMap> PadDimension(std::int64_t size, std::int64_t before, std::int64_t after,
                              const std::string& mode) {
  IndexMap map;
  for (std::int64_t i = -before; i < size + after; ++i) {
    if (i >= 0 && i < size) {
      map.push_back(i);
    } else if (mode == "constant") {
      map.push_back(-1);
    } else if (size == 0) {
      return Fail(BadInput("pads an empty dimension"));
    } else if (mode == "edge") {
      map.push_back(std::clamp<std::int64_t>(i, 0, size - 1));
    } else if (mode == "wrap") {
      map.push_back((i % size + size) % size);
    } else {
      const std::int64_t period = std::max<std::int64_t>(2 * (size - 1), 1);
      const std::int64_t at = (i % period + period) % period;
      map.push_back(at < size ? at : period - at);
    }
  }
  return map;
}

Result<RunKernel> PreparePad(const Node& node) {
  NEAP_TRY(const Shapes shapes, MoveShapes(node));
  NEAP_CHECK_OK(Require(shapes.in.size() == shapes.out.size(), "its output has another rank"));
  const std::string mode = TextOr(*node.op, "mode", "constant");
  NEAP_CHECK_OK(Require(mode == "constant" || mode == "edge" || mode == "reflect" || mode == "wrap",
                        "has no kernel for its mode"));
  const bool inputs = node.inputs.size() > 1;
  if (node.Has(2)) {
    NEAP_CHECK_OK(RequireType(node.In(2), node.In(0).type));
    NEAP_CHECK_OK(Require(node.In(2).elements == 1, "its value is not a single element"));
  }
  std::vector<std::byte> value(shapes.element_bytes);
  if (!inputs && node.In(0).type == kFloat32) {
    const auto number = static_cast<float>(RealOr(*node.op, "value", 0));
    std::memcpy(value.data(), &number, sizeof number);
  }
  return RunKernel([=, pads = IntsOr(*node.op, "pads", {}),
                    node_copy = node](const Arguments& arguments) -> Status {
    const auto amounts = inputs ? Integers(node_copy, arguments, 1) : pads;
    auto axes = Integers(node_copy, arguments, 3);
    if (axes.empty()) axes = Stepped(0, 1, static_cast<std::int64_t>(shapes.in.size()));
    NEAP_CHECK_OK(Require(amounts.size() == 2 * axes.size(), "expected two pads for each axis"));
    std::vector<IndexMap> maps;
    for (const std::int64_t size : shapes.in) maps.push_back(Identity(size));
    for (std::size_t i = 0; i < axes.size(); ++i) {
      NEAP_TRY(const std::size_t d, NormalAxis(axes[i], shapes.in.size()));
      const std::int64_t before = amounts[i];
      const std::int64_t after = amounts[axes.size() + i];
      const std::int64_t most = shapes.in[d] + shapes.out[d];
      NEAP_CHECK_OK(Require(std::max(before, after) <= most && std::min(before, after) >= -most &&
                                shapes.in[d] + before + after == shapes.out[d],
                            "its parameters give another shape than the planned one"));
      NEAP_TRY(maps[d], PadDimension(shapes.in[d], before, after, mode));
    }
    return RunTake(shapes, std::move(maps), node_copy.within, arguments,
                   node_copy.Has(2) ? arguments.inputs[2] : value);
  });
}

// A broadcast to the shape of the output.
Result<RunKernel> PrepareExpand(const Node& node) {
  NEAP_TRY(const Shapes shapes, MoveShapes(node));
  NEAP_TRY(const Strides from, BroadcastStrides(shapes.in, shapes.out));
  return RunKernel([=, to = DenseStrides(shapes.out)](const Arguments& arguments) -> Status {
    CopyStrided(shapes.out, shapes.element_bytes, arguments.inputs[0].data(), from,
                arguments.outputs[0].data(), to);
    return {};
  });
}

Result<RunKernel> PrepareTile(const Node& node) {
  NEAP_TRY(const Shapes shapes, MoveShapes(node));
  NEAP_CHECK_OK(Require(shapes.in.size() == shapes.out.size(), "its output has another rank"));
  std::vector<IndexMap> maps;
  for (std::size_t d = 0; d < shapes.in.size(); ++d) {
    NEAP_CHECK_OK(Require(shapes.in[d] > 0 && shapes.out[d] % shapes.in[d] == 0,
                          "its output is not the repeated input"));
    IndexMap map = Identity(shapes.out[d]);
    for (std::int64_t& at : map) at %= shapes.in[d];
    maps.push_back(std::move(map));
  }
  return TakeKernel(node, std::move(maps));
}

Result<RunKernel> PrepareShape(const Node& node) {
  NEAP_CHECK_OK(RequireOperands(node, 1, 1));
  NEAP_CHECK_OK(RequireType(node.Out(), kInt64));
  const graph::Shape& shape = node.In(0).shape;
  const auto rank = static_cast<std::int64_t>(shape.size());
  const auto clamp = [&](std::int64_t at) {
    return std::clamp<std::int64_t>(at < 0 ? at + rank : at, 0, rank);
  };
  const std::int64_t start = clamp(IntOr(*node.op, "start", 0));
  const std::int64_t end = std::max(start, clamp(IntOr(*node.op, "end", rank)));
  const graph::Shape part(shape.begin() + start, shape.begin() + end);
  NEAP_CHECK_OK(RequireShape(node.Out(), {static_cast<std::int64_t>(part.size())}));
  return RunKernel([part](const Arguments& arguments) -> Status {
    for (std::size_t d = 0; d < part.size(); ++d) {
      Output<std::int64_t>(arguments)[d].value = part[d];
    }
    return {};
  });
}

Result<RunKernel> PrepareConstantOfShape(const Node& node) {
  NEAP_CHECK_OK(RequireOperands(node, 1, 1));
  NEAP_TRY(const std::size_t size, ElementBytes(node.Out().type));
  std::vector<std::byte> value(size);
  const auto found = node.op->attributes.find("value");
  if (found != node.op->attributes.end()) {
    const auto* const data = std::get_if<graph::ConstantData>(&found->second);
    NEAP_CHECK_OK(Require(data != nullptr && data->bytes.size() == size,
                          "its value is not an element of its output"));
    value.assign(data->bytes.begin(), data->bytes.end());
  }
  return RunKernel([value](const Arguments& arguments) -> Status {
    for (std::size_t i = 0; i < arguments.outputs[0].size(); i += value.size()) {
      std::memcpy(arguments.outputs[0].data() + i, value.data(), value.size());
    }
    return {};
  });
}

// A part of the output of one image, element by element.
Result<RunKernel> PartOfBlocks(const Node& node, const Shapes& shapes, bool to_space,
                               std::int64_t block, bool columns_first) {
  return RunKernel([=, part = *node.within](const Arguments& arguments) -> Status {
    const std::size_t size = shapes.element_bytes;
    const std::int64_t squares = block * block;
    const std::int64_t channels = to_space ? shapes.out[1] : shapes.in[1];
    std::byte* to = arguments.outputs[0].data();
    for (std::int64_t c = 0; c < shapes.out[1]; ++c) {
      for (std::int64_t y = part.out[0].first; y < part.out[0].last; ++y) {
        for (std::int64_t x = part.out[1].first; x < part.out[1].last; ++x, to += size) {
          std::int64_t from = c;
          std::int64_t row = y / block;
          std::int64_t column = x / block;
          if (to_space) {
            const std::int64_t square = y % block * block + x % block;
            from = columns_first ? c * squares + square : square * channels + c;
          } else {
            const std::int64_t square = columns_first ? c % squares : c / channels;
            from = columns_first ? c / squares : c % channels;
            row = y * block + square / block;
            column = x * block + square % block;
          }
          const std::int64_t at =
              (from * part.in[0].size() + row - part.in[0].first) * part.in[1].size() + column -
              part.in[1].first;
          std::memcpy(to, arguments.inputs[0].data() + static_cast<std::size_t>(at) * size, size);
        }
      }
    }
    return {};
  });
}

// [b, c, h, w] in blocks of space or of depth.
Result<RunKernel> BlockKernel(const Node& node, bool to_space) {
  NEAP_TRY(const Shapes shapes, MoveShapes(node));
  const graph::Shape& deep = to_space ? shapes.in : shapes.out;
  const graph::Shape& wide = to_space ? shapes.out : shapes.in;
  const std::int64_t block = IntOr(*node.op, "blocksize", 0);
  NEAP_CHECK_OK(Require(deep.size() == 4 && wide.size() == 4 && block >= 1 && block < 65536 &&
                            deep[0] == wide[0] && deep[2] * block == wide[2] &&
                            deep[3] * block == wide[3] && deep[1] == wide[1] * block * block,
                        "input, output and blocks do not fit together"));
  const bool columns_first = TextOr(*node.op, "mode", "DCR") == "CRD";
  if (node.within) return PartOfBlocks(node, shapes, to_space, block, columns_first);
  const std::int64_t channels = wide[1];
  const std::int64_t plane = deep[2] * deep[3];
  // Strides of (batch, channel, block row, block column, row, column) in both.
  const std::int64_t step = columns_first ? plane : channels * plane;
  const Strides in_deep = {deep[1] * plane, columns_first ? block * block * plane : plane,
                           step * block,    step,
                           deep[3],         1};
  const Strides in_wide = {
      channels * wide[2] * wide[3], wide[2] * wide[3], wide[3], 1, block * wide[3], block};
  // In row-major order of the output.
  const std::size_t order[] = {
      0, 1, to_space ? 4U : 2U, to_space ? 2U : 3U, to_space ? 5U : 4U, to_space ? 3U : 5U};
  const graph::Shape sizes = {deep[0], channels, block, block, deep[2], deep[3]};
  graph::Shape shape;
  Strides from;
  Strides to;
  // The channels of the deep side are its blocks first.
  const std::size_t deep_order[] = {0, 2, 3, 1, 4, 5};
  for (std::size_t i = 0; i < 6; ++i) {
    const std::size_t d = to_space ? order[i] : deep_order[i];
    shape.push_back(sizes[d]);
    from.push_back((to_space ? in_deep : in_wide)[d]);
    to.push_back((to_space ? in_wide : in_deep)[d]);
  }
  return RunKernel([=, size = shapes.element_bytes](const Arguments& arguments) -> Status {
    CopyStrided(shape, size, arguments.inputs[0].data(), from, arguments.outputs[0].data(), to);
    return {};
  });
}
Result<RunKernel> PrepareDepthToSpace(const Node& node) { return BlockKernel(node, true); }
Result<RunKernel> PrepareSpaceToDepth(const Node& node) { return BlockKernel(node, false); }

// Integers of another width, truth values, reals: by value, saturated where reals do not fit.
Result<RunKernel> PrepareCast(const Node& node) {
  NEAP_CHECK_OK(RequireOperands(node, 1, 1));
  NEAP_CHECK_OK(RequireShape(node.Out(), node.In(0).shape));
  const graph::ElementType from = node.In(0).type;
  const graph::ElementType to = node.Out().type;
  const auto numeric = [](graph::ElementType type) {
    return IsRealType(type) || IsIntegerType(type);
  };
  if (!numeric(from) || !numeric(to)) return UnsupportedType(node);
  const std::int64_t elements = node.Out().elements;
  return RunKernel([=](const Arguments& arguments) -> Status {
    const auto in = arguments.inputs[0];
    const auto out = arguments.outputs[0];
    for (std::int64_t i = 0; i < elements; ++i) {
      if (to == kBool) {
        StoreInteger(to, out, i, LoadReal(from, in, i) != 0 ? 1 : 0);
      } else if (IsIntegerType(from) && IsIntegerType(to)) {
        StoreInteger(to, out, i, LoadInteger(from, in, i));
      } else {
        StoreReal(to, out, i, LoadReal(from, in, i));
      }
    }
    return {};
  });
}

constexpr KernelEntry kMoveKernels[] = {
    {"Reshape", PrepareCopy},
    {"Flatten", PrepareCopy},
    {"Squeeze", PrepareCopy},
    {"Unsqueeze", PrepareCopy},
    {"Identity", PrepareCopy},
    {"Transpose", PrepareTranspose},
    {"Concat", PrepareConcat},
    {"Split", PrepareSplit},
    {"Gather", PrepareGather},
    {"Slice", PrepareSlice},
    {"Pad", PreparePad},
    {"Expand", PrepareExpand},
    {"Tile", PrepareTile},
    {"Shape", PrepareShape},
    {"ConstantOfShape", PrepareConstantOfShape},
    {"DepthToSpace", PrepareDepthToSpace},
    {"SpaceToDepth", PrepareSpaceToDepth},
    {"Cast", PrepareCast},
};

}  // namespace

std::span<const KernelEntry> MoveKernels() { return kMoveKernels; }

}  // namespace neap::execute::onnx
