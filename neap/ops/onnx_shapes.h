// SPDX-License-Identifier: Apache-2.0
//
// Shape and type inference for ONNX operators, with folding of shape arithmetic.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "neap/graph/graph.h"

namespace neap::ops {

// The element type of an ONNX data type code (TensorProto.DataType); kUnknown for other numbers.
graph::ElementType OnnxElementType(std::int64_t code);

// Called on an operator that has bodies, once its inputs and captures are inferred: infers the
// bodies and fills in the operator's outputs, which are tensors of the same subgraph.
using ControlFlowInference = std::function<void(graph::OpId)>;

// Fills in the type and shape of op outputs of `subgraph` where the rule of the operator tells, in
// topological order; values of small integer constants are followed through shape arithmetic
// (Shape, Gather, Concat, Slice, Mul, ...), and an op whose outputs are all known that way, or that
// reads constants only and is deterministic, is marked `folded` and its outputs `constant`.
// What the file says (value_info) is kept where no rule exists and merged where one does: a known
// dimension wins over an unknown one. A contradiction between the two is reported as a note and the
// inferred one wins. `opset` is the version of the default domain. Bodies of control flow: call it
// on the body after their outer scope has been inferred, or let `control_flow` do so on the way,
// which also lets what follows the operator see the shapes of its outputs.
//
// Attributes are the file's own. A tensor attribute `value` is its bytes, and its data type code is
// the integer attribute `value.type`.
// O(operators + tensors), and 4096 values at most are followed in one tensor.
void InferOnnxShapes(graph::Subgraph* subgraph, int opset, std::vector<std::string>* notes,
                     const ControlFlowInference& control_flow = {});

}  // namespace neap::ops
