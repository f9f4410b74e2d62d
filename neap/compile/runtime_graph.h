// SPDX-License-Identifier: Apache-2.0
//
// A runtime's treatment of memory expressed as a plain graph, so that order and placement need no
// knowledge of the runtime. Private to neap/compile.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "neap/compile/timeline.h"
#include "neap/graph/graph.h"
#include "neap/plan/plan.h"
#include "neap/plan/profile.h"

namespace neap::compile {

// An output that the runtime puts at the address of an input.
struct SharedOutput {
  graph::SubgraphId subgraph;
  graph::OpId op;
  graph::TensorId input;
  graph::TensorId output;
  graph::TensorId owner;    // the tensor that the address belongs to; no shared output itself
  bool overwrites = false;  // the operator overwrites the input's bytes
};

// Ids are those of the given graph. Differences:
//  - operators that share state follow each other by control edges (neap/ops/state.h);
//  - under `tflm`, an operator without stated scratch has what its TFLM kernel requests;
//  - a tensor that lives to the end of the call is an output as well (inputs, unread outputs);
//  - one that lives the whole run is an input and an output (variables that count, kept outputs),
//    its producer does not write it any more, its readers follow that operator by control edges;
//  - before an operator overwrites a value, all others have read it: control edges. Where that is
//    impossible, the output is not shared.
class RuntimeGraph {
 public:
  // `graph` outlives this. O(graph), and once more for each value written over that has other
  // readers.
  RuntimeGraph(const graph::Graph& graph, const plan::Profile& profile);
  RuntimeGraph(RuntimeGraph&&) = default;
  RuntimeGraph(const RuntimeGraph&) = delete;
  RuntimeGraph& operator=(const RuntimeGraph&) = delete;

  const graph::Graph& given() const { return given_; }
  // As given, and with the scratch of the runtime's kernels.
  const graph::Graph& file() const { return with_scratch_ ? *with_scratch_ : given_; }
  // Shared outputs have an address of their own.
  const graph::Graph& apart() const { return apart_ ? *apart_ : file(); }
  // A shared output is its owner: it has no producer and no consumers, and its readers follow its
  // operator by control edges.
  const graph::Graph& merged() const { return merged_ ? *merged_ : apart(); }
  const std::vector<SharedOutput>& shared() const { return shared_; }

 private:
  const graph::Graph& given_;
  std::optional<graph::Graph> with_scratch_;
  std::optional<graph::Graph> apart_;
  std::optional<graph::Graph> merged_;
  std::vector<SharedOutput> shared_;
};

// Adds the shared outputs to a plan of merged(), whose owners have places: their offsets and
// overlaps. `apart`: the timeline of the same entry and orders of apart(). A plan without places
// gets the overlaps alone.
void AddSharedOutputs(const RuntimeGraph& runtime, const Timeline& apart, plan::EntryPlan* entry);

}  // namespace neap::compile
