// SPDX-License-Identifier: Apache-2.0
//
// GATHER, SHAPE, ARG_MAX, ARG_MIN, blocks of space and depth or batch.
#include <cstring>
#include <utility>

#include "neap/execute/families.h"
#include "neap/execute/loops/strided.h"
#include "neap/execute/loops/take.h"
#include "neap/execute/tflite/common.h"

namespace neap::execute::tflite {
namespace {

using enum graph::ElementType;

Result<RunKernel> PrepareGather(const Node& node) {
  return GatherKernel(node, IntOr(*node.op, "axis", 0), IntOr(*node.op, "batch_dims", 0), false);
}

template <typename T>
Result<RunKernel> ShapeOf(const graph::Shape& shape) {
  return RunKernel([shape](const Arguments& arguments) -> Status {
    for (std::size_t d = 0; d < shape.size(); ++d) {
      Output<T>(arguments)[d].value = static_cast<T>(shape[d]);
    }
    return {};
  });
}

Result<RunKernel> PrepareShape(const Node& node) {
  NEAP_CHECK_OK(RequireOperands(node, 1, 1));
  const graph::Shape& shape = node.In(0).shape;
  NEAP_CHECK_OK(RequireShape(node.Out(), {static_cast<std::int64_t>(shape.size())}));
  if (node.Out().type == kInt32) return ShapeOf<std::int32_t>(shape);
  if (node.Out().type == kInt64) return ShapeOf<std::int64_t>(shape);
  return UnsupportedType(node);
}

// The first of the best along an axis.
template <typename F>
Result<RunKernel> ArgKernel(const Node& node, F better) {
  NEAP_CHECK_OK(RequireOperands(node, 2, 2));
  const Operand& in = node.In(0);
  NEAP_CHECK_OK(Require(node.In(1).constant && node.In(1).elements == 1 &&
                            (node.In(1).type == kInt32 || node.In(1).type == kInt64),
                        "has no kernel for an axis that is not a constant"));
  NEAP_TRY(const std::size_t d,
           NormalAxis(ReadIntegers(node.In(1).type, node.In(1).data)[0], in.Rank()));
  const std::int64_t outer = Elements(in.shape, 0, d);
  const std::int64_t inner = Elements(in.shape, d + 1, in.Rank());
  const std::int64_t choices = in.shape[d];
  NEAP_CHECK_OK(Require(choices > 0 && node.Out().elements == outer * inner,
                        "the size of its output does not match its axis"));
  const bool wide = node.Out().type == kInt64;
  NEAP_CHECK_OK(Require(wide || node.Out().type == kInt32, "expected an int32 or int64 output"));
  using Types = TypeList<float, std::int8_t, std::uint8_t, std::int32_t>;
  return ForType(Types(), in.type, node, [&](auto tag) -> Result<RunKernel> {
    using T = typename decltype(tag)::Type;
    return RunKernel([=](const Arguments& arguments) -> Status {
      for (std::int64_t i = 0; i < outer * inner; ++i) {
        const auto* const from = Input<T>(arguments, 0) + i / inner * inner * choices + i % inner;
        std::int64_t best = 0;
        for (std::int64_t k = 1; k < choices; ++k) {
          if (better(from[k * inner].value, from[best * inner].value)) best = k;
        }
        if (wide) {
          Output<std::int64_t>(arguments)[i].value = best;
        } else {
          Output<std::int32_t>(arguments)[i].value = static_cast<std::int32_t>(best);
        }
      }
      return {};
    });
  });
}
Result<RunKernel> PrepareArgMax(const Node& node) {
  return ArgKernel(node, [](auto a, auto b) { return a > b; });
}
Result<RunKernel> PrepareArgMin(const Node& node) {
  return ArgKernel(node, [](auto a, auto b) { return a < b; });
}

// A copy whose two sides see the same elements in `shape` by other strides.
Result<RunKernel> Rearranged(const Node& node, const graph::Shape& shape, const Strides& from,
                             const Strides& to) {
  NEAP_TRY(const std::size_t size, ElementBytes(node.In(0).type));
  NEAP_CHECK_OK(RequireType(node.Out(), node.In(0).type));
  return RunKernel([=](const Arguments& arguments) -> Status {
    CopyStrided(shape, size, arguments.inputs[0].data(), from, arguments.outputs[0].data(), to);
    return {};
  });
}

// A part of the output, pixel by pixel of the wide side.
Result<RunKernel> PartOfBlocks(const Node& node, bool to_space, std::int64_t block) {
  NEAP_TRY(const std::size_t size, ElementBytes(node.In(0).type));
  NEAP_CHECK_OK(RequireType(node.Out(), node.In(0).type));
  const Within part = *node.within;
  const std::int64_t in_depth = node.In(0).shape[3];
  const std::int64_t out_depth = node.Out().shape[3];
  const auto pixel = static_cast<std::size_t>(to_space ? out_depth : in_depth) * size;
  return RunKernel([=](const Arguments& arguments) -> Status {
    std::byte* to = arguments.outputs[0].data();
    const std::byte* const from = arguments.inputs[0].data();
    const auto take = [&](std::int64_t row, std::int64_t column, std::int64_t depth) {
      const std::int64_t at =
          ((row - part.in[0].first) * part.in[1].size() + column - part.in[1].first) * in_depth +
          depth;
      std::memcpy(to, from + at * static_cast<std::int64_t>(size), pixel);
      to += pixel;
    };
    for (std::int64_t y = part.out[0].first; y < part.out[0].last; ++y) {
      for (std::int64_t x = part.out[1].first; x < part.out[1].last; ++x) {
        if (to_space) {
          take(y / block, x / block, (y % block * block + x % block) * out_depth);
          continue;
        }
        for (std::int64_t at = 0; at < block * block; ++at) {
          take(y * block + at / block, x * block + at % block, 0);
        }
      }
    }
    return {};
  });
}

// [b, h, w, y, x, c] of the deep side is [b, h, y, w, x, c] of the wide one.
Result<RunKernel> BlockKernel(const Node& node, bool to_space) {
  NEAP_CHECK_OK(RequireOperands(node, 1, 1));
  const graph::Shape& deep = to_space ? node.In(0).shape : node.Out().shape;
  const graph::Shape& wide = to_space ? node.Out().shape : node.In(0).shape;
  const std::int64_t block = IntOr(*node.op, "block_size", 0);
  NEAP_CHECK_OK(Require(deep.size() == 4 && wide.size() == 4 && block >= 1 && block < 65536 &&
                            deep[0] == wide[0] && deep[1] * block == wide[1] &&
                            deep[2] * block == wide[2] && deep[3] == wide[3] * block * block,
                        "input, output and blocks do not fit together"));
  const std::int64_t c = wide[3];
  if (node.within) return PartOfBlocks(node, to_space, block);
  // In row-major order of the output.
  if (to_space) {
    const Strides from = {deep[1] * deep[2] * deep[3], deep[2] * deep[3], block * c, deep[3], c, 1};
    const graph::Shape shape = {deep[0], deep[1], block, deep[2], block, c};
    return Rearranged(node, shape, from, DenseStrides(shape));
  }
  const std::int64_t row = wide[2] * c;
  const graph::Shape shape = {deep[0], deep[1], deep[2], block, block, c};
  const Strides from = {wide[1] * row, block * row, block * c, row, c, 1};
  return Rearranged(node, shape, from, DenseStrides(shape));
}
Result<RunKernel> PrepareDepthToSpace(const Node& node) { return BlockKernel(node, true); }
Result<RunKernel> PrepareSpaceToDepth(const Node& node) { return BlockKernel(node, false); }

// Height and width in blocks, which become batches; a width of 1 for tensors of rank 3.
struct Batches {
  std::int64_t in[4];  // batch, height, width, bytes of the rest
  std::int64_t out[4];
  std::int64_t block[2];
  std::int64_t pad[2];  // before; of batches to space: the crop
};

Result<Batches> PlanBatches(const Node& node) {
  NEAP_CHECK_OK(RequireOperands(node, 3, 3));
  NEAP_CHECK_OK(RequireType(node.Out(), node.In(0).type));
  NEAP_TRY(const std::size_t size, ElementBytes(node.In(0).type));
  for (std::size_t i = 1; i < 3; ++i) {
    NEAP_CHECK_OK(RequireType(node.In(i), kInt32));
    NEAP_CHECK_OK(Require(node.In(i).constant, "has no kernel for blocks that are not constants"));
  }
  const std::size_t rank = node.In(0).Rank();
  const auto blocks = ReadIntegers(kInt32, node.In(1).data);
  const auto pads = ReadIntegers(kInt32, node.In(2).data);
  NEAP_CHECK_OK(Require((rank == 3 || rank == 4) && node.Out().Rank() == rank &&
                            blocks.size() == rank - 2 && pads.size() == 2 * blocks.size(),
                        "has no kernel for its rank"));
  Batches plan{};
  const auto fill = [&](const graph::Shape& shape, std::int64_t* to) {
    to[0] = shape[0];
    to[1] = shape[1];
    to[2] = rank == 4 ? shape[2] : 1;
    to[3] = shape[rank - 1] * static_cast<std::int64_t>(size);
  };
  fill(node.In(0).shape, plan.in);
  fill(node.Out().shape, plan.out);
  for (std::size_t i = 0; i < 2; ++i) {
    plan.block[i] = i < blocks.size() ? blocks[i] : 1;
    plan.pad[i] = i < blocks.size() ? pads[2 * i] : 0;
    NEAP_CHECK_OK(Require(plan.block[i] >= 1 && plan.block[i] < 65536 && plan.pad[i] >= 0,
                          "a block or padding is out of range"));
  }
  const bool ok = plan.in[3] == plan.out[3] && plan.in[0] > 0 && plan.out[0] > 0;
  NEAP_CHECK_OK(Require(ok, "input and output do not fit together"));
  return plan;
}

Result<RunKernel> PrepareSpaceToBatch(const Node& node) {
  NEAP_TRY(const Batches plan, PlanBatches(node));
  NEAP_CHECK_OK(Require(plan.out[0] == plan.in[0] * plan.block[0] * plan.block[1],
                        "input, output and blocks do not fit together"));
  return RunKernel([plan](const Arguments& arguments) -> Status {
    std::byte* to = arguments.outputs[0].data();
    const auto bytes = static_cast<std::size_t>(plan.in[3]);
    for (std::int64_t n = 0; n < plan.out[0]; ++n) {
      const std::int64_t shift = n / plan.in[0];
      for (std::int64_t y = 0; y < plan.out[1]; ++y) {
        for (std::int64_t x = 0; x < plan.out[2]; ++x, to += plan.in[3]) {
          const std::int64_t in_y = y * plan.block[0] + shift / plan.block[1] - plan.pad[0];
          const std::int64_t in_x = x * plan.block[1] + shift % plan.block[1] - plan.pad[1];
          if (in_y < 0 || in_x < 0 || in_y >= plan.in[1] || in_x >= plan.in[2]) {
            std::memset(to, 0, bytes);
            continue;
          }
          const std::int64_t at = (n % plan.in[0] * plan.in[1] + in_y) * plan.in[2] + in_x;
          std::memmove(to, arguments.inputs[0].data() + at * plan.in[3], bytes);
        }
      }
    }
    return {};
  });
}

Result<RunKernel> PrepareBatchToSpace(const Node& node) {
  NEAP_TRY(const Batches plan, PlanBatches(node));
  NEAP_CHECK_OK(Require(plan.in[0] == plan.out[0] * plan.block[0] * plan.block[1] &&
                            plan.out[1] + plan.pad[0] <= plan.in[1] * plan.block[0] &&
                            plan.out[2] + plan.pad[1] <= plan.in[2] * plan.block[1],
                        "input, output and blocks do not fit together"));
  return RunKernel([plan](const Arguments& arguments) -> Status {
    std::byte* to = arguments.outputs[0].data();
    for (std::int64_t n = 0; n < plan.out[0]; ++n) {
      for (std::int64_t y = 0; y < plan.out[1]; ++y) {
        for (std::int64_t x = 0; x < plan.out[2]; ++x, to += plan.in[3]) {
          const std::int64_t wide_y = y + plan.pad[0];
          const std::int64_t wide_x = x + plan.pad[1];
          const std::int64_t shift =
              wide_y % plan.block[0] * plan.block[1] + wide_x % plan.block[1];
          const std::int64_t at =
              ((shift * plan.out[0] + n) * plan.in[1] + wide_y / plan.block[0]) * plan.in[2] +
              wide_x / plan.block[1];
          std::memmove(to, arguments.inputs[0].data() + at * plan.in[3],
                       static_cast<std::size_t>(plan.in[3]));
        }
      }
    }
    return {};
  });
}

constexpr KernelEntry kIndexKernels[] = {
    {"GATHER", PrepareGather},
    {"SHAPE", PrepareShape},
    {"ARG_MAX", PrepareArgMax},
    {"ARG_MIN", PrepareArgMin},
    {"DEPTH_TO_SPACE", PrepareDepthToSpace},
    {"SPACE_TO_DEPTH", PrepareSpaceToDepth},
    {"SPACE_TO_BATCH_ND", PrepareSpaceToBatch},
    {"BATCH_TO_SPACE_ND", PrepareBatchToSpace},
};

}  // namespace

std::span<const KernelEntry> IndexKernels() { return kIndexKernels; }

}  // namespace neap::execute::tflite
