// SPDX-License-Identifier: Apache-2.0
//
// Which outputs may overlap inputs, in one order, for one kernel library. Private to neap/compile.
#pragma once

#include <cstdint>
#include <optional>
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

// All pairs that may share bytes, as entries of a plan (kInPlace excepted): of operators of the
// entry subgraph and of bodies, there once for every call. Dead parts are those of tensors of
// the entry subgraph.
std::vector<plan::Overlap> AllowedOverlaps(const graph::Graph& graph, graph::SubgraphId entry,
                                           const Timeline& timeline, const OverlapOptions& options);

// Takes out what is written in place over inputs of the entry subgraph. A bound of the peak that
// counts it stays one.
void KeepInputs(const graph::Subgraph& subgraph, graph::SubgraphId entry, Timeline* timeline);

// Whether any operator of the subgraph, or of a body that it calls, could have such an overlap, in
// any order. Where none can, no arena is below the peak.
bool MayOverlap(const graph::Graph& graph, graph::SubgraphId id, const OverlapOptions& options);

// The offset of an output inside the input of which it is a piece; nullopt: it is not a piece, or
// not planned.
std::optional<ops::ViewRule> ViewOf(const graph::Subgraph& subgraph, const graph::Op& op,
                                    std::size_t output, const OverlapOptions& options);

// The largest number of bytes that output 0 of an operator may share with one of its inputs.
struct Saving {
  std::size_t input = 0;  // index into Op::inputs
  std::int64_t bytes = 0;
  bool held = false;  // both values exist afterwards; false: only with an input that is freed there
};
struct OpSavings {
  std::vector<Saving> inputs;  // with bytes > 0, each tensor once
  std::int64_t max_bytes = 0;  // with all of them together
};
// For every order, including the outputs that the profile computes in place.
OpSavings SavingsOf(const graph::Subgraph& subgraph, const graph::Op& op, const TensorSizes& sizes,
                    const plan::Profile& profile, const OverlapOptions& options);

// Lower bound of every order and placement with such overlaps, from one operator alone: all its
// inputs and outputs, minus the largest saving by an overlap of its output with its inputs (which
// are disjoint, except those that another operator may contain in its output).
std::int64_t SingleOperatorArenaBound(const graph::Subgraph& subgraph, const TensorSizes& sizes,
                                      const plan::Profile& profile, const OverlapOptions& options);

}  // namespace neap::compile
