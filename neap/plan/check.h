// SPDX-License-Identifier: Apache-2.0
//
// The independent word on a plan. Recomputes everything from the graph and the definition of the
// profile; shares no code with the planner (neap/compile, neap/schedule, neap/arena), which may not
// even be linked here (cmake/layers.cmake).
#pragma once

#include <string>
#include <vector>

#include "neap/graph/graph.h"
#include "neap/plan/plan.h"

namespace neap::plan {

// One line for each way in which the plan is wrong for this graph; empty when it is right. Checked:
// every entry subgraph is planned; every step is an operator that is due, once per call, after what
// it depends on, stateful operators and control edges in order; lifetimes are exactly those of the
// steps; sizes; alignment; no two live tensors or scratch areas share a byte except where an
// overlap of the plan is allowed by the profile; peak and arena are what they are said to be; bounds
// do not exceed them; a witness cut proves its bound. At most 20 lines. O(n^2) pairs of tensors.
// The hash of the model is the caller's to compare.
std::vector<std::string> Check(const graph::Graph& graph, const Plan& plan);

}  // namespace neap::plan
