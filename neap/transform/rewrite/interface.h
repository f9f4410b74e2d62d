// SPDX-License-Identifier: Apache-2.0
//
// Moves conversions at the ends of a model to its caller: if a float input feeds only a QUANTIZE,
// the caller may pass the output of the QUANTIZE, and it may take the input of a DEQUANTIZE that
// computes an output. Unlike rewrites, this changes the model's interface. With exactly the
// caller's computations the outputs equal those of the original model, byte for byte.
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
// float input without other consumers; DEQUANTIZE (DequantizeLinear) that only computes an output,
// from a computed tensor that is not an output itself. O(graph).
std::vector<graph::OpId> ConversionsAtEnds(const graph::Graph& graph, Ends ends);

// Of one of them: it is at an input; else it is at an output.
bool IsAtInput(const graph::Op& op);

// The edited graph (formats::WriteEdited) without `ops`, which are some of ConversionsAtEnds() and
// run in the caller: their outputs become inputs, their inputs outputs. Fails with kBadInput for
// other operators.
Result<graph::Graph> MoveToCaller(const graph::Graph& graph, std::span<const graph::OpId> ops);

// The caller's computations before and after the model: graphs of `ops` alone, with the tensors of
// `graph`, from its inputs to those of the edited graph, and from the outputs of that to those of
// `graph`.
struct CallerGraphs {
  graph::Graph before;
  graph::Graph behind;
};
Result<CallerGraphs> GraphsOfCaller(const graph::Graph& graph, std::span<const graph::OpId> ops);

}  // namespace neap::rewrite
