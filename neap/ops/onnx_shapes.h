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

struct OnnxInference {
  int opset = 1;  // version of the default domain
  // Where the file declares a shape that its operators contradict: whether the declaration counts.
  // True by default: in graphs without weights or padding, sizes are known from declarations alone.
  // False where the user has changed an input, because declarations may be older than the change.
  bool declared_shapes_win = true;
  // Called on an operator that has bodies, once its inputs and captures are inferred: infers the
  // bodies and fills in the operator's outputs, which are tensors of the same subgraph. May be
  // empty.
  std::function<void(graph::OpId)> control_flow;
};

// Fills in the type and shape of op outputs of `subgraph` where the operator's rule infers them, in
// topological order; values of small integer constants are tracked through shape arithmetic (Shape,
// Gather, Concat, Slice, Mul, ...), and an op whose outputs are all known that way, or that reads
// constants only and is deterministic, is marked `folded` and its outputs `constant`. The file's
// own shapes (value_info) are kept where no rule exists and merged where one does: a known
// dimension wins over an unknown one. Contradictions between the two become one note; `options`
// decides which shape wins, and the inferred element type always does. Bodies of control flow:
// through `options.control_flow`, or by a call on the body after their outer scope has been
// inferred.
//
// Attributes are the file's own. A tensor attribute `value` is its bytes, and its data type code is
// the integer attribute `value.type`.
// O(operators + tensors), and 4096 values at most are followed in one tensor.
void InferOnnxShapes(graph::Subgraph* subgraph, const OnnxInference& options,
                     std::vector<std::string>* notes);

}  // namespace neap::ops
