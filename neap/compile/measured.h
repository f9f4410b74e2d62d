// SPDX-License-Identifier: Apache-2.0
//
// A graph as the runtime of a profile stores it, and the sizes of its tensors: the constant input
// of all later steps. Private to neap/compile.
#pragma once

#include "neap/base/result.h"
#include "neap/compile/runtime_graph.h"
#include "neap/compile/timeline.h"
#include "neap/graph/graph.h"
#include "neap/plan/profile.h"

namespace neap::compile {

struct Measured {
  plan::Profile profile;
  RuntimeGraph runtime_graph;
  // Of merged().
  AllSizes sizes;
  Orders file_orders;

  // The graph that is ordered and placed.
  const graph::Graph& merged() const { return runtime_graph.merged(); }
};

// `graph` outlives the result. Fails where the bytes of a tensor cannot be known.
Result<Measured> Measure(const graph::Graph& graph, const plan::Profile& profile);

}  // namespace neap::compile
