// SPDX-License-Identifier: Apache-2.0
//
// The stages of an assignment as parts of the graph, and the memory of their activations.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "neap/base/limits.h"
#include "neap/base/result.h"
#include "neap/graph/graph.h"
#include "neap/solve/partition/problem.h"
#include "neap/stages/accelerator.h"
#include "neap/stages/lower.h"

namespace neap::stages {

struct StagePart {
  partition::Stage stage = 0;
  std::vector<graph::OpId> ops;          // in an order that can be run
  std::vector<graph::TensorId> inputs;   // from outside or earlier stages, in order of the index
  std::vector<graph::TensorId> outputs;  // of the model, or for later stages, the same
};

// The stages that have operators. `stage_of` is an assignment of `lowered`. O(size log size).
std::vector<StagePart> PartsOf(const Lowered& lowered, std::span<const partition::Stage> stage_of);

// The live bytes of a stage in its best order, as profile `ideal` counts them, with tensors of the
// size that they have on the accelerator.
struct ActivationPeak {
  std::int64_t peak_bytes = 0;
  std::int64_t lower_bound_bytes = 0;  // no order of the stage needs less
};
// Fails where compile::Compile does.
Result<ActivationPeak> PeakOf(const graph::Graph& graph, const StagePart& part,
                              const Accelerator& accelerator, const Limits& limits);

}  // namespace neap::stages
