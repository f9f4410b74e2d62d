// SPDX-License-Identifier: Apache-2.0
//
// Inlines calls. Kernels have no control flow; where the body of a call is known beforehand, as in
// models whose tiles share bodies, the operators of that body replace the call.
#pragma once

#include "neap/base/result.h"
#include "neap/graph/graph.h"
#include "neap/plan/plan.h"

namespace neap::execute {

// Whether `subgraph` has an IF of TensorFlow Lite whose condition is a constant that is known, and
// whose bodies have neither calls nor folded operators, the chosen one no variables.
bool HasKnownCalls(const graph::Graph& graph, graph::SubgraphId subgraph);

// The graph with every such call in `subgraph` written out: a RESHAPE to the same shape copies each
// argument to the body's input, the body's operators follow, and a RESHAPE copies each output. The
// tensors of the subgraph keep their indices, its operators get others; tensors of a body are added
// behind them, once for every call, its constants once. Other subgraphs stay. The result passes
// graph::Verify() if `graph` does. O(size of the result).
graph::Graph InlineCalls(const graph::Graph& graph, graph::SubgraphId subgraph);

// The plan of an entry, about InlineCalls(graph, entry.subgraph): the steps of the chosen bodies
// with the copies around them, every tensor where the plan has it, a body's at the same place in
// all calls. An argument lives to its copy, an output from its copy on. Fails with kBadInput where
// the steps are not a run of the subgraph. Streamed plans have no calls.
Result<plan::EntryPlan> InlineCalls(const graph::Graph& graph, const plan::EntryPlan& entry);

}  // namespace neap::execute
