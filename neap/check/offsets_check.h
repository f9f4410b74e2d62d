// SPDX-License-Identifier: Apache-2.0
//
// Independent check of the offsets that a .tflite contains for TensorFlow Lite Micro, from any
// writer. Shares no code with the planner.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "neap/graph/graph.h"

namespace neap::check {

struct OffsetsVerdict {
  // Height of the tensors with an offset, every size rounded up to 16 bytes.
  std::int64_t arena_bytes = 0;
  std::int64_t placed = 0;  // tensors that have an offset and need one
  std::int64_t online = 0;  // tensors that are left to TFLM's own planner
  // Errors under all kernels, a line each, at most 20: two tensors that are live at the same time
  // share a byte; an offset is negative or not a multiple of 16; a variable has an offset.
  std::vector<std::string> problems;
  // Outputs that share bytes with an input of the same operator that is freed there, a line each,
  // at most 20: valid only with kernels that read each of those bytes before they overwrite it.
  std::vector<std::string> inside_operators;
};

// Reads `offsets` (an entry for every tensor of every subgraph) as TFLM does: operators run in the
// order of the file, bodies of control flow inside the operator that calls them; subgraphs that
// nothing calls from subgraph 0 never run. A tensor of a body that is called several times keeps
// its bytes from the first call to the last. An operator that only renames its input (RESHAPE) may
// keep it where it is. Tensors without a known size and unused tensors are ignored. O(n log n) and
// the pairs that share bytes. `graph` has passed Verify().
OffsetsVerdict CheckOffsets(const graph::Graph& graph, const graph::TensorOffsets& offsets);

}  // namespace neap::check
