// SPDX-License-Identifier: Apache-2.0
#include "neap/ops/litert.h"

#include "neap/ops/op_table.h"

namespace neap::ops {

LitertSharing LitertSharingOf(const graph::Op& op) {
  switch (KindOf(op)) {
    case OpKind::kBitcast:
    case OpKind::kExpandDims:
    case OpKind::kReshape:
    case OpKind::kSqueeze:
      return {1, true};
    case OpKind::kAdd:
    case OpKind::kDiv:
    case OpKind::kMul:
    case OpKind::kSub:
      return {2, false};
    case OpKind::kDynamicUpdateSlice:
    case OpKind::kSoftmax:
      return {1, false};
    default:
      return {};
  }
}

bool LitertKeepsOutput(const graph::Subgraph& subgraph, const graph::Op& op) {
  if (!Is(op, OpKind::kDequantize, OpKind::kDensify)) return false;
  if (op.inputs.empty() || op.outputs.empty()) return false;
  const graph::TensorId input = op.inputs.front();
  return input.valid() && op.outputs.front().valid() && subgraph.tensors[input].constant;
}

}  // namespace neap::ops
