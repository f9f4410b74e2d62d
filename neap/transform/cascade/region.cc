// SPDX-License-Identifier: Apache-2.0
#include "neap/transform/cascade/region.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace neap::cascade {

using graph::OpId;
using graph::Subgraph;
using graph::TensorId;

Split EvenSplit(std::size_t axis, std::int64_t size, std::int64_t parts) {
  Split split;
  split.axis = axis;
  std::int64_t at = 0;
  for (std::int64_t i = 0; i + 1 < parts; ++i) {
    at += size / parts + (i < size % parts ? 1 : 0);
    split.cuts.push_back(at);
  }
  return split;
}

Border BorderOf(const Subgraph& subgraph, const std::vector<OpId>& ops) {
  IdVector<OpId, bool> inside(subgraph.ops.size(), false);
  for (const OpId id : ops) inside[id] = true;
  IdVector<TensorId, bool> written(subgraph.tensors.size(), false);
  for (const OpId id : ops) {
    for (const TensorId output : subgraph.ops[id].outputs) {
      if (output.valid()) written[output] = true;
    }
  }
  Border border;
  IdVector<TensorId, bool> seen(subgraph.tensors.size(), false);
  for (const OpId id : ops) {
    for (const TensorId input : subgraph.ops[id].inputs) {
      if (!input.valid() || written[input] || seen[input] || subgraph.tensors[input].constant) {
        continue;
      }
      seen[input] = true;
      border.inputs.push_back(input);
    }
  }
  IdVector<TensorId, bool> wanted(subgraph.tensors.size(), false);
  for (const OpId id : subgraph.ops.Ids()) {
    if (inside[id]) continue;
    for (const auto* list : {&subgraph.ops[id].inputs, &subgraph.ops[id].captures}) {
      for (const TensorId input : *list) {
        if (input.valid()) wanted[input] = true;
      }
    }
  }
  for (const TensorId output : subgraph.outputs) wanted[output] = true;
  for (const OpId id : ops) {
    for (const TensorId output : subgraph.ops[id].outputs) {
      if (output.valid() && wanted[output]) border.outputs.push_back(output);
    }
  }
  return border;
}

}  // namespace neap::cascade
