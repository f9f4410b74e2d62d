// SPDX-License-Identifier: Apache-2.0
//
// An ordered subgraph as the planner of streams sees it: images, and operators with the rows and
// columns of their inputs that a row or a column of their output needs.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "neap/base/result.h"
#include "neap/graph/graph.h"
#include "neap/plan/stream.h"
#include "neap/transform/stream/axis_map.h"
#include "neap/transform/stream/instructions.h"
#include "neap/transform/stream/rates.h"

namespace neap::stream {

struct Read {
  int image = -1;
  AxisMap rows;
  AxisMap columns;
};

struct Node {
  graph::OpId op;
  // The only output that it computes, of an operator that splits its input (ops::trait::kSplits):
  // each output is a node. Of one with a state (ops::RecurrenceOf) the only output that is read.
  std::optional<std::int32_t> output;
  bool streams = false;  // false: it can only run as a whole
  // Element-wise: it may write a pixel over the pixel of this input; -1: over none.
  int in_place = -1;
  // A mean over all places (ops::IsMeanOfPlaces): it may read its input pixel by pixel, and stores
  // sums in between. In `reads` its one pixel needs all of its input.
  bool sums = false;
  std::int64_t sum_bytes = 0;  // of the sum of one channel; of a state, for each of its bytes
  // Each of its rows once and in order, in one segment: it has a state (ops::RecurrenceOf).
  bool in_order = false;
  // Of these, unless it sums: an image without a tensor, of the bytes of the state.
  // -1 where the state is in variables.
  int state = -1;
  // It may run channel by channel (ops::IsByChannel), its output over its input.
  bool by_channel = false;
  // Its arithmetic depends on all columns of a row: no box has a part of them.
  bool whole_columns = false;
  // Also as a whole, over an input of as many bytes: element-wise or reshape-like.
  bool whole_in_place = false;
  std::vector<Read> reads;   // each image once, maps of several reads joined
  std::vector<int> outputs;  // one, where it streams
  std::int64_t macs_per_pixel = 0;
  Work work = Work::kElements;
  KernelShape kernel;  // of emitted C, where its instructions are the cycles
};

struct Image {
  graph::TensorId tensor;  // none: the state of a node
  graph::ElementType type = graph::ElementType::kUnknown;
  plan::StreamImage shape;
  int producer = -1;  // node; -1: an input of the subgraph, or no producer
  int last_use = -1;  // last node that reads it; the number of nodes for outputs
  bool is_input = false;
  bool is_output = false;
  bool slow = false;         // its home is slow memory (plan::SlowMemory)
  std::vector<int> readers;  // nodes, ascending
};

struct Network {
  std::vector<Node> nodes;  // in the order in which they run
  std::vector<Image> images;
  std::int64_t macs = 0;    // every operator once
  std::int64_t cycles = 0;  // modelled, every operator once and as a whole
  // Tensors that keep a state between runs, and their bytes: in one place for the whole plan,
  // behind everything else. No node reads them.
  std::vector<graph::TensorId> variables;
  std::int64_t variable_bytes = 0;
  // Columns that only some readers read may have rings of their own (plan::StreamArea::columns): of
  // plans that the executor runs, in one memory.
  bool column_rings = true;
  Rates rates;  // of the modelled cycles
  Processor processor = Processor::kCortexM7;

  std::int64_t Pixels(int image) const {
    const plan::StreamImage& shape = images[static_cast<std::size_t>(image)].shape;
    return shape.height * shape.width;
  }
  const Image& image(int index) const { return images[static_cast<std::size_t>(index)]; }
  const Node& node(int index) const { return nodes[static_cast<std::size_t>(index)]; }
};

// `order` is a topological order of the operators of `subgraph` that are not folded; operators may
// come once more, for those after them. Fails when
// the subgraph has control flow, scratch, or state other than that of operators in steps, or when
// the bytes of a tensor are not known or in sum out of range: such subgraphs have no streamed plan.
// `emits`: SearchOptions::emits. `apart`: each output of an operator that splits its input is a
// node; otherwise the operator is one, which does not stream. `in_steps`: operators with a state
// stream.
Result<Network> MakeNetwork(const graph::Graph& graph, graph::SubgraphId subgraph,
                            const std::vector<graph::OpId>& order, bool emits = false,
                            bool apart = true, Processor processor = Processor::kCortexM7,
                            bool in_steps = true);

// Rows and columns of an input that an operator takes for those of its boxes: boxes of sums are
// those of their input.
const AxisMap& RowsOf(const Node& node, const Read& read);
const AxisMap& ColumnsOf(const Node& node, const Read& read);
// The image of which the boxes of `node`, which streams, are parts.
const plan::StreamImage& BoxesOf(const Network& network, const Node& node);
// Pixels of the first output, or of the summed input.
std::int64_t PixelsOf(const Network& network, const Node& node);

// The boxes of an operator, of every combination of `rows` and `columns`.
struct BoxCounts {
  std::int64_t boxes = 0;  // that are not empty
  std::int64_t pixels = 0;
};
BoxCounts CountBoxes(const std::vector<plan::StreamRange>& rows,
                     const std::vector<plan::StreamRange>& columns);
// Modelled cycles of such boxes of `node`.
std::int64_t CyclesOf(const Network& network, const Node& node,
                      const std::vector<plan::StreamRange>& rows,
                      const std::vector<plan::StreamRange>& columns);
// The same as a whole.
std::int64_t WholeCycles(const Network& network, const Node& node);
// Of the copies of channels, and a call for each, beside that (Node::by_channel).
std::int64_t ChannelCycles(const Network& network, const Node& node);
// Of the exchange of dimensions that brings an input of the model, or an output, from and into the
// form that the caller has (StreamImage::IsRearranged).
std::int64_t ConversionCycles(const Network& network);
// Of copying bytes; kCopyBytesPerCycle on a Cortex-M7.
inline constexpr std::int64_t kCopyBytesPerCycle = 4;
std::int64_t CopyCycles(const Network& network, std::int64_t bytes);

}  // namespace neap::stream
