// SPDX-License-Identifier: Apache-2.0
#include <limits>
#include <string>
#include <utility>

#include "neap/formats/onnx/model.h"
#include "neap/formats/onnx/onnx.h"
#include "neap/formats/onnx/order.h"
#include "neap/formats/onnx/serialise.h"
#include "neap/formats/onnx/wire.h"

namespace neap::formats::onnx {
namespace {

void Permute(const std::vector<graph::OpId>& order, pb::GraphProto* graph) {
  std::vector<pb::NodeProto> nodes;
  nodes.reserve(graph->node.size());
  for (const graph::OpId id : order) nodes.push_back(std::move(graph->node[id.index()]));
  graph->node = std::move(nodes);
}

}  // namespace

Result<std::vector<std::byte>> Serialise(const pb::ModelProto& model) {
  const WireWriter writer(model);
  if (writer.size() > std::numeric_limits<std::int32_t>::max()) {
    return Fail(BadInput("the model to write is larger than 2 GiB"));
  }
  return writer.Write();
}

Result<std::vector<std::byte>> WriteReordered(
    const SourceModel& model, const IdVector<graph::SubgraphId, std::vector<graph::OpId>>& order) {
  NEAP_TRY(const auto parsed, ParseModel(*model.bytes, model.path));
  NEAP_TRY(const auto scopes, ListScopes(parsed.get()));
  const auto refuse = [&model](Diagnostic error) {
    error.file = model.path;
    return Fail(std::move(error));
  };
  if (scopes.size() != model.graph.subgraphs.size() || order.size() > scopes.size()) {
    return refuse(UsageError("an order is for " + std::to_string(order.size()) +
                             " graphs, but the model has " + std::to_string(scopes.size())));
  }
  // Inner graphs first: a node that has been moved takes its bodies with it.
  for (std::size_t i = order.size(); i-- > 0;) {
    const graph::SubgraphId id(i);
    if (order[id].empty()) continue;
    const graph::Subgraph& subgraph = model.graph.subgraphs[id];
    if (scopes[i].graph->node.size() != subgraph.ops.size()) {
      return refuse(UsageError("the graph and the bytes of the model differ"));
    }
    auto file_order = FileOrder(subgraph, order[id]);
    if (!file_order) return refuse(std::move(file_order).error());
    Permute(*file_order, scopes[i].graph);
  }
  auto bytes = Serialise(*parsed);
  if (!bytes) return refuse(std::move(bytes).error());
  return bytes;
}

}  // namespace neap::formats::onnx
