// SPDX-License-Identifier: Apache-2.0
//
// An emitted program before it is text: the tables of runtime/neap_rt.h as values. Private to
// neap/emit.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "neap/graph/graph.h"
#include "neap/plan/stream.h"

namespace neap::emit {

// At or above it, a memory of a view is an input that the caller owns (NEAP_EXTERNAL).
inline constexpr std::int32_t kExternal = 0x8000;

struct View {
  std::string constant;  // a C expression; "": in `memory`
  std::vector<plan::StreamRing> rings;
  std::int64_t pixel_bytes = 0;
  std::int64_t height = 1;
  std::int64_t width = 1;
  std::int32_t memory = 0;
  std::string name;  // of the tensor, for a comment

  std::int64_t bytes() const { return height * width * pixel_bytes; }
};

struct Window {
  std::string padding;  // a C expression
  std::int64_t height = 1;
  std::int64_t width = 1;
  std::int64_t stride_y = 1;
  std::int64_t stride_x = 1;
  std::int64_t dilation_y = 1;
  std::int64_t dilation_x = 1;
  std::int64_t pad_y = 0;
  std::int64_t pad_x = 0;
};

// Parameters of a kernel: a struct of neap_rt.h and its initialiser.
struct Params {
  std::string type;
  std::string value;
};

// A neap_mean.
struct Mean {
  std::int64_t places = 1;
  std::int64_t fraction = 0;
  std::int64_t shift = 0;
  std::int64_t in_zero = 0;
  std::int64_t out_zero = 0;
  std::int64_t low = 0;
  std::int64_t high = 0;
  std::int64_t first_row = 0;
  std::int64_t first_column = 0;
  std::int64_t end_row = 0;
  std::int64_t end_column = 0;
  std::int64_t sum_bytes = 4;
  bool flips = false;
};

// `bytes` bytes of weights, from the table `from` to `offset` of memory 0.
struct WeightCopy {
  std::string from;  // a C expression
  std::int64_t offset = 0;
  std::int64_t bytes = 0;
};

// Weights in slow memory of a kernel whose parameters are a neap_conv: members of a
// neap_slow_weights (runtime/neap_slow_weights.h).
struct SlowWeights {
  std::string weights;  // C expressions of tables in slow memory
  std::string bias;     // "": it is no weight
  std::int64_t channel_bytes = 0;
  std::int64_t outputs = 0;
  std::int64_t buffer = 0;  // offsets in memory 0
  std::int64_t bias_buffer = 0;
  std::int64_t second = -1;  // of the other buffer, for every second block; -1: there is none
  std::int64_t bias_second = -1;
  std::int64_t kept = 0;         // output channels of the first block, which stays; 0: none does
  std::int64_t kept_buffer = 0;  // its offsets
  std::int64_t kept_bias = 0;
  bool is_ahead = false;         // the copy of the first block has begun before
  std::vector<WeightCopy> next;  // of other operators, which begin with the last block
  std::int64_t block = 0;        // output channels; 0: all are copied before the segment
  std::int64_t first = 0;        // of the blocks that the call computes
  std::int64_t blocks = 0;
  bool by_tap = false;
  bool by_channel = false;
};

// One row of a table of operators.
struct Call {
  std::string driver;
  std::string kernel;            // "": none
  std::optional<Params> params;  // or `mean`
  std::optional<Mean> mean;
  std::optional<Window> window;
  std::vector<View> views;              // the output, then the inputs
  std::vector<plan::StreamRange> rows;  // a box for each step; empty: the whole output
  std::vector<plan::StreamRange> columns;
  std::int64_t scratch = 0;        // offset; of the plan, or after PlaceScratch()
  std::int64_t scratch_bytes = 0;  // to be placed
  std::int64_t pixel_scratch = 0;  // the same for each pixel, of two at most
  // Bytes of memory 0 that are in use while the call runs, by offset.
  std::vector<plan::StreamRange> used;
  // That a packed kernel computes together.
  std::int64_t max_pixels = 2;
  graph::OpId op;                      // invalid: of none
  std::int64_t padded_pixels = 1;      // of neap_drive_strip: pixels of a row of padding at once
  std::int64_t taps = 0;               // pointers for each output pixel, or inputs
  std::optional<SlowWeights> weights;  // `driver` and `kernel` are called by another driver
  std::vector<Call> images;            // in blocks of weights: the operator on its other images
  bool ahead = false;                  // of a copy: it is done at the end of the block
  std::string comment;
};

struct Move {
  std::int64_t from = 0;
  std::int64_t to = 0;
  std::int64_t bytes = 0;
  std::int32_t from_memory = 0;
  std::int32_t to_memory = 0;
};

struct Segment {
  std::vector<Move> moves;
  std::vector<Call> calls;
  std::size_t row_steps = 1;
  std::size_t column_steps = 1;
  std::string comment;
};

// An input or output of the model, one stretch of bytes.
struct Port {
  std::string name;
  std::string type;  // "int8_t" or "uint8_t"
  std::vector<std::int64_t> shape;
  std::int64_t bytes = 0;
  std::int64_t offset = 0;
  std::int32_t memory = 0;  // kExternal + i: an argument
  std::int64_t rows = 0;    // number of rows in which it comes; 0: it is in memory as a whole
  float scale = 0;
  std::int64_t zero_point = 0;
};

// A tensor that keeps its value from run to run, and each of its bytes before the first one.
struct Variable {
  std::int64_t offset = 0;
  std::int64_t bytes = 0;
  std::int32_t memory = 0;
  std::int64_t value = 0;
};

// A constant table: elements of a C type.
struct Constant {
  std::string name;
  std::string type;  // "int8_t", "int32_t"
  std::vector<std::int64_t> values;
  bool weights = false;  // may be put into the file of weights
};

// Bytes that a run copies between fast and slow memory.
struct SlowTraffic {
  std::int64_t read = 0;
  std::int64_t written = 0;
  std::optional<std::int64_t> weights;  // of those read; nullopt: weights are read where they are
};

struct Program {
  std::vector<Constant> constants;
  std::vector<Segment> segments;
  std::vector<Port> inputs;
  std::vector<Port> outputs;
  std::vector<Variable> variables;
  std::vector<std::int64_t> memory_bytes;  // of each memory, without state
  std::optional<SlowTraffic> slow;         // memory 1 is slow memory (plan::SlowMemory)
  bool little_flash = false;               // drivers are compiled for size
};

}  // namespace neap::emit
