// SPDX-License-Identifier: Apache-2.0
#include "neap/transform/duplicate/duplicate.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "neap/ops/op_kind.h"
#include "neap/ops/op_table.h"

namespace neap::duplicate {
namespace {

using graph::Op;
using graph::OpId;
using graph::Subgraph;
using graph::SubgraphId;
using graph::Tensor;
using graph::TensorId;

bool ComputesAlone(const Subgraph& subgraph, const Op& op) {
  if (op.folded || op.stateful || !op.bodies.empty() || !op.captures.empty()) return false;
  // Its own state (a variable tensor), or operators of Neap's executor that add to their output.
  if (op.domain == "neap" || ops::KindOf(op) == ops::OpKind::kOnnxDropout) return false;
  for (const TensorId input : op.inputs) {
    if (input.valid() && subgraph.tensors[input].variable) return false;
  }
  for (const TensorId output : op.outputs) {
    if (!output.valid()) return false;
    const Tensor& tensor = subgraph.tensors[output];
    if (tensor.constant || tensor.variable) return false;
  }
  return !op.outputs.empty();
}

class Duplicator {
 public:
  Duplicator(const graph::Graph& graph, std::span<const OpId> sequence)
      : given_(graph.subgraphs[SubgraphId(0)]),
        sequence_(sequence),
        repeatable_(Repeatable(graph)),
        out_(graph),
        copy_(given_.tensors.size()),
        runs_left_(given_.ops.size(), 0),
        runs_(given_.ops.size(), 0),
        new_id_(given_.ops.size()) {
    for (const Tensor& tensor : given_.tensors) names_.insert(tensor.name);
  }

  Result<graph::Graph> Run() {
    NEAP_CHECK_OK(CountRuns());
    to().ops = {};
    for (const TensorId id : given_.tensors.Ids()) copy_[id] = id;
    IdVector<TensorId, char> ready(given_.tensors.size(), 1);
    for (const Op& op : given_.ops) {
      for (const TensorId output : op.outputs) {
        if (output.valid()) ready[output] = 0;
      }
    }
    const auto is_ready = [&](const Op& op) {
      for (const auto* list : {&op.inputs, &op.captures}) {
        for (const TensorId id : *list) {
          if (id.valid() && ready[id] == 0) return false;
        }
      }
      return true;
    };
    const auto run = [&](OpId id) {
      Add(id);
      for (const TensorId output : given_.ops[id].outputs) {
        if (output.valid()) ready[output] = 1;
      }
    };
    std::vector<OpId> folded;
    for (const OpId id : given_.ops.Ids()) {
      if (given_.ops[id].folded) folded.push_back(id);
    }
    const auto run_folded = [&] {
      for (bool any = true; any;) {
        any = false;
        std::vector<OpId> rest;
        for (const OpId id : folded) {
          if (!is_ready(given_.ops[id])) {
            rest.push_back(id);
            continue;
          }
          run(id);
          any = true;
        }
        folded = std::move(rest);
      }
    };
    run_folded();
    for (const OpId id : sequence_) {
      if (!is_ready(given_.ops[id])) {
        return Refuse(id, "reads a tensor before it is written in this sequence");
      }
      run(id);
      if (!folded.empty()) run_folded();
    }
    if (!folded.empty()) return Refuse(folded.front(), "is never ready in this sequence");
    for (graph::ControlEdge& edge : to().control_edges) {
      edge = {new_id_[edge.before], new_id_[edge.after]};
    }
    NEAP_CHECK_OK(graph::Verify(out_));
    return std::move(out_);
  }

 private:
  Subgraph& to() { return out_.subgraphs[SubgraphId(0)]; }

  tl::unexpected<Diagnostic> Refuse(OpId id, const char* message) const {
    return Fail(graph::AtOp(BadInput(message), id, given_.ops[id]));
  }

  Status CountRuns() {
    for (const OpId id : sequence_) {
      if (!id.valid() || id.index() >= given_.ops.size()) {
        return Fail(BadInput("the sequence has an operator that the graph lacks"));
      }
      if (given_.ops[id].folded) return Refuse(id, "is folded and is no step of a sequence");
      if (runs_left_[id]++ > 0 && repeatable_[id] == 0) return Refuse(id, "cannot run again");
    }
    for (const OpId id : given_.ops.Ids()) {
      if (runs_left_[id] == 0 && !given_.ops[id].folded) {
        return Refuse(id, "does not run in the sequence");
      }
    }
    return {};
  }

  std::string UniqueName(const std::string& name) {
    if (name.empty()) return name;
    int number = 1;
    std::string unique = name + "_run1";
    while (!names_.insert(unique).second) unique = name + "_run" + std::to_string(++number);
    return unique;
  }

  void Add(OpId id) {
    Op op = given_.ops[id];
    for (TensorId& input : op.inputs) {
      if (input.valid()) input = copy_[input];
    }
    if (!op.folded) --runs_left_[id];
    if (runs_left_[id] > 0) {
      op.source_index = -1;
      if (!op.name.empty()) op.name += "_run" + std::to_string(++runs_[id]);
      for (TensorId& output : op.outputs) {
        Tensor tensor = given_.tensors[output];
        tensor.name = UniqueName(tensor.name);
        copy_[output] = TensorId(to().tensors.size());
        output = copy_[output];
        to().tensors.push_back(std::move(tensor));
      }
    } else {
      for (const TensorId output : op.outputs) {
        if (output.valid()) copy_[output] = output;
      }
    }
    new_id_[id] = OpId(to().ops.size());
    to().ops.push_back(std::move(op));
  }

  const Subgraph& given_;
  std::span<const OpId> sequence_;
  IdVector<OpId, char> repeatable_;
  graph::Graph out_;
  IdVector<TensorId, TensorId> copy_;  // of each given tensor, its last one so far
  IdVector<OpId, std::int32_t> runs_left_;
  IdVector<OpId, std::int32_t> runs_;
  IdVector<OpId, OpId> new_id_;  // of the last run
  std::set<std::string> names_;
};

}  // namespace

IdVector<OpId, char> Repeatable(const graph::Graph& graph) {
  const Subgraph& main = graph.subgraphs[SubgraphId(0)];
  IdVector<OpId, char> repeatable(main.ops.size(), 0);
  for (const OpId id : main.ops.Ids()) {
    repeatable[id] = ComputesAlone(main, main.ops[id]) ? 1 : 0;
  }
  const IdVector<TensorId, OpId> producer = graph::Producers(main);
  const auto exclude = [&](TensorId id) {
    if (id.valid() && producer[id].valid()) repeatable[producer[id]] = 0;
  };
  for (const Op& op : main.ops) {
    for (const TensorId id : op.captures) exclude(id);
    if (!op.folded) continue;
    for (const TensorId id : op.inputs) exclude(id);
  }
  for (const graph::ControlEdge& edge : main.control_edges) {
    repeatable[edge.before] = 0;
    repeatable[edge.after] = 0;
  }
  return repeatable;
}

Result<graph::Graph> Apply(const graph::Graph& graph, std::span<const OpId> sequence) {
  return Duplicator(graph, sequence).Run();
}

}  // namespace neap::duplicate
