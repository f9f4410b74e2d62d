// SPDX-License-Identifier: Apache-2.0
#include "neap/ops/litert.h"

#include "neap/ops/op_table.h"

namespace neap::ops {

LitertSharing LitertSharingOf(const graph::Op& op) { return RowOf(KindOf(op)).litert; }

bool LitertKeepsOutput(const graph::Subgraph& subgraph, const graph::Op& op) {
  if (!LitertSharingOf(op).keeps_output) return false;
  if (op.inputs.empty() || op.outputs.empty()) return false;
  const graph::TensorId input = op.inputs.front();
  return input.valid() && op.outputs.front().valid() && subgraph.tensors[input].constant;
}

}  // namespace neap::ops
