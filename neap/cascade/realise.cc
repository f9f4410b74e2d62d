// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "neap/base/check.h"
#include "neap/cascade/constants.h"
#include "neap/cascade/region.h"

namespace neap::cascade {
namespace {

using graph::Graph;
using graph::Op;
using graph::OpId;
using graph::Shape;
using graph::Subgraph;
using graph::SubgraphId;
using graph::Tensor;
using graph::TensorId;
using ops::Box;

Shape ShapeOf(const Box& box) {
  Shape shape;
  for (const ops::Interval& interval : box) shape.push_back(interval.size());
  return shape;
}

// Writes one region behind the operators that are there already.
class RegionWriter {
 public:
  RegionWriter(const Subgraph& from, const RegionPlan& plan, std::size_t region, Subgraph* to)
      : from_(from), plan_(plan), to_(*to), prefix_("cascade" + std::to_string(region)) {
    onnx_ = from.ops[plan.ops[0]].domain != "tflite";
  }

  void Write(const std::vector<Tile>& tiles) {
    const TensorId whole = BorderOf(from_, plan_.ops).outputs[0];
    for (std::size_t t = 0; t < tiles.size(); ++t) {
      name_ = prefix_ + "/tile" + std::to_string(t);
      outputs_.push_back(WriteTile(tiles[t]));
      // A row of tiles is done: it becomes one piece.
      JoinInner(tiles[t].output_box);
    }
    std::vector<TensorId> parts = std::move(outputs_);
    Join(parts, plan_.splits.front().axis, whole);
  }

 private:
  // Joins the last tiles along every inner axis whose end they have reached.
  void JoinInner(const Box& box) {
    const Shape& shape = *from_.tensors[BorderOf(from_, plan_.ops).outputs[0]].shape;
    for (std::size_t s = plan_.splits.size(); s-- > 1;) {
      const std::size_t axis = plan_.splits[s].axis;
      if (box[axis].end != shape[axis]) return;
      const std::size_t count = plan_.splits[s].cuts.size() + 1;
      std::vector<TensorId> parts(outputs_.end() - static_cast<std::ptrdiff_t>(count),
                                  outputs_.end());
      outputs_.erase(outputs_.end() - static_cast<std::ptrdiff_t>(count), outputs_.end());
      Tensor joined = to_.tensors[parts.front()];
      for (std::size_t i = 1; i < parts.size(); ++i) {
        (*joined.shape)[axis] += (*to_.tensors[parts[i]].shape)[axis];
      }
      joined.name = name_ + "/row" + std::to_string(s);
      const TensorId row = to_.tensors.push_back(std::move(joined));
      Join(parts, axis, row);
      outputs_.push_back(row);
    }
  }

  // TensorFlow Lite Micro joins ten at a time.
  void Join(std::vector<TensorId> parts, std::size_t axis, TensorId whole) {
    constexpr std::size_t kMost = 10;
    while (!onnx_ && parts.size() > kMost) {
      std::vector<TensorId> joined;
      for (std::size_t at = 0; at < parts.size(); at += kMost) {
        const std::size_t end = std::min(at + kMost, parts.size());
        std::vector<TensorId> some(parts.begin() + static_cast<std::ptrdiff_t>(at),
                                   parts.begin() + static_cast<std::ptrdiff_t>(end));
        if (some.size() == 1) {
          joined.push_back(some[0]);
          continue;
        }
        Tensor piece = to_.tensors[some[0]];
        for (std::size_t i = 1; i < some.size(); ++i) {
          (*piece.shape)[axis] += (*to_.tensors[some[i]].shape)[axis];
        }
        piece.name = prefix_ + "/piece" + std::to_string(pieces_++);
        const TensorId id = to_.tensors.push_back(std::move(piece));
        AddConcatenation(std::move(some), axis, id);
        joined.push_back(id);
      }
      parts = std::move(joined);
    }
    AddConcatenation(std::move(parts), axis, whole);
  }

  void AddConcatenation(std::vector<TensorId> parts, std::size_t axis, TensorId whole) {
    Op op;
    op.type = onnx_ ? "Concat" : "CONCATENATION";
    op.domain = onnx_ ? "" : "tflite";
    op.name = onnx_ ? prefix_ + "/concat" + std::to_string(pieces_++) : "";
    op.inputs = std::move(parts);
    op.outputs = {whole};
    op.attributes["axis"] = static_cast<std::int64_t>(axis);
    if (!onnx_) op.attributes["fused_activation_function"] = std::int64_t{0};
    op.version = onnx_ ? from_.ops[plan_.ops[0]].version : 0;
    to_.ops.push_back(std::move(op));
  }

  TensorId Part(const TileTensor& part, const std::string& suffix) {
    Tensor tensor = from_.tensors[part.whole];
    tensor.name = name_ + "/" + tensor.name + suffix;
    tensor.shape = ShapeOf(part.box);
    tensor.symbols.clear();
    return to_.tensors.push_back(std::move(tensor));
  }

  TensorId WriteTile(const Tile& tile) {
    std::vector<TensorId> ids(tile.tensors.size());
    for (const TileStep& step : tile.steps) {
      const auto out = static_cast<std::size_t>(step.output);
      ids[out] =
          Part(tile.tensors[out], step.op.valid() ? "" : "/slice" + std::to_string(step.output));
      if (step.op.valid()) {
        AddClone(step, ids);
      } else {
        AddSlice(tile, step, ids);
      }
    }
    return ids[static_cast<std::size_t>(tile.output)];
  }

  void AddSlice(const Tile& tile, const TileStep& step, const std::vector<TensorId>& ids) {
    const TileTensor& out = tile.tensors[static_cast<std::size_t>(step.output)];
    const int source = step.inputs[0];
    const TensorId from = source == kWhole ? out.whole : ids[static_cast<std::size_t>(source)];
    std::vector<std::int64_t> begins;
    std::vector<std::int64_t> sizes;
    std::vector<std::int64_t> ends;
    for (std::size_t d = 0; d < out.box.size(); ++d) {
      const std::int64_t origin =
          source == kWhole ? 0 : tile.tensors[static_cast<std::size_t>(source)].box[d].begin;
      begins.push_back(out.box[d].begin - origin);
      sizes.push_back(out.box[d].size());
      ends.push_back(out.box[d].end - origin);
    }
    const TensorId output = ids[static_cast<std::size_t>(step.output)];
    // A copy: constants are added behind it.
    const std::string name = to_.tensors[output].name;
    Op op;
    op.outputs = {output};
    op.inputs = {from, AddConstant(name + "/begin", begins)};
    if (onnx_) {
      op.type = "Slice";
      op.name = name + "/slice";
      op.inputs.push_back(AddConstant(name + "/end", ends));
      op.version = from_.ops[plan_.ops[0]].version;
    } else {
      op.type = "SLICE";
      op.domain = "tflite";
      op.inputs.push_back(AddConstant(name + "/size", sizes));
    }
    to_.ops.push_back(std::move(op));
  }

  // One for all that say the same: TensorFlow Lite Micro keeps a record of each.
  TensorId AddConstant(std::string name, const std::vector<std::int64_t>& values) {
    const auto found = constants_.find(values);
    if (found != constants_.end()) return found->second;
    const TensorId id =
        to_.tensors.push_back(IntegerConstant(std::move(name), values, onnx_, false));
    constants_.emplace(values, id);
    return id;
  }

  void AddClone(const TileStep& step, const std::vector<TensorId>& ids) {
    Op op = from_.ops[step.op];
    op.source_index = -1;
    op.name = op.name.empty() ? "" : name_ + "/" + op.name;
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      if (step.inputs[i] != kWhole) op.inputs[i] = ids[static_cast<std::size_t>(step.inputs[i])];
    }
    op.outputs = {ids[static_cast<std::size_t>(step.output)]};
    for (const std::string& gone : step.removed) op.attributes.erase(gone);
    for (const auto& [name, value] : step.attributes) op.attributes[name] = value;
    if (!step.paddings.empty()) {
      op.inputs[1] = to_.tensors.push_back(IntegerConstant(
          to_.tensors[op.outputs[0]].name + "/paddings", step.paddings, false, true));
    }
    to_.ops.push_back(std::move(op));
  }

  const Subgraph& from_;
  const RegionPlan& plan_;
  Subgraph& to_;
  const std::string prefix_;
  std::string name_;
  bool onnx_ = false;
  int pieces_ = 0;
  std::map<std::vector<std::int64_t>, TensorId> constants_;
  std::vector<TensorId> outputs_;  // of tiles that are not yet joined
};

}  // namespace

Result<Graph> Realise(const Graph& graph, const std::vector<RegionPlan>& regions,
                      const std::vector<OpId>& order) {
  Graph result = graph;
  const Subgraph& from = graph.subgraphs[SubgraphId(0)];
  Subgraph& to = result.subgraphs[SubgraphId(0)];
  IdVector<OpId, std::int32_t> region_of(from.ops.size(), -1);
  std::vector<std::size_t> left;
  for (std::size_t r = 0; r < regions.size(); ++r) {
    left.push_back(regions[r].ops.size());
    if (regions[r].ops.empty()) return Fail(BadInput("a region has no operators"));
    for (const OpId id : regions[r].ops) {
      if (!from.ops.Has(id)) return Fail(BadInput("a region has an operator that does not exist"));
      if (region_of[id] >= 0) return Fail(BadInput("an operator is in two regions"));
      region_of[id] = static_cast<std::int32_t>(r);
    }
  }
  to.ops = {};
  to.control_edges.clear();
  IdVector<OpId, OpId> moved(from.ops.size());
  std::vector<OpId> sequence;
  for (const OpId id : from.ops.Ids()) {
    if (order.empty() || from.ops[id].folded) sequence.push_back(id);
  }
  sequence.insert(sequence.end(), order.begin(), order.end());
  IdVector<OpId, bool> seen(from.ops.size(), false);
  for (const OpId id : sequence) {
    if (!from.ops.Has(id) || seen[id])
      return Fail(BadInput("an order names no operator, or one twice"));
    seen[id] = true;
  }
  if (sequence.size() != from.ops.size()) return Fail(BadInput("an order leaves operators out"));
  for (const OpId id : sequence) {
    if (region_of[id] < 0) {
      moved[id] = to.ops.push_back(from.ops[id]);
      continue;
    }
    const auto r = static_cast<std::size_t>(region_of[id]);
    if (--left[r] > 0) continue;
    NEAP_TRY(const std::vector<Tile> tiles, TilesOf(from, regions[r]));
    RegionWriter(from, regions[r], r, &to).Write(tiles);
  }
  for (const graph::ControlEdge& edge : from.control_edges) {
    if (!moved[edge.before].valid() || !moved[edge.after].valid()) {
      return Fail(BadInput("a region has an operator whose place among others is told"));
    }
    to.control_edges.push_back({moved[edge.before], moved[edge.after]});
  }
  NEAP_CHECK_OK(graph::Verify(result));
  return result;
}

Graph WithoutUnused(Graph graph) {
  for (Subgraph& subgraph : graph.subgraphs) {
    IdVector<TensorId, bool> used(subgraph.tensors.size(), false);
    const auto use = [&](const std::vector<TensorId>& list) {
      for (const TensorId id : list) {
        if (id.valid()) used[id] = true;
      }
    };
    for (const Op& op : subgraph.ops) {
      use(op.inputs);
      use(op.outputs);
      use(op.captures);
    }
    use(subgraph.inputs);
    use(subgraph.outputs);
    for (const TensorId id : subgraph.tensors.Ids()) {
      if (!used[id] && subgraph.tensors[id].shape) subgraph.tensors[id].shape = Shape{0};
    }
  }
  return graph;
}

}  // namespace neap::cascade
