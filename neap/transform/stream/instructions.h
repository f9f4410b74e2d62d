// SPDX-License-Identifier: Apache-2.0
//
// Instructions of emitted C: what the kernels and drivers of runtime/ execute for the boxes of an
// operator. The events of an operator are counted as its driver goes through the boxes; the
// instructions of an event are from lab/tables/instructions_table.py, which fits them to counted
// instructions. Integers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "neap/graph/graph.h"
#include "neap/plan/plan.h"
#include "neap/plan/stream.h"
#include "neap/transform/stream/options.h"

namespace neap::stream {

// What computes an operator. kNothing: nothing, its output has the bytes of its input. kOther: a
// kernel of which no instructions were counted.
enum class Kernel : std::uint8_t {
  kConvolution,
  kDepthwise,
  kAdd,
  kMultiply,
  kAveragePool,
  kMaxPool,
  kSums,
  kSoftmax,
  kMove,
  kTable,
  kNothing,
  kOther,
};
inline constexpr std::size_t kKernels = 10;  // with counted instructions, the first ones
std::string_view NameOf(Kernel kernel);

// An operator with the geometry of its window; of others the window is one tap.
struct KernelShape {
  Kernel kernel = Kernel::kOther;
  bool points = false;   // reads the same pixel alone, and so without a search for taps
  bool rounded = false;  // outputs on both sides of the zero point
  std::int64_t taps_high = 1;
  std::int64_t taps_wide = 1;
  std::int64_t stride_y = 1;
  std::int64_t stride_x = 1;
  std::int64_t dilation_y = 1;
  std::int64_t dilation_x = 1;
  std::int64_t pad_y = 0;
  std::int64_t pad_x = 0;
  std::int64_t in_height = 1;
  std::int64_t in_width = 1;
  std::int64_t inputs = 1;    // of a tap
  std::int64_t channels = 1;  // of an output pixel; of sums: of an input pixel
  std::int64_t rows = 1;      // of the image whose boxes are computed
  std::int64_t columns = 1;

  std::int64_t taps() const { return taps_high * taps_wide; }
};

// Of an operator with one output; `boxes`: the image whose parts are computed.
KernelShape KernelShapeOf(const graph::Subgraph& subgraph, const graph::Op& op, bool sums,
                          const plan::StreamImage& boxes);

// How often what happens that takes instructions. Of each kernel, and each processor, the numbers
// mean other events; the last ones may be 0.
inline constexpr std::size_t kEvents = 41;
using Events = std::array<std::int64_t, kEvents>;

// Where the pixels of the output and of the first input are; empty: one after the other.
struct Rings {
  std::span<const plan::StreamRing> to;
  std::span<const plan::StreamRing> from;
};

// Of the boxes of every combination of `rows` and `columns`. O(rows), with rings O(pixels).
Events EventsOf(Processor processor, const KernelShape& shape,
                std::span<const plan::StreamRange> rows, std::span<const plan::StreamRange> columns,
                const Rings& rings = {});

// Instructions of the events, of kernels with counted instructions and of an estimate for others.
std::int64_t InstructionsOf(Processor processor, Kernel kernel, const Events& events);

// Of the moves of a tensor before a segment.
std::int64_t MoveInstructions(std::int64_t bytes);

// Of one run of the code that `neap emit` writes for an entry, with the kernels for `processor`,
// which is not kCortexM7. Tables and calls of the caller count nothing.
std::int64_t InstructionsOfEntry(Processor processor, const graph::Graph& graph,
                                 const plan::EntryPlan& entry);

}  // namespace neap::stream
