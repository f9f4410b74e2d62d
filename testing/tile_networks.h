// SPDX-License-Identifier: Apache-2.0
//
// Random networks for the tests of this module: chains and graphs of a few layers, with all kinds
// of windows, paddings and zero points, and how they are planned.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "neap/base/random.h"
#include "neap/graph/graph.h"
#include "neap/transform/cascade/plan.h"
#include "neap/transform/cascade/region.h"

namespace neap::cascade {

struct Network {
  graph::Graph graph;
  std::vector<graph::OpId> ops;  // all of subgraph 0, every one used for the output
};

// TensorFlow Lite's operators with tensors of int8, or of float32.
Network RandomTflite(Random* random, bool quantized);
// The same with resizing and blocks of pixels among them.
Network RandomTfliteOfMoves(Random* random, bool quantized);
// The same on tensors of two or three dimensions, whose rows are time steps or tokens: products of
// rows, softmax, element-wise operators.
Network RandomTfliteOfRows(Random* random, bool quantized);
// Batches of images and signals of one row, in which operators move, add, remove and reduce axes.
Network RandomTfliteOfAxes(Random* random, bool quantized);
// Products of one tensor with constants or other inputs, which may be cut by columns, and operators
// behind them, most of which keep the axis of the columns.
Network RandomTfliteOfColumns(Random* random, bool quantized);
// The same in ONNX: products of floats, of integers, and of dequantised integers. Folded operators
// are none of Network::ops.
Network RandomOnnxOfColumns(Random* random);
// ONNX operators on float32.
Network RandomOnnx(Random* random);

// A few cuts along one axis or two of a tensor of this shape; empty: nothing to cut.
std::vector<Split> RandomSplits(const graph::Shape& shape, std::size_t first_axis, Random* random);

// The same along any axes.
std::vector<Split> RandomSplitsOfAnyAxis(const graph::Shape& shape, Random* random);

// The same along one axis.
std::vector<Split> RandomColumns(const graph::Shape& shape, std::size_t axis, Random* random);

// For networks of this size: a Cortex-M4, and searches that end soon.
SearchOptions QuickOptions(plan::Runtime runtime);

}  // namespace neap::cascade
