// SPDX-License-Identifier: Apache-2.0
//
// How the checker orders operators that share state (variables, tables, random numbers), as
// docs/reference/memory-model.md defines it. Private to neap/plan; the planner has code of its own
// for it.
#pragma once

#include "neap/graph/graph.h"

namespace neap::check {

// Adds to every subgraph a control edge for each pair of operators that has to keep its order in
// the file because of a state that both touch: a write and any other access of the same state; an
// operator that may touch any state and any operator that touches one. Pairs that follow from
// others may be left out. `graph` is well-formed. O(graph log graph).
void OrderStates(graph::Graph* graph);

// True if there is anything to add.
bool HasState(const graph::Graph& graph);

}  // namespace neap::check
