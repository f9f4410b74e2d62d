// SPDX-License-Identifier: Apache-2.0
//
// The checker's model of a runtime's memory: lifetimes to the end, and outputs at the address of an
// input, as docs/reference/memory-model.md defines them for `litert`; the order of operators that
// share state; the scratch requests of TFLM's kernels under `tflm`. Private to neap/check; the
// planner has separate code for it.
#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "neap/check/replay.h"
#include "neap/graph/graph.h"
#include "neap/plan/plan.h"
#include "neap/plan/profile.h"

namespace neap::check {

class RuntimeView {
 public:
  struct Share {
    graph::OpId op;
    graph::TensorId input;  // the output has the address of this one
    bool overwrites = false;
  };
  // By the output.
  using Shares = std::map<std::pair<graph::SubgraphId, graph::TensorId>, Share>;

  // `graph` is well-formed and outlives this.
  RuntimeView(const graph::Graph& graph, const plan::Profile& profile);
  RuntimeView(const RuntimeView&) = delete;
  RuntimeView& operator=(const RuntimeView&) = delete;

  // Same ids; operators that share state have control edges; every lifetime is the plain one of
  // replay.h. In Merged() a shared output is the
  // tensor whose address it has, in Apart() it is itself.
  const graph::Graph& Merged() const { return merged_ ? *merged_ : Apart(); }
  const graph::Graph& Apart() const { return apart_ ? *apart_ : Scratched(); }
  const Shares& shares() const { return shares_; }
  // The tensor to which the address of a shared output belongs; any other one's own is its own.
  graph::TensorId OwnerOf(graph::SubgraphId subgraph, graph::TensorId tensor) const;

 private:
  const graph::Graph& Scratched() const { return scratched_ ? *scratched_ : graph_; }

  const graph::Graph& graph_;
  std::optional<graph::Graph> scratched_;  // with TFLM's scratch requests
  std::optional<graph::Graph> apart_;
  std::optional<graph::Graph> merged_;
  Shares shares_;
  std::map<std::pair<graph::SubgraphId, graph::TensorId>, graph::TensorId> owners_;
};

// Every shared output has the address of its owner, in the slots in which it is live, and the plan
// has exactly one overlap for every slot of its operator. `order_only`: there are no addresses.
// Returns the plan of Merged(), which remains to be checked.
plan::EntryPlan CheckSharedOutputs(const graph::Graph& graph, const RuntimeView& view,
                                   const plan::Profile& profile, const plan::EntryPlan& entry,
                                   bool order_only, Findings* findings);

}  // namespace neap::check
