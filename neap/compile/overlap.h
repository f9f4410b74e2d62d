// SPDX-License-Identifier: Apache-2.0
//
// Which outputs may lie over inputs, in one order, for one kernel library. Private to neap/compile.
#pragma once

#include <cstdint>
#include <vector>

#include "neap/compile/timeline.h"
#include "neap/graph/graph.h"
#include "neap/ops/overlap.h"
#include "neap/plan/plan.h"

namespace neap::compile {

struct OverlapOptions {
  ops::KernelLibrary kernels = ops::KernelLibrary::kNone;
  bool keep_inputs = false;  // never over an input of the model
};

// All pairs that may share bytes, as the plan would tell them (kInPlace excepted). Only operators
// of the entry subgraph itself: tensors of bodies live in several calls.
std::vector<plan::Overlap> AllowedOverlaps(const graph::Graph& graph, graph::SubgraphId entry,
                                           const Timeline& timeline, const OverlapOptions& options);

// Whether any operator could have such an overlap, in any order. Where none can, no arena is below
// the peak.
bool MayOverlap(const graph::Subgraph& subgraph, const OverlapOptions& options);

// No order and no placement with such overlaps needs less, because one operator alone does:
// everything that it reads and writes, less the most that its output could save by lying over its
// inputs (which are disjoint).
std::int64_t SingleOperatorArenaBound(const graph::Subgraph& subgraph, const TensorSizes& sizes,
                                      const plan::Profile& profile, const OverlapOptions& options);

}  // namespace neap::compile
