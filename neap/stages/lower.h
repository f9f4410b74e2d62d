// SPDX-License-Identifier: Apache-2.0
//
// The only place that turns a graph into a stage assignment problem: it defines the costs of
// computing, parameters and transfers on an accelerator.
#pragma once

#include <cstdint>
#include <vector>

#include "neap/base/result.h"
#include "neap/graph/graph.h"
#include "neap/solve/partition/problem.h"
#include "neap/stages/accelerator.h"

namespace neap::stages {

enum class Objective : std::uint8_t {
  kTime,        // picoseconds of the slowest stage
  kParameters,  // bytes of the largest parameter memory of a stage
};

struct LowerOptions {
  Accelerator accelerator;
  partition::Stage stages = 1;
  Objective objective = Objective::kTime;
  bool children_together = false;           // all readers of an operator in one stage
  std::int64_t parameter_limit_bytes = -1;  // of a stage; -1: none
  bool shared_link = false;                 // all stages use one link; of kTime
};

struct Lowered {
  partition::Problem problem;
  std::vector<graph::OpId> ops;          // problem index -> operator; folded ones are left out
  std::vector<graph::TensorId> tensors;  // problem index -> tensor
};

// Of subgraph 0. Operators in file order. Operators that share a variable or another state have to
// be together. A constant counts where it is read, in every stage once. Control flow costs what its
// bodies cost when each runs once. Fails with kMissingSize or kBadInput, naming operator and
// tensor, where sizes are not known, and with kBadInput for more operators or larger costs than a
// problem may have.
Result<Lowered> Lower(const graph::Graph& graph, const LowerOptions& options);

// True for the types that an accelerator of 8-bit numbers counts as a byte each.
bool IsFloat(graph::ElementType type);

// Bytes of a tensor on the accelerator. Fails as graph::TensorBytes does.
Result<std::int64_t> BytesOn(const Accelerator& accelerator, const graph::Tensor& tensor);

}  // namespace neap::stages
