// SPDX-License-Identifier: Apache-2.0
#include "neap/transform/rewrite/interface.h"

#include <algorithm>
#include <string>
#include <utility>

#include "neap/ops/op_table.h"

namespace neap::rewrite {
namespace {

using graph::ElementType;
using graph::Op;
using graph::OpId;
using graph::Subgraph;
using graph::SubgraphId;
using graph::TensorId;
using ops::Is;
using ops::OpKind;

constexpr SubgraphId kMain(0);

bool IsFloat(ElementType type) {
  return type == ElementType::kFloat16 || type == ElementType::kBfloat16 ||
         type == ElementType::kFloat32 || type == ElementType::kFloat64;
}

// Not of a vendor.
bool IsOneOf(const Op& op, OpKind tflite, OpKind onnx) {
  return (op.domain == "tflite" || op.domain.empty()) && Is(op, tflite, onnx);
}

// How often anything of the graph reads or names a tensor of the main subgraph.
struct Uses {
  explicit Uses(const graph::Graph& graph)
      : readers(graph.subgraphs[kMain].tensors.size(), 0),
        inputs(readers),
        outputs(readers),
        producer(graph::Producers(graph.subgraphs[kMain])) {
    const Subgraph& main = graph.subgraphs[kMain];
    for (const Op& op : main.ops) {
      for (const auto* list : {&op.inputs, &op.captures}) {
        for (const TensorId id : *list) {
          if (id.valid()) ++readers[id];
        }
      }
    }
    for (const TensorId id : main.inputs) ++inputs[id];
    for (const TensorId id : main.outputs) ++outputs[id];
  }

  IdVector<TensorId, int> readers;
  IdVector<TensorId, int> inputs;
  IdVector<TensorId, int> outputs;
  IdVector<TensorId, OpId> producer;
};

class Finder {
 public:
  explicit Finder(const graph::Graph& graph) : main_(graph.subgraphs[kMain]), uses_(graph) {}

  bool FitsInput(OpId id) const {
    const Op& op = main_.ops[id];
    if (!IsConversion(id, OpKind::kQuantize, OpKind::kOnnxQuantizeLinear)) return false;
    const TensorId in = op.inputs[0];
    const TensorId out = op.outputs[0];
    return uses_.inputs[in] == 1 && uses_.outputs[in] == 0 && uses_.readers[in] == 1 &&
           IsFloat(main_.tensors[in].type) && !IsFloat(main_.tensors[out].type) &&
           uses_.outputs[out] == 0;
  }

  bool FitsOutput(OpId id) const {
    const Op& op = main_.ops[id];
    if (!IsConversion(id, OpKind::kDequantize, OpKind::kOnnxDequantizeLinear)) return false;
    const TensorId in = op.inputs[0];
    const TensorId out = op.outputs[0];
    return uses_.outputs[out] == 1 && uses_.readers[out] == 0 && IsFloat(main_.tensors[out].type) &&
           !IsFloat(main_.tensors[in].type) && uses_.producer[in].valid() &&
           !main_.ops[uses_.producer[in]].folded && !main_.tensors[in].constant &&
           uses_.outputs[in] == 0;
  }

  // Those that fit, of two that make outputs of one tensor the first.
  std::vector<OpId> Find(Ends ends) const {
    std::vector<OpId> found;
    IdVector<TensorId, char> taken(main_.tensors.size(), 0);
    // An output of one of them must not be an input of another.
    for (const OpId id : main_.ops.Ids()) {
      const Op& op = main_.ops[id];
      if (ends.inputs && FitsInput(id)) {
        found.push_back(id);
        taken[op.outputs[0]] = 1;
      } else if (ends.outputs && FitsOutput(id) && taken[op.inputs[0]] == 0) {
        found.push_back(id);
        taken[op.inputs[0]] = 1;
      }
    }
    return found;
  }

 private:
  // One tensor in, beside constants, and one out; nothing else depends on where it runs.
  bool IsConversion(OpId id, OpKind tflite, OpKind onnx) const {
    const Op& op = main_.ops[id];
    const bool plain = IsOneOf(op, tflite, onnx) && !op.folded && op.bodies.empty() &&
                       op.captures.empty() && !op.stateful && op.outputs.size() == 1 &&
                       op.outputs[0].valid() && !op.inputs.empty() && op.inputs[0].valid();
    if (!plain) return false;
    for (std::size_t i = 1; i < op.inputs.size(); ++i) {
      if (op.inputs[i].valid() && !main_.tensors[op.inputs[i]].constant) return false;
    }
    return std::none_of(
        main_.control_edges.begin(), main_.control_edges.end(),
        [&](const graph::ControlEdge& edge) { return edge.before == id || edge.after == id; });
  }

  const Subgraph& main_;
  Uses uses_;
};

// Which of the operators go, all of them conversions that fit.
Result<IdVector<OpId, char>> Moved(const graph::Graph& graph, std::span<const OpId> ops) {
  if (graph.subgraphs.empty()) return Fail(BadInput("has no subgraph"));
  const Subgraph& main = graph.subgraphs[kMain];
  IdVector<OpId, char> moved(main.ops.size(), 0);
  const std::vector<OpId> fit = ConversionsAtEnds(graph, {true, true});
  for (const OpId id : ops) {
    const bool fits = std::find(fit.begin(), fit.end(), id) != fit.end();
    if (!fits || moved[id] != 0) {
      return Fail(BadInput("the caller cannot run operator " + std::to_string(id.value()) +
                           ": it is not a conversion at an input or output, or it is named twice"));
    }
    moved[id] = 1;
  }
  return moved;
}

// The inputs and outputs without the conversions.
void ChangeEnds(const IdVector<OpId, Op>& ops, const IdVector<OpId, char>& moved, Subgraph* main) {
  for (const OpId id : ops.Ids()) {
    if (moved[id] == 0) continue;
    const bool at_input = IsAtInput(ops[id]);
    auto& list = at_input ? main->inputs : main->outputs;
    const TensorId in = ops[id].inputs[0];
    const TensorId out = ops[id].outputs[0];
    std::replace(list.begin(), list.end(), at_input ? in : out, at_input ? out : in);
  }
}

}  // namespace

bool IsAtInput(const Op& op) { return IsOneOf(op, OpKind::kQuantize, OpKind::kOnnxQuantizeLinear); }

std::vector<OpId> ConversionsAtEnds(const graph::Graph& graph, Ends ends) {
  if (graph.subgraphs.empty()) return {};
  return Finder(graph).Find(ends);
}

Result<graph::Graph> MoveToCaller(const graph::Graph& graph, std::span<const OpId> ops) {
  NEAP_TRY(const auto moved, Moved(graph, ops));
  graph::Graph edited = graph;
  for (Subgraph& subgraph : edited.subgraphs) {
    for (const OpId id : subgraph.ops.Ids()) subgraph.ops[id].source_index = id.value();
  }
  Subgraph& main = edited.subgraphs[kMain];
  IdVector<OpId, OpId> new_index(main.ops.size());
  IdVector<OpId, Op> kept;
  for (const OpId id : main.ops.Ids()) {
    if (moved[id] != 0) continue;
    new_index[id] = OpId(kept.size());
    kept.push_back(main.ops[id]);
  }
  ChangeEnds(graph.subgraphs[kMain].ops, moved, &main);
  main.ops = std::move(kept);
  for (graph::ControlEdge& edge : main.control_edges) {
    edge = {new_index[edge.before], new_index[edge.after]};
  }
  NEAP_CHECK_OK(graph::Verify(edited));
  return edited;
}

Result<CallerGraphs> GraphsOfCaller(const graph::Graph& graph, std::span<const OpId> ops) {
  NEAP_TRY(const auto moved, Moved(graph, ops));
  const Subgraph& given = graph.subgraphs[kMain];
  Subgraph ends = given;
  ChangeEnds(given.ops, moved, &ends);
  const auto part = [&](bool before) {
    graph::Graph out;
    out.subgraphs.push_back(given);
    Subgraph& main = out.subgraphs[kMain];
    main.control_edges.clear();
    main.ops = {};
    for (const OpId id : given.ops.Ids()) {
      if (moved[id] != 0 && IsAtInput(given.ops[id]) == before) main.ops.push_back(given.ops[id]);
    }
    (before ? main.outputs : main.inputs) = before ? ends.inputs : ends.outputs;
    return out;
  };
  return CallerGraphs{part(true), part(false)};
}

}  // namespace neap::rewrite
