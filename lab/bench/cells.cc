// SPDX-License-Identifier: Apache-2.0
#include "lab/bench/cells.h"

#include <algorithm>
#include <utility>

#include "lab/bench/networks.h"
#include "lab/zoo/quantize.h"
#include "lab/zoo/tflite.h"
#include "lab/zoo/zoo.h"
#include "neap/base/check.h"

namespace neap::bench {
namespace {

using graph::Graph;
using graph::Op;
using graph::Subgraph;
using graph::TensorId;

struct CellSource {
  const char* id;
  const char* name;
  const char* network;
  const char* prefix;  // "": all of it
  bool int8;
  PaperPeaks paper;
};

constexpr CellSource kCells[] = {
    {"darts-normal", "DARTS normal", "darts-imagenet-cell", "", false, {1656, 903, 753}},
    {"swiftnet-a", "SwiftNet A", "swiftnet", "cell_a/", true, {552, 251, 226}},
    {"swiftnet-b", "SwiftNet B", "swiftnet", "cell_b/", true, {194, 82, 72}},
    {"swiftnet-c", "SwiftNet C", "swiftnet", "cell_c/", true, {70, 33, 20}},
    {"randwire-10-a", "RandWire-10 A", "randwire-ws-cifar10", "conv2/", true, {645, 459, 459}},
    {"randwire-10-b", "RandWire-10 B", "randwire-ws-cifar10", "conv3/", true, {330, 260, 260}},
    {"randwire-100-a", "RandWire-100 A", "randwire-ws-cifar100", "conv2/", true, {605, 359, 359}},
    {"randwire-100-b", "RandWire-100 B", "randwire-ws-cifar100", "conv3/", true, {350, 280, 280}},
    {"randwire-100-c", "RandWire-100 C", "randwire-ws-cifar100", "conv4/", true, {160, 115, 115}},
};

bool Lists(const std::vector<TensorId>& list, TensorId id) {
  return std::find(list.begin(), list.end(), id) != list.end();
}

}  // namespace

Graph InBytes(Graph graph) {
  for (Subgraph& subgraph : graph.subgraphs) {
    for (graph::Tensor& tensor : subgraph.tensors) {
      if (!tensor.constant && tensor.type == graph::ElementType::kFloat32) {
        tensor.type = graph::ElementType::kInt8;
      }
    }
  }
  return graph;
}

Graph PartOf(const Graph& graph, std::string_view prefix) {
  return PartOfNames(graph, [&](const std::string& name) { return name.starts_with(prefix); });
}

Graph PartOfNames(const Graph& graph, const std::function<bool(const std::string& name)>& wanted) {
  Graph part;
  part.subgraphs.push_back(graph.subgraphs[graph::SubgraphId(0)]);
  Subgraph& subgraph = part.subgraphs.back();
  IdVector<TensorId, char> made(subgraph.tensors.size(), 0);
  std::vector<TensorId> read_outside = subgraph.outputs;
  IdVector<graph::OpId, Op> kept;
  for (Op& op : subgraph.ops) {
    if (wanted(subgraph.tensors[op.outputs.front()].name)) {
      for (const TensorId id : op.outputs) made[id] = 1;
      op.source_index = static_cast<std::int32_t>(kept.size());
      kept.push_back(std::move(op));
    } else {
      read_outside.insert(read_outside.end(), op.inputs.begin(), op.inputs.end());
    }
  }
  subgraph.ops = std::move(kept);
  subgraph.control_edges.clear();
  subgraph.inputs.clear();
  subgraph.outputs.clear();
  for (const TensorId id : subgraph.tensors.Ids()) {
    if (made[id] != 0 && Lists(read_outside, id)) subgraph.outputs.push_back(id);
  }
  for (const Op& op : subgraph.ops) {
    for (const TensorId id : op.inputs) {
      if (!id.valid() || subgraph.tensors[id].constant || made[id] != 0) continue;
      if (!Lists(subgraph.inputs, id)) subgraph.inputs.push_back(id);
    }
  }
  return part;
}

Result<std::vector<Cell>> SerenityCells() {
  std::vector<Cell> cells;
  for (const CellSource& source : kCells) {
    NEAP_TRY(Graph network, TfliteNetwork(source.network));
    Cell cell{source.id, source.name, source.paper, source.int8, {}, {}};
    cell.float_graph = std::string_view(source.prefix).empty() ? std::move(network)
                                                               : PartOf(network, source.prefix);
    cell.graph = cell.int8 ? InBytes(cell.float_graph) : cell.float_graph;
    NEAP_CHECK_OK(graph::Verify(cell.graph));
    cells.push_back(std::move(cell));
  }
  return cells;
}

graph::Graph RewritableOf(const Cell& cell) {
  return cell.int8 ? Quantized(cell.float_graph) : cell.float_graph;
}

Result<std::vector<Cell>> RunnableSwiftnetCells() {
  NEAP_TRY(const Graph network, zoo::Build("swiftnet", {}));
  NEAP_TRY(const Graph converted, zoo::ConvertToTflite(network));
  NEAP_TRY(const Graph quantized, zoo::QuantizeToInt8(converted, {.seed = 0, .inputs = 2}));
  std::vector<Cell> cells;
  for (const CellSource& source : kCells) {
    if (std::string_view(source.network) != "swiftnet") continue;
    Cell cell{source.id, source.name, source.paper, true, PartOf(quantized, source.prefix), {}};
    NEAP_CHECK_OK(graph::Verify(cell.graph));
    cells.push_back(std::move(cell));
  }
  return cells;
}

Result<std::vector<Variant>> DartsVariants() {
  std::vector<Variant> variants;
  NEAP_TRY(Graph cell, TfliteNetwork("darts-imagenet-cell"));
  variants.push_back({"the cell as published", std::move(cell)});
  NEAP_TRY(const Graph network, TfliteNetwork("darts-imagenet"));
  Graph nodes = PartOfNames(network, [](const std::string& name) {
    return name.starts_with("cell0/node") || name.starts_with("cell0/concat") ||
           name.starts_with("cell1/input1/");
  });
  NEAP_CHECK_OK(graph::Verify(nodes));
  variants.push_back({"its nodes and the next cell's convolution", nodes});
  std::vector<TensorId>& outputs = nodes.subgraphs[graph::SubgraphId(0)].outputs;
  NEAP_CHECK(outputs.size() == 2, "the cell's output and the next cell's convolution");
  outputs.erase(outputs.begin());
  variants.push_back({"the same, its output read by that convolution alone", std::move(nodes)});
  return variants;
}

Result<Cell> SwiftnetNetwork() {
  Cell cell{"swiftnet", "SwiftNet", {}, true, {}, {}};
  NEAP_TRY(cell.float_graph, TfliteNetwork("swiftnet"));
  cell.graph = InBytes(cell.float_graph);
  return cell;
}

}  // namespace neap::bench
