// SPDX-License-Identifier: Apache-2.0
//
// Runs of a model as pictures and files for other viewers. Pure functions of values. Any text of
// a model's names is written as text: never as markup, script or a second line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "neap/base/result.h"
#include "neap/compile/compile.h"
#include "neap/graph/graph.h"

namespace neap::picture {

struct Step {
  std::string label;  // "#12 'CONV_2D'"
  std::int64_t live_bytes = 0;
  std::int32_t number = -1;  // in the order; -1: as in Run::steps
};

// A tensor, a stretch of one between two moves, or scratch.
struct Buffer {
  std::string name;
  std::string shape;  // "int8 1x56x56x32"; "scratch"
  std::int64_t bytes = 0;
  std::int64_t counted_bytes = 0;  // as the profile rounds
  std::int32_t first = 0;          // steps [first, last)
  std::int32_t last = 0;
  std::int64_t offset = -1;  // from the start of all memories, one above the other; -1: not placed
  std::int32_t memory = 0;
};

// The purpose of bytes while a streamed segment computes a block.
enum class Holds : std::uint8_t {
  kInput,    // found by the segment, and still to be read in it
  kOutput,   // computed part of the segment's output
  kLine,     // computed in an earlier row step
  kHalo,     // computed in an earlier block of this row step
  kBlock,    // computed in this block
  kSums,     // of a mean, in place of its output
  kPassing,  // neither read nor written here, needed later
};

// The arena inside one row step of one streamed segment: the one with the most live bytes.
struct RowStepMap {
  std::string title;
  std::int32_t segment = 0;
  std::int32_t row_step = 0;
  std::int32_t blocks = 0;  // of the row step: its column steps
  std::int32_t peak = 0;    // the block with the most bytes
  std::int64_t arena_bytes = 0;
  // [offset, offset + bytes) in blocks [first, last).
  struct Stretch {
    std::int64_t offset = 0;
    std::int64_t bytes = 0;
    std::int32_t first = 0;
    std::int32_t last = 0;
  };
  struct Part {
    std::string name;
    std::string shape;
    Holds holds = Holds::kBlock;
    std::int64_t peak_bytes = 0;  // in block `peak`
    std::vector<Stretch> stretches;
  };
  std::vector<Part> parts;  // by tensor, then by purpose
};

// One order of one entry subgraph. Of a streamed plan a step is a segment, and live is its highest
// byte.
struct Run {
  std::string title;  // "order of the file"
  std::vector<Step> steps;
  std::vector<Buffer> buffers;
  std::int64_t peak_bytes = 0;
  std::int64_t peak_lower_bound_bytes = 0;  // 0: not known
  std::int64_t arena_bytes = 0;             // 0: not placed
  std::int64_t arena_lower_bound_bytes = 0;
  // Another number for the same run, as a sentence: "TFLM's own planner allocates 73,728 B."
  std::string note;
  bool streamed = false;
  std::vector<RowStepMap> row_step_maps;  // of the segments that reach highest
  // Above 1: `steps` has the highest of so many consecutive steps, of all_steps in the order.
  std::int32_t steps_per_column = 1;
  std::int32_t all_steps = 0;
};

// The largest entry of a compiled graph.
Result<Run> RunOf(const graph::Graph& graph, const compile::Compiled& compiled, std::string title);

// `run` with at most `max_steps` of its steps (at least 1): of every so many consecutive steps the
// first of the highest, so that the peak is among them. Live bytes and addresses at these steps are
// those of the run; buffers are live from the first to the last of these steps at which they were
// live, and the others are left out. As it is where it has no more steps. O(steps + buffers).
Run Aggregated(Run run, std::size_t max_steps);

struct Picture {
  std::string model;
  std::string model_sha256;
  std::string runtime;
  std::string neap_version;
  std::vector<Run> runs;  // one, or before and after
  // The number on the first line of the plan's report, and the same of file order where the two can
  // be compared; 0: unknown.
  std::string planned_figure = "Arena";
  std::int64_t planned_bytes = 0;
  std::int64_t file_order_bytes = 0;
  std::optional<std::int64_t> budget_bytes;
  std::vector<std::string> notes;
};

inline constexpr std::size_t kMaxDrawnSteps = 5'000;

// One self-contained page: live bytes over steps, the arena map, the tensors live at the peak, a
// budget slider; the drawings work without script. Runs of more than kMaxDrawnSteps steps are
// aggregated to that many or fewer.
std::string MemoryPage(const Picture& picture);
// The drawings of that page as one SVG file without script, each run beside the one before.
std::string MemorySvg(const Picture& picture);

// One line a step: step, operator, live bytes.
std::string StepsCsv(const Run& run);
// One line a buffer: name, shape, bytes, first, last, offset, memory.
std::string TensorsCsv(const Run& run);

// Chrome trace JSON in the dialect that ExecuTorch and ONNX Runtime use for memory maps: process =
// memory, thread = step, time = address, duration = bytes. The run is placed. Beyond half a million
// events every buffer appears in its first step alone.
std::string MapTrace(const Run& run);
// Chrome trace JSON with steps as time: a track for each tensor and a counter of live bytes.
std::string TimelineTrace(const Run& run);

// Graphviz: operators with their steps and live bytes, the fuller the darker.
std::string Dot(const graph::Graph& graph, const compile::Compiled& compiled);
// Node data of Google's Model Explorer: live bytes of every operator, by its first output tensor.
std::string ModelExplorerData(const graph::Graph& graph, const compile::Compiled& compiled);

}  // namespace neap::picture
