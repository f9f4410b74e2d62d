// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "neap/base/check.h"
#include "neap/ops/op_table.h"
#include "neap/transform/cascade/bodies.h"
#include "neap/transform/cascade/constants.h"
#include "neap/transform/cascade/region.h"
#include "neap/transform/cascade/tile_writer.h"

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
using ops::OpKind;

// State shared by all regions.
struct Shared {
  TileBodies bodies = TileBodies::kClones;
  std::size_t first_body = 0;     // subgraphs that there are without bodies
  std::vector<Subgraph> added;    // the bodies
  std::optional<TensorId> truth;  // the condition of all calls
};

// Writes one region after the existing operators.
class RegionWriter {
 public:
  RegionWriter(const Subgraph& from, const RegionPlan& plan, std::size_t region, Subgraph* to,
               Shared* shared)
      : from_(from),
        plan_(plan),
        to_(*to),
        shared_(*shared),
        writer_(from, plan.ops[0], to, false),
        prefix_("cascade" + std::to_string(region)),
        onnx_(from.ops[plan.ops[0]].domain != "tflite") {}

  void Write(const std::vector<Tile>& tiles) {
    const TensorId whole = BorderOf(from_, plan_.ops).outputs[0];
    const std::vector<int> bodies = BodiesOf(from_, tiles, shared_.bodies);
    for (std::size_t t = 0; t < tiles.size(); ++t) {
      name_ = prefix_ + "/tile" + std::to_string(t);
      outputs_.push_back(bodies[t] == kNoBody ? writer_.WriteTile(tiles[t], name_)
                                              : WriteCall(tiles[t], bodies[t]));
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
    constexpr std::size_t kMax = 10;
    while (!onnx_ && parts.size() > kMax) {
      std::vector<TensorId> joined;
      for (std::size_t at = 0; at < parts.size(); at += kMax) {
        const std::size_t end = std::min(at + kMax, parts.size());
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
    ops::SetKind(&op, onnx_ ? OpKind::kOnnxConcat : OpKind::kConcatenation);
    op.name = onnx_ ? prefix_ + "/concat" + std::to_string(pieces_++) : "";
    op.inputs = std::move(parts);
    op.outputs = {whole};
    op.attributes["axis"] = static_cast<std::int64_t>(axis);
    if (!onnx_) op.attributes["fused_activation_function"] = std::int64_t{0};
    op.version = onnx_ ? ops::DefaultOpset(from_) : 0;
    to_.ops.push_back(std::move(op));
  }

  // The tile as a call of the body that it shares with others; the first of them brings it.
  TensorId WriteCall(const Tile& tile, int body) {
    if (static_cast<std::size_t>(body) == bodies_.size()) {
      Subgraph inside;
      inside.name = prefix_ + "/body" + std::to_string(body);
      TileWriter(from_, plan_.ops[0], &inside, true).WriteBody(tile, inside.name);
      bodies_.emplace_back(shared_.first_body + shared_.added.size());
      shared_.added.push_back(std::move(inside));
    }
    if (!shared_.truth) shared_.truth = to_.tensors.push_back(TrueConstant("cascade/true"));
    Op op;
    ops::SetKind(&op, OpKind::kIf);
    op.inputs = writer_.WriteArguments(tile, name_);
    op.inputs.insert(op.inputs.begin(), *shared_.truth);
    const TileTensor& out = tile.tensors[static_cast<std::size_t>(tile.output)];
    const TensorId output =
        writer_.AddPart(out.whole, out.box, name_ + "/" + from_.tensors[out.whole].name);
    op.outputs = {output};
    op.bodies.assign(2, bodies_[static_cast<std::size_t>(body)]);
    to_.ops.push_back(std::move(op));
    return output;
  }

  const Subgraph& from_;
  const RegionPlan& plan_;
  Subgraph& to_;
  Shared& shared_;
  TileWriter writer_;
  const std::string prefix_;
  const bool onnx_;
  std::string name_;
  int pieces_ = 0;
  std::vector<SubgraphId> bodies_;
  std::vector<TensorId> outputs_;  // of tiles that are not yet joined
};

// The operators that are steps in the order in which they run; empty `order`: that of the file.
Result<std::vector<OpId>> SequenceOf(const Subgraph& from, const std::vector<OpId>& order) {
  std::vector<OpId> sequence = order;
  IdVector<OpId, bool> seen(from.ops.size(), false);
  for (const OpId id : from.ops.Ids()) {
    if (from.ops[id].folded) {
      seen[id] = true;
    } else if (order.empty()) {
      sequence.push_back(id);
    }
  }
  for (const OpId id : order) {
    if (!from.ops.Has(id) || seen[id]) {
      return Fail(BadInput("an order names an operator that does not exist, or one twice"));
    }
    seen[id] = true;
  }
  for (const OpId id : from.ops.Ids()) {
    if (!seen[id] && !order.empty()) return Fail(BadInput("an order lacks operators"));
  }
  return sequence;
}

// Folded operators are not steps, but nodes of the file like any other: each comes where its first
// consumer needs it, after the producers of its inputs (Shape of an activation).
class FoldedBetween {
 public:
  explicit FoldedBetween(const Subgraph& subgraph)
      : subgraph_(subgraph),
        producer_(graph::Producers(subgraph)),
        taken_(subgraph.ops.size(), false) {}

  // Those that the operator needs and that no operator before it needed; producers come first.
  std::vector<OpId> TakeBefore(OpId reader) {
    std::vector<OpId> found;
    Collect(reader, &found);
    return found;
  }
  // Those that no operator needs.
  std::vector<OpId> TakeRest() {
    std::vector<OpId> found;
    for (const OpId id : subgraph_.ops.Ids()) {
      if (subgraph_.ops[id].folded) Take(id, &found);
    }
    return found;
  }

 private:
  void Take(OpId folded, std::vector<OpId>* found) {
    if (taken_[folded]) return;
    taken_[folded] = true;
    Collect(folded, found);
    found->push_back(folded);
  }
  void Collect(OpId reader, std::vector<OpId>* found) {
    for (const auto* list : {&subgraph_.ops[reader].inputs, &subgraph_.ops[reader].captures}) {
      for (const TensorId tensor : *list) {
        const OpId id = tensor.valid() ? producer_[tensor] : OpId();
        if (id.valid() && subgraph_.ops[id].folded) Take(id, found);
      }
    }
  }

  const Subgraph& subgraph_;
  const IdVector<TensorId, OpId> producer_;
  IdVector<OpId, bool> taken_;
};

// Folded operators that nodes of `from` read, and none of `to`: tiles have parts of them.
void RemoveUnreadFolded(const Subgraph& from, Subgraph* to, IdVector<OpId, OpId>* moved) {
  const auto read_in = [](const Subgraph& subgraph) {
    IdVector<TensorId, bool> read(subgraph.tensors.size(), false);
    for (const Op& op : subgraph.ops) {
      for (const auto* list : {&op.inputs, &op.captures}) {
        for (const TensorId id : *list) {
          if (id.valid()) read[id] = true;
        }
      }
    }
    for (const TensorId id : subgraph.outputs) read[id] = true;
    return read;
  };
  const IdVector<TensorId, bool> before = read_in(from);
  const IdVector<TensorId, bool> after = read_in(*to);
  IdVector<OpId, OpId> kept(to->ops.size());
  IdVector<OpId, Op> left;
  for (const OpId id : to->ops.Ids()) {
    Op& op = to->ops[id];
    const bool gone = op.folded && op.outputs.size() == 1 && from.tensors.Has(op.outputs[0]) &&
                      before[op.outputs[0]] && !after[op.outputs[0]];
    if (!gone) kept[id] = left.push_back(std::move(op));
  }
  to->ops = std::move(left);
  for (OpId& id : *moved) {
    if (id.valid()) id = kept[id];
  }
}

}  // namespace

Result<Graph> Realise(const Graph& graph, const std::vector<RegionPlan>& regions,
                      const std::vector<OpId>& order, TileBodies bodies) {
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
  Shared shared;
  shared.bodies = bodies;
  shared.first_body = graph.subgraphs.size();
  IdVector<OpId, OpId> moved(from.ops.size());
  NEAP_TRY(const std::vector<OpId> sequence, SequenceOf(from, order));
  FoldedBetween folded(from);
  const auto keep = [&](OpId id) { moved[id] = to.ops.push_back(from.ops[id]); };
  for (const OpId id : sequence) {
    const std::int32_t region = region_of[id];
    if (region < 0) {
      for (const OpId before : folded.TakeBefore(id)) keep(before);
      keep(id);
      continue;
    }
    const auto r = static_cast<std::size_t>(region);
    if (--left[r] > 0) continue;
    for (const OpId inside : regions[r].ops) {
      for (const OpId before : folded.TakeBefore(inside)) keep(before);
    }
    NEAP_TRY(const std::vector<Tile> tiles, TilesOf(from, regions[r]));
    RegionWriter(from, regions[r], r, &to, &shared).Write(tiles);
  }
  for (const OpId id : folded.TakeRest()) keep(id);
  RemoveUnreadFolded(from, &to, &moved);
  for (const graph::ControlEdge& edge : from.control_edges) {
    if (!moved[edge.before].valid() || !moved[edge.after].valid()) {
      return Fail(BadInput("a region has an operator with control dependencies"));
    }
    to.control_edges.push_back({moved[edge.before], moved[edge.after]});
  }
  // Not before: `to` is one of the subgraphs.
  for (Subgraph& body : shared.added) result.subgraphs.push_back(std::move(body));
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
