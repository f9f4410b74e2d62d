// SPDX-License-Identifier: Apache-2.0
#include "neap/compile/moved_model.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "neap/base/bytes.h"
#include "neap/compile/stock_runtime.h"
#include "neap/ops/op_table.h"
#include "neap/ops/stock_kernels.h"

namespace neap::compile {
namespace {

using graph::Graph;
using graph::Op;
using graph::OpId;
using graph::Subgraph;
using graph::SubgraphId;
using graph::TensorId;
using ops::OpKind;

// One entry subgraph and its plan, both rewritten.
class Rewriter {
 public:
  Rewriter(Subgraph* subgraph, plan::EntryPlan* entry)
      : subgraph_(*subgraph), entry_(*entry), stretches_(subgraph->tensors.size()) {}

  bool Run() {
    if (!NameStretches()) return false;
    std::vector<OpId> new_index(subgraph_.ops.size());
    IdVector<OpId, Op> ops;
    IdVector<TensorId, std::size_t> at(stretches_.size(), 0);
    std::vector<plan::Step> steps;
    for (const plan::Step& step : entry_.steps) {
      Op op;
      if (step.moved.valid()) {
        const std::vector<TensorId>& names = stretches_[step.moved];
        const std::size_t from = at[step.moved]++;
        op = Reshape(names[from], names[from + 1]);
      } else {
        op = std::move(subgraph_.ops[step.op]);
        for (auto* list : {&op.inputs, &op.outputs}) {
          for (TensorId& tensor : *list) {
            if (tensor.valid() && !stretches_[tensor].empty()) {
              tensor = stretches_[tensor][at[tensor]];
            }
          }
        }
        new_index[step.op.index()] = OpId(static_cast<std::int32_t>(ops.size()));
      }
      steps.push_back({entry_.subgraph, OpId(static_cast<std::int32_t>(ops.size()))});
      ops.push_back(std::move(op));
    }
    subgraph_.ops = std::move(ops);
    entry_.steps = std::move(steps);
    for (graph::ControlEdge& edge : subgraph_.control_edges) {
      edge = {new_index[edge.before.index()], new_index[edge.after.index()]};
    }
    return true;
  }

 private:
  // A tensor for every stretch of those that move; their placements get its name.
  bool NameStretches() {
    IdVector<TensorId, int> count(subgraph_.tensors.size(), 0);
    for (const plan::TensorPlacement& placement : entry_.tensors) ++count[placement.tensor];
    IdVector<TensorId, int> seen(subgraph_.tensors.size(), 0);
    for (plan::TensorPlacement& placement : entry_.tensors) {
      const TensorId tensor = placement.tensor;
      if (count[tensor] < 2) continue;
      if (!MayMove(tensor)) return false;
      const bool input = Contains(subgraph_.inputs, tensor);
      if (input && Contains(subgraph_.outputs, tensor)) return false;
      const int at = seen[tensor]++;
      const bool keeps = at == (input ? 0 : count[tensor] - 1);
      if (!keeps) {
        graph::Tensor copy = subgraph_.tensors[tensor];
        copy.name += "_at" + std::to_string(at);
        placement.tensor = subgraph_.tensors.push_back(std::move(copy));
      }
      stretches_[tensor].push_back(placement.tensor);
    }
    stretches_.resize(subgraph_.tensors.size());
    return true;
  }

  // Every move is an operator of the runtime.
  bool MayMove(TensorId tensor) const {
    const graph::Tensor& moved = subgraph_.tensors[tensor];
    return ops::MayInsert(OpKind::kReshape, moved.type, moved.shape ? moved.shape->size() : 0,
                          ops::StockRuntime::kTflm);
  }

  Op Reshape(TensorId from, TensorId to) const {
    Op op;
    ops::SetKind(&op, OpKind::kReshape);
    op.inputs = {from};
    op.outputs = {to};
    op.version = 1;
    op.attributes["new_shape"] = subgraph_.tensors[from].shape.value_or(graph::Shape());
    return op;
  }

  Subgraph& subgraph_;
  plan::EntryPlan& entry_;
  IdVector<TensorId, std::vector<TensorId>> stretches_;  // empty: never moves
};

void PutInOrder(const std::vector<OpId>& order, Subgraph* subgraph) {
  std::vector<OpId> new_index(subgraph->ops.size());
  IdVector<OpId, Op> ops;
  for (const OpId op : order) {
    new_index[op.index()] = OpId(static_cast<std::int32_t>(ops.size()));
    ops.push_back(std::move(subgraph->ops[op]));
  }
  subgraph->ops = std::move(ops);
  for (graph::ControlEdge& edge : subgraph->control_edges) {
    edge = {new_index[edge.before.index()], new_index[edge.after.index()]};
  }
}

bool IsTflite(const Graph& graph) {
  return std::all_of(graph.subgraphs.begin(), graph.subgraphs.end(), [](const Subgraph& subgraph) {
    return std::all_of(subgraph.ops.begin(), subgraph.ops.end(),
                       [](const Op& op) { return op.domain == "tflite" || op.domain == "custom"; });
  });
}

}  // namespace

bool HasMoves(const plan::Plan& plan) {
  return std::any_of(plan.entries.begin(), plan.entries.end(), [](const auto& entry) {
    return std::any_of(entry.steps.begin(), entry.steps.end(),
                       [](const plan::Step& step) { return step.moved.valid(); });
  });
}

AllSizes SizesOfEverything(const Graph& graph, const AllSizes& sizes,
                           const plan::Profile& profile) {
  AllSizes all = sizes;
  for (const SubgraphId s : graph.subgraphs.Ids()) {
    const Subgraph& subgraph = graph.subgraphs[s];
    for (const TensorId t : subgraph.tensors.Ids()) {
      if (!IsPlanned(subgraph.tensors[t]) || all[s].counted[t] > 0) continue;
      // One without a size is no tensor that TFLM could run with; it is not ours to refuse.
      const auto bytes = graph::TensorBytes(subgraph.tensors[t]);
      if (bytes) all[s].counted[t] = AlignUp(*bytes, profile.alignment);
    }
  }
  return all;
}

std::optional<MovedModel> MovesAsOperators(const Graph& graph, const plan::Plan& plan,
                                           const Orders& orders, const plan::Profile& profile) {
  if (!IsTflite(graph)) return std::nullopt;
  MovedModel model;
  model.graph = graph;
  plan::Plan edited = plan;
  std::vector<char> rewritten(graph.subgraphs.size(), 0);
  for (plan::EntryPlan& entry : edited.entries) {
    const bool moves = std::any_of(entry.steps.begin(), entry.steps.end(),
                                   [](const plan::Step& step) { return step.moved.valid(); });
    if (!moves) continue;
    rewritten[entry.subgraph.index()] = 1;
    if (!Rewriter(&model.graph.subgraphs[entry.subgraph], &entry).Run()) return std::nullopt;
  }
  AllSizes sizes;
  for (const SubgraphId s : model.graph.subgraphs.Ids()) {
    Subgraph& subgraph = model.graph.subgraphs[s];
    if (rewritten[s.index()] == 0) PutInOrder(orders[s], &subgraph);
    auto of_subgraph = SizesOf(subgraph, profile);
    if (!of_subgraph) return std::nullopt;
    sizes.push_back(std::move(*of_subgraph));
    model.orders.push_back({});
    for (const OpId op : subgraph.ops.Ids()) model.orders[s].push_back(op);
  }
  model.sizes = SizesOfEverything(model.graph, sizes, profile);
  const auto timeline = BuildTimeline(model.graph, SubgraphId(0), model.orders, profile);
  model.offsets = OfflineOffsets(model.graph, edited, model.sizes);
  if (!timeline || model.offsets.empty()) return std::nullopt;
  model.placement =
      PlaceInTflm(model.graph, *timeline, model.sizes, plan::TargetOf(profile), model.offsets);
  return model;
}

}  // namespace neap::compile
