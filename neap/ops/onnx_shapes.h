// SPDX-License-Identifier: Apache-2.0
//
// Shape and type inference for ONNX operators, with folding of shape arithmetic.
#pragma once

#include <string>
#include <vector>

#include "neap/graph/graph.h"

namespace neap::ops {

// Fills in the type and shape of op outputs of `subgraph` where the rule of the operator tells, in
// topological order; values of small integer constants are followed through shape arithmetic
// (Shape, Gather, Concat, Slice, Mul, ...), and an op whose outputs are all known that way, or that
// reads constants only and is deterministic, is marked `folded` and its outputs `constant`.
// What the file says (value_info) is kept where no rule exists and merged where one does: a known
// dimension wins over an unknown one. A contradiction between the two is reported as a note and the
// inferred one wins. `opset` is the version of the default domain. Bodies of control flow: call it
// on the body after their outer scope has been inferred.
void InferOnnxShapes(graph::Subgraph* subgraph, int opset, std::vector<std::string>* notes);

}  // namespace neap::ops
