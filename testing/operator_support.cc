// SPDX-License-Identifier: Apache-2.0
#include "testing/operator_support.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "neap/compile/compile.h"
#include "neap/emit/emit.h"
#include "neap/ops/op_table.h"
#include "neap/ops/recurrence.h"
#include "neap/transform/cascade/cut_axes.h"
#include "neap/transform/cascade/region.h"
#include "neap/transform/cascade/tiles_check.h"
#include "neap/transform/stream/network.h"
#include "testing/random_network.h"

namespace neap::property {
namespace {

using graph::Graph;
using graph::Op;
using graph::OpId;
using graph::Subgraph;
using graph::SubgraphId;

constexpr int kRounds = 80;

// In the order in which a cell names them.
constexpr std::array<const char*, 7> kNames = {"batch", "rows", "columns", "channels",
                                               "steps", "sums", "whole"};
using Axes = std::set<std::size_t>;  // indices of names
constexpr std::size_t kChannels = 3;

std::string Cell(const Axes& axes) {
  std::string text;
  for (const std::size_t axis : axes)
    text += (text.empty() ? "" : ", ") + std::string(kNames[axis]);
  return text.empty() ? "-" : text;
}

struct Support {
  Axes tiles;
  Axes streams;
  Axes emitted;
};

// Of images by their meaning, of other tensors "steps".
std::size_t NameOfAxis(std::size_t axis, std::size_t rank, bool onnx) {
  if (rank != 4) return 4;
  constexpr std::array<std::size_t, 4> kTflite = {0, 1, 2, 3};
  constexpr std::array<std::size_t, 4> kOnnx = {0, 3, 1, 2};
  return onnx ? kOnnx[axis] : kTflite[axis];
}

void TryTiles(const Subgraph& main, OpId id, Axes* axes) {
  const Op& op = main.ops[id];
  if (op.outputs.size() != 1 && !ops::Has(op, ops::trait::kSplits)) return;
  const graph::Shape& shape = *main.tensors[op.outputs[0]].shape;
  // A region has one output.
  Subgraph alone;
  if (op.outputs.size() != 1) {
    alone = main;
    alone.outputs = {op.outputs[0]};
  }
  const Subgraph& of = op.outputs.size() == 1 ? main : alone;
  for (const auto& grid : cascade::GridAxesOf(op, shape)) {
    for (const std::size_t axis : grid) {
      const cascade::RegionPlan plan = {{id}, {cascade::EvenSplit(axis, shape[axis], 2)}};
      const auto tiles = cascade::TilesOf(of, plan);
      if (!tiles || !cascade::FindWrongTile(of, plan, *tiles).empty()) continue;
      // Recurrent operators have the time in front of the other dimensions.
      const std::size_t rank = ops::RecurrenceOf(of, op) ? axis : shape.size();
      const bool columns = cascade::ColumnsOf(of, op, axis).has_value();
      axes->insert(columns ? kChannels : NameOfAxis(axis, rank, op.domain.empty()));
    }
  }
}

void TryStreams(const Graph& graph, OpId id, bool emits, Axes* axes) {
  const auto network = stream::MakeNetwork(graph, SubgraphId(0), {id}, emits);
  if (!network) return;
  for (const stream::Node& node : network->nodes) {
    if (!node.streams) continue;
    const plan::StreamImage& boxes = stream::BoxesOf(*network, node);
    if (node.sums) axes->insert(5);
    if (node.sums) continue;
    if (boxes.height > 1) axes->insert(1);
    if (boxes.width > 1 && !node.whole_columns) axes->insert(2);
  }
}

// With the tensors as a whole. Received plans place no variables.
bool IsEmittedWhole(const Graph& graph, OpId id) {
  if (!ops::OwnsVariables(graph.subgraphs[SubgraphId(0)], graph.subgraphs[SubgraphId(0)].ops[id])) {
    return emit::EmitNetwork(graph, {"0", "m.tflite", ""}, {}).has_value();
  }
  compile::Options options;
  options.runtime = plan::Runtime::kNeap;
  const auto compiled = compile::Compile(graph, options);
  return compiled && emit::Emit(graph, compiled->plan, {}).has_value();
}

void TryC(const Graph& graph, OpId id, Axes* axes) {
  if (axes->size() < 3) {
    if (!IsEmittedWhole(graph, id)) return;
    axes->insert(6);
    TryStreams(graph, id, true, axes);
  }
}

Support SupportOf(const OperatorCase& one) {
  Support support;
  Random random(11);
  for (const ElementType type : one.types) {
    for (int round = 0; round < kRounds; ++round) {
      Network network(&random);
      one.add(network, one, type);
      Graph graph = network.Finish();
      Subgraph& main = graph.subgraphs[SubgraphId(0)];
      for (Op& op : main.ops) {
        op.stateful = false;
        op.scratch_bytes = 0;
      }
      const OpId id(main.ops.size() - 1);
      if (main.ops[id].type != one.type) continue;
      TryTiles(main, id, &support.tiles);
      TryStreams(graph, id, false, &support.streams);
      if (type == ElementType::kInt8 || type == ElementType::kUint8) {
        TryC(graph, id, &support.emitted);
      }
    }
  }
  return support;
}

}  // namespace

std::string SupportRows(bool onnx) {
  // Operators with equal cells, in alphabetical order.
  std::map<std::string, std::set<std::string>> rows;
  for (const OperatorCase& one : onnx ? OnnxCases() : TfliteCases()) {
    if (one.domain == "neap") continue;
    const Support support = SupportOf(one);
    std::string cells = "| " + Cell(support.tiles) + " | " + Cell(support.streams) + " |";
    if (!onnx) cells += " " + Cell(support.emitted) + " |";
    rows[cells].insert(one.type);
  }
  std::map<std::string, std::string> sorted;  // by their first operator
  for (const auto& [cells, types] : rows) {
    std::string names;
    for (const std::string& type : types) names += (names.empty() ? "" : ", ") + type;
    sorted[names] = cells;
  }
  std::string text;
  for (const auto& [names, cells] : sorted) {
    text.append("| ").append(names).append(" ").append(cells).append("\n");
  }
  return text;
}

}  // namespace neap::property
