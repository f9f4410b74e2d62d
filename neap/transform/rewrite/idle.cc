// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "neap/transform/rewrite/compose.h"
#include "neap/transform/rewrite/rule.h"

namespace neap::rewrite {

using graph::OpId;
using graph::TensorId;

void DropIdle(const graph::Graph& given, const std::vector<OpId>& order, const graph::Graph& result,
              Choices* choices) {
  const graph::Subgraph& before = given.subgraphs[graph::SubgraphId(0)];
  IdVector<OpId, char> kept(before.ops.size(), 0);
  for (const graph::Op& op : result.subgraphs[graph::SubgraphId(0)].ops) {
    if (op.source_index < 0) continue;
    const OpId id(op.source_index);
    if (op.inputs == before.ops[id].inputs) kept[id] = 1;
  }
  IdVector<TensorId, char> taken(before.tensors.size(), 0);  // in pieces, by somebody
  for (auto at = order.rbegin(); at != order.rend(); ++at) {
    const auto found = choices->find(*at);
    if (found == choices->end()) continue;
    const graph::Op& op = before.ops[*at];
    const bool read = std::any_of(op.outputs.begin(), op.outputs.end(),
                                  [&](TensorId id) { return id.valid() && taken[id] != 0; });
    if (found->second.rule->info.name == "concat" && kept[*at] != 0 && !read) {
      choices->erase(found);
      continue;
    }
    for (const TensorId input : op.inputs) {
      if (input.valid()) taken[input] = 1;
    }
  }
}

}  // namespace neap::rewrite
