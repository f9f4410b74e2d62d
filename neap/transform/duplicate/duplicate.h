// SPDX-License-Identifier: Apache-2.0
//
// Operators that run again, as an edit of the graph: every run but the last is a duplicate with
// output tensors of its own. Rematerialisation decides which operators run again
// (neap/solve/rematerialise); after this edit the graph is an ordinary one.
#pragma once

#include <span>

#include "neap/base/result.h"
#include "neap/graph/graph.h"

namespace neap::duplicate {

// For every operator of the main subgraph, whether it may run again: it computes its outputs from
// its inputs alone. That excludes operators with state or random numbers, with bodies, folded ones
// and those that control edges order, and outputs that bodies or folded operators read. O(graph).
IdVector<graph::OpId, char> Repeatable(const graph::Graph& graph);

// The edited graph (formats::WriteEdited) whose main subgraph runs `sequence`: operators of `graph`
// that are not folded, each at least once. A run reads what the last run before it wrote. The last
// run of an operator is the operator itself; the others are new operators like it. Fails with
// kBadInput, naming the operator, for other sequences. O(graph + sequence).
Result<graph::Graph> Apply(const graph::Graph& graph, std::span<const graph::OpId> sequence);

}  // namespace neap::duplicate
