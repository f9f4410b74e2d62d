// SPDX-License-Identifier: Apache-2.0
//
// Regions: operators that run together, tile by tile. A region is cut along axes of its one output;
// the part of every tensor that a tile needs follows from the operators' dependence maps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "neap/base/result.h"
#include "neap/graph/graph.h"
#include "neap/ops/dependence.h"

namespace neap::cascade {

// Where an axis of a region's output is cut: ascending, each inside the axis.
struct Split {
  std::size_t axis = 0;
  std::vector<std::int64_t> cuts;
  friend bool operator==(const Split&, const Split&) = default;
};

// How a region's operators are run. Tiles go through the grid of all splits, the first split
// outermost.
struct RegionPlan {
  std::vector<graph::OpId> ops;  // of subgraph 0, in an order that can be run
  std::vector<Split> splits;     // at least one; axes ascending
};

// `parts` pieces whose sizes differ by one at most, the larger ones first.
Split EvenSplit(std::size_t axis, std::int64_t size, std::int64_t parts);

// Which regions and grids of tiles are tried.
struct Grids {
  std::size_t max_operators = 24;  // in one region
  std::int64_t max_tiles = 64;     // of one region
  // Where height and width are both cut: parts along the one, for each part along the other.
  std::int64_t max_aspect = 2;
  // All of these. Otherwise, where slices of whole rows are free, as in TensorFlow Lite Micro, no
  // cuts along the width alone, and at most 16 tiles where both are cut: other tiles have to copy.
  bool all = false;
};

// The tensors at the border of a region: tensors that it reads from outside (constants excepted),
// each once, by first use, and those that it writes for outside.
struct Border {
  std::vector<graph::TensorId> inputs;
  std::vector<graph::TensorId> outputs;
};
Border BorderOf(const graph::Subgraph& subgraph, const std::vector<graph::OpId>& ops);

// The form of tiles with the same operators on tensors of the same shapes.
enum class TileBodies : std::uint8_t {
  kClones,  // operators of their own
  kShared,  // one body (a subgraph) that each of them calls; TensorFlow Lite only
};

// A part of a tensor that a tile works on. `box` is in indices of the whole tensor. Rows and
// columns at its ends may be invalid: operators of TensorFlow Lite pad by themselves, so that a
// tile in the middle of an image computes its outermost rows from padding that the image does not
// have. They are dropped.
struct TileTensor {
  graph::TensorId whole;
  ops::Box box;
};

inline constexpr int kWhole = -1;

struct TileStep {
  // An operator of the region on parts of its tensors; or, without one, a slice of the input.
  graph::OpId op;
  // The output of that operator which the step computes. Of an operator that splits
  // (ops::trait::kSplits) each output that the tile needs is a step, which copies a part of the
  // input: a slice, or of UNPACK a RESHAPE of just that part.
  std::size_t op_output = 0;
  // For each input of the operator: a tensor of the tile, or kWhole where it is read as it is.
  std::vector<int> inputs;
  int output = 0;
  // The clone's differences from the operator.
  std::vector<std::pair<std::string, graph::Attribute>> attributes;
  std::vector<std::string> removed;    // attributes
  std::vector<std::int64_t> paddings;  // of PAD, in place of its second input; empty: as it is
  std::vector<std::int64_t> sizes;     // of a resize or a RESHAPE, the same
  // Lists of integers in place of other constant inputs, or of optional ones that are absent.
  std::map<std::size_t, std::vector<std::int64_t>> constants;
  // Of an operator that RunsInSteps(): it begins with the state that it left in the tile before,
  // and leaves its state to the next one.
  bool goes_on = false;
  bool leaves_state = false;
  // The part of a constant input that the clone reads, where it is not all of it.
  std::map<std::size_t, ops::Box> weights;
};

struct Tile {
  ops::Box output_box;  // the part of the output that this tile computes
  std::vector<TileTensor> tensors;
  std::vector<TileStep> steps;  // in the order in which they run
  int output = 0;               // its box is `output_box`
};

// The tiles of a region. Fails with kBadInput, naming the operator, where one cannot be cut along
// an axis of the plan, a dependence is not known, or the region has more than one output.
// Exactness: every element of a tile's output is computed from the same inputs by the same
// operations as that of the whole; integers are equal bit by bit, floats as far as the kernels'
// order of sums does not depend on sizes. O(tiles x operators x rows).
Result<std::vector<Tile>> TilesOf(const graph::Subgraph& subgraph, const RegionPlan& plan);

// The graph with every region as ordinary operators: slices, clones on tiles that share the
// weights, concatenations. Operators that are not in a region stay, with their tensors; those of a
// region are removed, and their tensors inside it have no user any more. Regions are disjoint, and
// none is both before and after another. Operators are in `order` (of those of subgraph 0 that are
// not folded; it can be run; empty: theirs), a region's at the place of its last one. The result
// has passed graph::Verify(); it is an edited graph of the file that `graph` was read from
// (formats::WriteEdited). With kShared, tiles of TensorFlow Lite's operators share bodies where
// that needs less than clones (BodiesOf() in neap/transform/cascade/bodies.h): a call is an IF
// whose condition is a constant, true, and whose two branches are the body; bodies are subgraphs
// after the existing ones.
Result<graph::Graph> Realise(const graph::Graph& graph, const std::vector<RegionPlan>& regions,
                             const std::vector<graph::OpId>& order = {},
                             TileBodies bodies = TileBodies::kClones);

// The same graph without memory for unused tensors: the graph that is planned.
graph::Graph WithoutUnused(graph::Graph graph);

}  // namespace neap::cascade
