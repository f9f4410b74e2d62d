// SPDX-License-Identifier: Apache-2.0
//
// Conversions at the ends of a model moved to its caller: where a float input goes into a QUANTIZE
// alone, the caller may hand over what that makes, and take what a DEQUANTIZE to an output reads.
// No rewrite as the others: the model's interface changes. What the caller has to compute, and
// nothing else, makes the outputs those of the model as it was, byte for byte.
#pragma once

#include <span>
#include <vector>

#include "neap/base/result.h"
#include "neap/graph/graph.h"

namespace neap::rewrite {

struct Ends {
  bool inputs = false;
  bool outputs = false;
};

// The operators of the main subgraph that can be moved, ascending: QUANTIZE (QuantizeLinear) of a
// float input that nothing else reads; DEQUANTIZE (DequantizeLinear) that only makes an output, of
// what some operator computes and is no output itself. O(graph).
std::vector<graph::OpId> ConversionsAtEnds(const graph::Graph& graph, Ends ends);

// Of one of them: it is at an input; else it is at an output.
bool IsAtInput(const graph::Op& op);

// The edited graph (formats::WriteEdited) without `ops`, which are some of ConversionsAtEnds() and
// run in the caller: what they made is an input, what they read an output. Fails with kBadInput for
// other operators.
Result<graph::Graph> MoveToCaller(const graph::Graph& graph, std::span<const graph::OpId> ops);

// What the caller computes before and behind: graphs of `ops` alone, with the tensors of `graph`,
// from its inputs to those of the edited graph, and from the outputs of that to those of `graph`.
struct CallerGraphs {
  graph::Graph before;
  graph::Graph behind;
};
Result<CallerGraphs> GraphsOfCaller(const graph::Graph& graph, std::span<const graph::OpId> ops);

}  // namespace neap::rewrite
