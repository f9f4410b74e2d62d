// SPDX-License-Identifier: Apache-2.0
//
// The axes along which regions are cut, and the axis of every tensor inside a region that
// corresponds to an axis of its output. Private to neap/transform/cascade.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "neap/graph/graph.h"
#include "neap/ops/dependence.h"

namespace neap::cascade {

// The grids of a region whose output has this shape: each is one axis or two, which are cut alone
// and together. Height and width of an image first, then its batch and its channels. Of two or
// three dimensions each one (time steps, tokens, heads, columns); of (1, channels, time) in ONNX
// the last two together, too. Axes of one index are left out. `op`: an operator of the region, for
// the format.
std::vector<std::vector<std::size_t>> GridAxesOf(const graph::Op& op, const graph::Shape& shape);

// The input whose parts the parts of the output need; the others are constants or alike.
std::size_t DataInputOf(const graph::Op& op);

// The part of the data that an operator that splits (ops::trait::kSplits) copies to a part of one
// of its outputs; of the same rank, except for UNPACK. nullopt: it is not known.
std::optional<ops::Box> SourceOf(const graph::Subgraph& subgraph, const graph::Op& op,
                                 std::size_t output, const ops::Box& part);

// The second operand of a product, of which a part of the output along `axis` needs some, where it
// needs all of the first one along the axes of that: filters of a convolution without groups, units
// of FULLY_CONNECTED, columns of the second matrix of a product. nullopt: `axis` is another one, or
// the operator is hybrid.
struct Columns {
  std::size_t first = 0;  // inputs
  std::size_t second = 1;
  std::size_t axis = 0;  // of the second one
};
std::optional<Columns> ColumnsOf(const graph::Subgraph& subgraph, const graph::Op& op,
                                 std::size_t axis);

// The axis of input 0 of which index i alone is needed by index i of `axis` of the output, for
// every i, where the kernel computes slices of these axes one like the other: windows and resizing
// beside the axes along which they move, reductions of other axes, GATHER and MIRROR_PAD along
// others, moved axes (RESHAPE and similar, TRANSPOSE). nullopt: there is none.
std::optional<std::size_t> SlicedAxis(const graph::Subgraph& subgraph, const graph::Op& op,
                                      std::size_t axis);

// Whether adjacent parts of an output, along any axis, need parts of each input with nothing left
// out between them: a window of one row with a stride of two leaves out rows. False where the
// dependence is not known. O(sizes of the output).
bool NeedsAllBetween(const graph::Subgraph& subgraph, const graph::Op& op);

// Of a slice with constant parameters and steps forwards, by axis: output index o is input index
// start + o * step.
struct SliceStep {
  std::int64_t start = 0;
  std::int64_t step = 1;
};
std::optional<std::vector<SliceStep>> StepsOf(const graph::Subgraph& subgraph, const graph::Op& op);

// Of operators of TensorFlow Lite, in an order that can be run: the axis of every tensor that is
// cut when `output`, the output of their region, is cut along `axis`. nullopt with the reason: an
// operator has no such axis, or two operators need different ones.
std::optional<std::map<graph::TensorId, std::size_t>> AxesOfRegion(
    const graph::Subgraph& subgraph, const std::vector<graph::OpId>& ops, graph::TensorId output,
    std::size_t axis, std::string* why);

}  // namespace neap::cascade
