// SPDX-License-Identifier: Apache-2.0
//
// Executes a plan of a model: in the plan's order, every tensor at its address, in an arena of
// exactly the planned size for each memory. Shares no code with the planner and the checker; every
// reported violation was observed.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "neap/base/result.h"
#include "neap/execute/value.h"
#include "neap/graph/graph.h"
#include "neap/plan/plan.h"

namespace neap::execute {

// Bytes of the arena that belong to one tensor; TensorId() is scratch.
struct ArenaRange {
  graph::TensorId tensor;
  std::int64_t offset = 0;
  std::int64_t bytes = 0;
  std::int32_t memory = 0;
};

// The accesses of one slot, reported after it.
struct StepEvent {
  std::int32_t slot = 0;
  graph::OpId op;  // OpId(): a tensor was moved, the one that was written
  std::vector<ArenaRange> reads;
  std::vector<ArenaRange> writes;
  std::vector<ArenaRange> freed;  // filled with poison
};
using StepObserver = std::function<void(const StepEvent&)>;

// Fills in row `row` of input `input` of the subgraph (of an image: all its pixels; of any other
// tensor all its bytes). Called once for every row, in their order, when a plan whose input comes
// in rows needs it.
using RowSource =
    std::function<Status(std::size_t input, std::int64_t row, std::span<std::byte> bytes)>;

struct RunOptions {
  Kernels kernels = Kernels::kLitert;
  std::int64_t max_memory_bytes = std::int64_t{4} << 30;  // of arena and copies, each
  StepObserver observer;                                  // may be empty
  RowSource rows;  // of a streamed plan with rows; empty: they are taken from the inputs
  // Values of variable tensors before the run of a streamed plan, as RunResult::variables of the
  // run before. Others begin as zeros in real numbers.
  std::map<graph::TensorId, std::vector<std::byte>> variables;
};

struct RunResult {
  std::vector<Value> outputs;
  // Violations, a line each, at most kMaxViolations. Empty: the outputs are those of an unplanned
  // run.
  std::vector<std::string> violations;
  std::int64_t arena_bytes = 0;
  std::int64_t high_water_bytes = 0;  // end of the highest byte that was written; of all memories
                                      // together
  std::int64_t macs = 0;              // multiply-accumulates of a streamed plan, counted as it ran
  std::int64_t kernel_bytes = 0;      // of a streamed plan: the largest working memory of a kernel,
                                      // the block's inputs and outputs side by side; not counted
  // Of a streamed plan: the variable tensors after the run.
  std::map<graph::TensorId, std::vector<std::byte>> variables;
  // Of a plan with two memories, whose arena is the fast one.
  std::int64_t slow_bytes = 0;
  std::int64_t slow_read_bytes = 0;     // that were read from slow memory
  std::int64_t slow_written_bytes = 0;  // that were written to it
};
inline constexpr std::size_t kMaxViolations = 20;

// Runs one entry of a plan on the inputs of its subgraph, in its order. The arena is between guard
// bytes and is filled with poison; so are the bytes of a tensor when its planned lifetime ends, and
// scratch before its step. A copy of every live tensor is stored outside the arena. Violations:
//  - a step reads a tensor before it is written, outside of its lifetime, or after bytes of it have
//    changed;
//  - a step writes a tensor outside of its lifetime, or changes bytes of one that is still live;
//  - tensors that are live in one slot share bytes and no overlaps of the plan join them;
//  - a step whose outputs overlap its inputs computes other outputs than without the overlap;
//  - a move has no destination, or its copy is wrong;
//  - bytes change that are neither outputs nor scratch, or a guard does;
//  - an operator has no step, or two; an output is not there in the end.
// The run goes on after a violation as far as it can. Fails when the plan cannot be run at all: it
// has no addresses, an address is outside of the arena, a step does not name an operator, an
// operator has no kernel (control flow has none), the data is invalid for an operator. Thread-safe.
// O(slots x arena) beside the kernels. A streamed plan runs block by block; every pixel that a box
// reads is compared with the pixel that was written, and every operator has to compute all its
// output. A plan with two memories has a slow memory of its own between guards; operators see the
// arena alone, and bytes read from and written to slow memory are counted.
Result<RunResult> Run(const graph::Graph& graph, const plan::EntryPlan& entry,
                      std::span<const Value> inputs, const RunOptions& options);

}  // namespace neap::execute
