// SPDX-License-Identifier: Apache-2.0
#include "tools/interface.h"

#include <utility>

#include "neap/transform/rewrite/interface.h"

namespace neap::tools {

std::vector<report::InterfaceChange> InterfaceChanges(const graph::Graph& given,
                                                      const std::vector<graph::OpId>& caller_ops) {
  std::vector<report::InterfaceChange> changes;
  const graph::Subgraph& main = given.subgraphs[graph::SubgraphId(0)];
  for (const graph::OpId id : caller_ops) {
    const graph::Op& op = main.ops[id];
    report::InterfaceChange change;
    change.is_input = rewrite::IsAtInput(op);
    const graph::TensorId in = op.inputs[0];
    const graph::TensorId out = op.outputs[0];
    const graph::Tensor& was = main.tensors[change.is_input ? in : out];
    const graph::Tensor& is = main.tensors[change.is_input ? out : in];
    change.op = graph::Describe(id, op);
    change.name = was.name;
    change.new_name = is.name;
    change.type = was.type;
    change.new_type = is.type;
    change.quantization = is.quantization;
    changes.push_back(std::move(change));
  }
  return changes;
}

}  // namespace neap::tools
