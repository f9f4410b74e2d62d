// SPDX-License-Identifier: Apache-2.0
#include "neap/transform/cascade/bodies.h"

#include <algorithm>
#include <cstddef>
#include <set>

#include "neap/base/bytes.h"
#include "neap/ops/op_table.h"
#include "neap/ops/traits.h"
#include "neap/ops/window.h"
#include "neap/transform/cascade/cut_axes.h"
#include "neap/transform/cascade/tile_writer.h"

namespace neap::cascade {
namespace {

using graph::Op;
using graph::Subgraph;
using graph::TensorId;
using ops::Box;
using ops::Is;
using ops::OpKind;

constexpr std::int64_t kNode = 32;
constexpr std::int64_t kTensor = 12;
constexpr std::int64_t kKeptBySlice = kNode + 2 * kTensor;

bool SameSizes(const Box& a, const Box& b) {
  return std::equal(
      a.begin(), a.end(), b.begin(), b.end(),
      [](const ops::Interval& x, const ops::Interval& y) { return x.size() == y.size(); });
}

// Where a slice of a tensor of the tile begins in it.
std::vector<std::int64_t> BeginsOf(const Tile& tile, const TileStep& step) {
  const Box& out = tile.tensors[static_cast<std::size_t>(step.output)].box;
  const Box& in = tile.tensors[static_cast<std::size_t>(step.inputs[0])].box;
  std::vector<std::int64_t> begins;
  for (std::size_t d = 0; d < out.size(); ++d) begins.push_back(out[d].begin - in[d].begin);
  return begins;
}

// The same of an output of an operator that splits, in the part of its input.
std::vector<std::int64_t> BeginsOfCopy(const Subgraph& subgraph, const Tile& tile,
                                       const TileStep& step) {
  const Op& op = subgraph.ops[step.op];
  const int part = step.inputs[DataInputOf(op)];
  const auto source = SourceOf(subgraph, op, step.op_output,
                               tile.tensors[static_cast<std::size_t>(step.output)].box);
  std::vector<std::int64_t> begins;
  for (std::size_t d = 0; d < source->size(); ++d) {
    const std::int64_t origin =
        part == kWhole ? 0 : tile.tensors[static_cast<std::size_t>(part)].box[d].begin;
    begins.push_back((*source)[d].begin - origin);
  }
  return begins;
}

bool SameStep(const Subgraph& subgraph, const Tile& a, const TileStep& of_a, const Tile& b,
              const TileStep& of_b) {
  // Few steps of TensorFlow Lite, which alone has shared bodies, change attributes.
  const bool changed = !of_a.attributes.empty() || !of_a.removed.empty() ||
                       !of_b.attributes.empty() || !of_b.removed.empty();
  if (changed || of_a.op != of_b.op || of_a.inputs != of_b.inputs || of_a.output != of_b.output ||
      of_a.paddings != of_b.paddings || of_a.sizes != of_b.sizes ||
      of_a.constants != of_b.constants || of_a.weights != of_b.weights ||
      of_a.op_output != of_b.op_output) {
    return false;
  }
  if (of_a.op.valid() && ops::Has(subgraph.ops[of_a.op], ops::trait::kSplits)) {
    return BeginsOfCopy(subgraph, a, of_a) == BeginsOfCopy(subgraph, b, of_b);
  }
  return of_a.op.valid() || IsArgument(of_a) || BeginsOf(a, of_a) == BeginsOf(b, of_b);
}

bool SameWork(const Subgraph& subgraph, const Tile& a, const Tile& b) {
  return a.output == b.output &&
         std::equal(a.tensors.begin(), a.tensors.end(), b.tensors.begin(), b.tensors.end(),
                    [](const TileTensor& x, const TileTensor& y) {
                      return x.whole == y.whole && SameSizes(x.box, y.box);
                    }) &&
         std::equal(
             a.steps.begin(), a.steps.end(), b.steps.begin(), b.steps.end(),
             [&](const TileStep& x, const TileStep& y) { return SameStep(subgraph, a, x, b, y); });
}

bool MayBeBody(const Subgraph& subgraph, const Tile& tile) {
  bool makes_output = false;
  for (const TileStep& step : tile.steps) {
    if (!step.op.valid()) {
      makes_output = makes_output || (!IsArgument(step) && step.output == tile.output);
      continue;
    }
    const Op& op = subgraph.ops[step.op];
    if (op.domain != "tflite") return false;
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      const bool outside = op.inputs[i].valid() && step.inputs[i] == kWhole;
      if (outside && !subgraph.tensors[op.inputs[i]].constant) return false;
    }
    makes_output = makes_output || step.output == tile.output;
  }
  return makes_output;
}

bool IsSlice(const Subgraph& subgraph, const TileStep& step) {
  if (!step.op.valid()) return true;
  const Op& op = subgraph.ops[step.op];
  return ops::Has(op, ops::trait::kSplits) && !Is(op, OpKind::kUnpack);
}

// The inputs of BATCH_MATMUL of which the kernel keeps a copy with rows and columns exchanged.
std::vector<std::size_t> ExchangedInputs(const Op& op) {
  if (!Is(op, OpKind::kBatchMatmul)) return {};
  std::vector<std::size_t> inputs;
  if (ops::IntegerAttribute(op, "adj_x", 0) != 0) inputs.push_back(0);
  if (ops::IntegerAttribute(op, "adj_y", 0) == 0) inputs.push_back(1);
  return inputs;
}

std::int64_t BytesOfBox(const graph::Tensor& tensor, const Box& box) {
  return (ops::ElementsOf(box) * graph::BitsOf(tensor.type) + 7) / 8;
}

std::int64_t KeptByStep(const Subgraph& subgraph, const Tile& tile, const TileStep& step) {
  if (IsSlice(subgraph, step)) return kKeptBySlice;
  const Op& op = subgraph.ops[step.op];
  std::int64_t bytes = KeptByAnyPart(subgraph, op);
  for (const std::size_t i : ExchangedInputs(op)) {
    const graph::Tensor& whole = subgraph.tensors[op.inputs[i]];
    const auto cut = step.weights.find(i);
    if (step.inputs[i] != kWhole) {
      bytes += BytesOfBox(whole, tile.tensors[static_cast<std::size_t>(step.inputs[i])].box);
    } else if (cut != step.weights.end()) {
      bytes += BytesOfBox(whole, cut->second);
    } else {
      bytes += graph::TensorBytes(whole).value_or(0);
    }
  }
  return bytes;
}

}  // namespace

std::int64_t KeptBytes(const Subgraph& subgraph, const Op& op) {
  std::int64_t bytes = KeptByAnyPart(subgraph, op);
  for (const std::size_t i : ExchangedInputs(op)) {
    const graph::Tensor* const matrix = graph::Operand(subgraph, op.inputs, i);
    if (matrix != nullptr) bytes += graph::TensorBytes(*matrix).value_or(0);
  }
  return bytes;
}

std::int64_t KeptByAnyPart(const Subgraph& subgraph, const Op& op) {
  if (Is(op, OpKind::kConv2d, OpKind::kDepthwiseConv2d)) {
    const graph::Tensor& out = subgraph.tensors[op.outputs[0]];
    const std::int64_t channels = out.shape->empty() ? 0 : out.shape->back();
    return kNode + kTensor + 28 + 64 + 2 * AlignUp(4 * channels, 16);
  }
  return kNode + kTensor + (ops::IsElementwise(op) ? 66 : 90);
}

std::int64_t KeptByClones(const Subgraph& subgraph, const Tile& tile) {
  std::int64_t bytes = 0;
  for (const TileStep& step : tile.steps) bytes += KeptByStep(subgraph, tile, step);
  return bytes;
}

std::int64_t KeptByBody(const Subgraph& subgraph, const Tile& tile) {
  constexpr std::int64_t kSubgraph = 8;
  std::int64_t bytes = kSubgraph;
  std::set<TensorId> constants;
  for (const TileStep& step : tile.steps) {
    if (IsSlice(subgraph, step)) {
      bytes += IsArgument(step) ? kTensor : kKeptBySlice;
      continue;
    }
    const Op& op = subgraph.ops[step.op];
    bytes += KeptByStep(subgraph, tile, step);
    for (const TensorId input : op.inputs) {
      if (input.valid() && subgraph.tensors[input].constant) constants.insert(input);
    }
  }
  return bytes + kTensor * static_cast<std::int64_t>(constants.size());
}

std::int64_t KeptByCall(const Tile& tile) {
  constexpr std::int64_t kOptionsAndData = 8 + 16;
  const auto arguments = std::count_if(tile.steps.begin(), tile.steps.end(), IsArgument);
  return kNode + kTensor + kOptionsAndData + kKeptBySlice * arguments;
}

std::vector<int> BodiesOf(const Subgraph& subgraph, std::span<const Tile> tiles,
                          TileBodies bodies) {
  std::vector<int> result(tiles.size(), kNoBody);
  if (bodies == TileBodies::kClones) return result;
  std::vector<std::vector<std::size_t>> classes;
  for (std::size_t t = 0; t < tiles.size(); ++t) {
    if (!MayBeBody(subgraph, tiles[t])) continue;
    const auto same = std::find_if(classes.begin(), classes.end(), [&](const auto& members) {
      return SameWork(subgraph, tiles[members.front()], tiles[t]);
    });
    if (same != classes.end()) {
      same->push_back(t);
    } else {
      classes.push_back({t});
    }
  }
  int next = 0;
  for (const std::vector<std::size_t>& members : classes) {
    const Tile& tile = tiles[members.front()];
    const auto count = static_cast<std::int64_t>(members.size());
    const bool pays = KeptByBody(subgraph, tile) + count * KeptByCall(tile) <
                      count * KeptByClones(subgraph, tile);
    if (count < 2 || !pays) continue;
    for (const std::size_t t : members) result[t] = next;
    ++next;
  }
  return result;
}

}  // namespace neap::cascade
