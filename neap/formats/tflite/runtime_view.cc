// SPDX-License-Identifier: Apache-2.0
#include "neap/formats/tflite/runtime_view.h"

#include <algorithm>
#include <vector>

#include "neap/ops/defined_shapes.h"

namespace neap::formats::tflite {

using graph::TensorId;

bool DefineShapes(graph::Subgraph* subgraph, bool apply) {
  bool any = false;
  for (const graph::Op& op : subgraph->ops) {
    const std::vector<graph::Shape> shapes = ops::DefinedShapes(op);
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      if (!op.outputs[i].valid()) continue;
      graph::Tensor& output = subgraph->tensors[op.outputs[i]];
      if (output.shape && !output.shape->empty()) continue;
      any = true;
      if (apply) output.shape = shapes[i];
    }
  }
  return any;
}

bool FoldConstants(graph::Subgraph* subgraph, bool apply) {
  bool any = false;
  IdVector<TensorId, char> known(subgraph->tensors.size(), 0);  // constants with data
  IdVector<TensorId, char> is_output(subgraph->tensors.size(), 0);
  for (const TensorId id : subgraph->tensors.Ids()) {
    const graph::Tensor& tensor = subgraph->tensors[id];
    known[id] = tensor.constant && tensor.data && !tensor.compressed ? 1 : 0;
  }
  for (const TensorId id : subgraph->outputs) is_output[id] = 1;
  for (graph::Op& op : subgraph->ops) {
    if (op.stateful || !op.bodies.empty() || op.domain != "tflite" || op.inputs.empty()) continue;
    const bool constants = std::all_of(op.inputs.begin(), op.inputs.end(),
                                       [&](TensorId id) { return !id.valid() || known[id] != 0; });
    const bool outputs = std::all_of(op.outputs.begin(), op.outputs.end(), [&](TensorId id) {
      return id.valid() && is_output[id] == 0 && graph::TensorBytes(subgraph->tensors[id]);
    });
    if (!constants || !outputs) continue;
    any = true;
    for (const TensorId id : op.outputs) known[id] = 1;
    if (!apply) continue;
    op.folded = true;
    for (const TensorId id : op.outputs) subgraph->tensors[id].constant = true;
  }
  return any;
}

}  // namespace neap::formats::tflite
