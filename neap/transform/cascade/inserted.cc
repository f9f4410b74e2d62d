// SPDX-License-Identifier: Apache-2.0
#include "neap/transform/cascade/inserted.h"

#include <algorithm>
#include <set>

#include "neap/ops/op_table.h"
#include "neap/transform/cascade/cut_axes.h"

namespace neap::cascade {
namespace {

using graph::Subgraph;
using graph::TensorId;
using ops::OpKind;

bool HoldsTflite(const Subgraph& subgraph) {
  return std::any_of(subgraph.ops.begin(), subgraph.ops.end(),
                     [](const graph::Op& op) { return op.domain == "tflite"; });
}

bool IsFromFile(const Subgraph& subgraph) {
  return std::any_of(subgraph.ops.begin(), subgraph.ops.end(),
                     [](const graph::Op& op) { return op.source_index >= 0; });
}

// Operators that were read from no file have no version: they take the newest.
bool MayAddTo(const Subgraph& subgraph, TensorId id, ops::OpKind tflite, ops::OpKind onnx,
              ops::StockRuntime runtime) {
  const graph::Tensor& tensor = subgraph.tensors[id];
  const std::size_t rank = tensor.shape ? tensor.shape->size() : 0;
  if (HoldsTflite(subgraph)) return ops::MayInsert(tflite, tensor.type, rank, runtime);
  const std::int32_t opset = ops::DefaultOpset(subgraph);
  if (opset == 0) return !IsFromFile(subgraph);
  return ops::MayInsertOnnx(onnx, tensor.type, opset);
}

}  // namespace

bool MayJoin(const Subgraph& subgraph, TensorId output, ops::StockRuntime runtime) {
  return MayAddTo(subgraph, output, OpKind::kConcatenation, OpKind::kOnnxConcat, runtime);
}

bool MaySlice(const Subgraph& subgraph, const std::vector<Tile>& tiles, ops::StockRuntime runtime) {
  std::set<TensorId> judged;  // each once: that looks at all operators
  for (const Tile& tile : tiles) {
    for (const TileStep& step : tile.steps) {
      TensorId whole = tile.tensors[static_cast<std::size_t>(step.output)].whole;
      if (step.op.valid()) {
        const graph::Op& op = subgraph.ops[step.op];
        if (!ops::Has(op, ops::trait::kSplits)) continue;
        if (ops::Is(op, OpKind::kUnpack)) {
          // Of other ranks SLICE is judged by itself.
          if (!MayAddTo(subgraph, whole, OpKind::kReshape, OpKind::kOnnxReshape, runtime)) {
            return false;
          }
          continue;
        }
        whole = op.inputs[DataInputOf(op)];
      }
      if (!judged.insert(whole).second) continue;
      if (!MayAddTo(subgraph, whole, OpKind::kSlice, OpKind::kOnnxSlice, runtime)) return false;
    }
  }
  return true;
}

}  // namespace neap::cascade
