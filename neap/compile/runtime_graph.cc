// SPDX-License-Identifier: Apache-2.0
#include "neap/compile/runtime_graph.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "neap/compile/litert.h"
#include "neap/compile/lower.h"
#include "neap/ops/litert.h"
#include "neap/ops/state.h"
#include "neap/ops/tflm_scratch.h"

namespace neap::compile {
namespace {

using graph::ControlEdge;
using graph::Op;
using graph::OpId;
using graph::Subgraph;
using graph::SubgraphId;
using graph::TensorId;

using Readers = IdVector<TensorId, std::vector<OpId>>;

// Each reader once for every time that it reads.
Readers ReadersOf(const Subgraph& subgraph) {
  Readers readers(subgraph.tensors.size());
  for (const OpId id : subgraph.ops.Ids()) {
    const Op& op = subgraph.ops[id];
    if (op.folded) continue;
    for (const auto* list : {&op.inputs, &op.captures}) {
      for (const TensorId tensor : *list) {
        if (tensor.valid()) readers[tensor].push_back(id);
      }
    }
  }
  return readers;
}

// The safe links, and the precedences that they require.
class Sharing {
 public:
  Sharing(const Subgraph& subgraph, const Readers& readers)
      : subgraph_(subgraph), readers_(readers), value_(subgraph.tensors.size()) {
    CollectLinks();
    FindRisks();
    DropWhatCannotBe();
  }

  const std::vector<LitertLink>& links() const { return links_; }
  const std::vector<ControlEdge>& edges() const { return edges_; }

 private:
  // An operator overwrites a value that others read, too.
  struct Risk {
    OpId op;
    bool lost = false;
    std::vector<OpId> others;
  };

  std::int64_t BytesOf(TensorId id) const {
    return graph::TensorBytes(subgraph_.tensors[id]).value_or(0);
  }

  void CollectLinks() {
    IdVector<TensorId, char> kept(subgraph_.tensors.size(), 0);
    for (const Op& op : subgraph_.ops) {
      if (!op.folded && ops::LitertKeepsOutput(subgraph_, op)) kept[op.outputs.front()] = 1;
    }
    IdVector<TensorId, TensorId> owner;
    for (const TensorId id : subgraph_.tensors.Ids()) {
      owner.push_back(id);
      value_[id] = id;
    }
    for (const LitertLink& link : LitertLinks(subgraph_)) {
      owner[link.output] = owner[link.input];
      const std::int64_t bytes = BytesOf(link.output);
      if (kept[owner[link.input]] != 0 || kept[link.output] != 0 || bytes == 0) continue;
      if (BytesOf(owner[link.input]) != bytes || BytesOf(link.input) != bytes) continue;
      links_.push_back(link);
      if (!link.overwrites) value_[link.output] = value_[link.input];
    }
  }

  // A value has tensors that show it (views), and readers of these. Making a view is no reading.
  void FindRisks() {
    IdVector<OpId, char> is_view(subgraph_.ops.size(), 0);
    for (const LitertLink& link : links_) is_view[link.op] = link.overwrites ? 0 : 1;
    IdVector<TensorId, std::vector<OpId>> readers(subgraph_.tensors.size());  // of values
    for (const TensorId id : subgraph_.tensors.Ids()) {
      for (const OpId reader : readers_[id]) {
        if (is_view[reader] == 0) readers[value_[id]].push_back(reader);
      }
    }
    IdVector<TensorId, int> writers(subgraph_.tensors.size(), 0);
    for (const LitertLink& link : links_) writers[value_[link.input]] += link.overwrites ? 1 : 0;
    for (const LitertLink& link : links_) {
      if (!link.overwrites) continue;
      Risk risk;
      risk.op = link.op;
      // Two that write over one value: it is lost to one of them in every order.
      risk.lost = writers[value_[link.input]] > 1;
      if (!risk.lost) risk.others = readers[value_[link.input]];
      std::erase(risk.others, link.op);
      if (risk.lost || !risk.others.empty()) risks_.push_back(std::move(risk));
    }
  }

  // If the required precedences are impossible, no value with other consumers is overwritten.
  void DropWhatCannotBe() {
    if (risks_.empty()) return;
    IdVector<OpId, char> dropped(subgraph_.ops.size(), 0);
    for (const Risk& risk : risks_) {
      if (risk.lost) dropped[risk.op] = 1;
      for (const OpId other : risk.others) edges_.push_back({other, risk.op});
    }
    std::vector<std::pair<OpId, OpId>> waits = PrecedencesOf(subgraph_);
    for (const ControlEdge& edge : edges_) waits.emplace_back(edge.before, edge.after);
    if (HasCycle(waits)) {
      edges_.clear();
      for (const Risk& risk : risks_) dropped[risk.op] = 1;
    }
    std::erase_if(links_, [&](const LitertLink& link) { return dropped[link.op] != 0; });
  }

  bool HasCycle(const std::vector<std::pair<OpId, OpId>>& waits) const {
    IdVector<OpId, std::vector<OpId>> successors(subgraph_.ops.size());
    IdVector<OpId, int> missing(subgraph_.ops.size(), 0);
    for (const auto& [before, after] : waits) {
      successors[before].push_back(after);
      ++missing[after];
    }
    std::vector<OpId> ready;
    for (const OpId op : subgraph_.ops.Ids()) {
      if (missing[op] == 0) ready.push_back(op);
    }
    for (std::size_t at = 0; at < ready.size(); ++at) {
      for (const OpId next : successors[ready[at]]) {
        if (--missing[next] == 0) ready.push_back(next);
      }
    }
    return ready.size() < subgraph_.ops.size();
  }

  const Subgraph& subgraph_;
  const Readers& readers_;
  IdVector<TensorId, TensorId> value_;  // the tensor whose value it shows
  std::vector<LitertLink> links_;
  std::vector<Risk> risks_;
  std::vector<ControlEdge> edges_;
};

// Gives tensors of a subgraph the lifetimes of the profile.
class Keeper {
 public:
  Keeper(const Readers& readers, Subgraph* subgraph)
      : readers_(readers),
        subgraph_(*subgraph),
        is_input_(subgraph->tensors.size(), 0),
        is_output_(subgraph->tensors.size(), 0) {
    for (const TensorId id : subgraph->inputs) is_input_[id] = 1;
    for (const TensorId id : subgraph->outputs) is_output_[id] = 1;
  }

  void WholeRun(TensorId tensor, OpId producer) {
    if (producer.valid()) {
      for (TensorId& output : subgraph_.ops[producer].outputs) {
        if (output == tensor) output = TensorId();
      }
      for (const OpId reader : readers_[tensor]) {
        if (reader != producer) subgraph_.control_edges.push_back({producer, reader});
      }
    }
    if (is_input_[tensor] == 0) subgraph_.inputs.push_back(tensor);
    is_input_[tensor] = 1;
    ToTheEnd(tensor);
  }

  void KeptOutputs() {
    for (const OpId id : subgraph_.ops.Ids()) {
      const Op& op = subgraph_.ops[id];
      if (op.folded || !ops::LitertKeepsOutput(subgraph_, op)) continue;
      if (IsPlanned(subgraph_.tensors[op.outputs.front()])) WholeRun(op.outputs.front(), id);
    }
  }

  void Variables() {
    const auto producer = graph::Producers(subgraph_);
    for (const TensorId id : subgraph_.tensors.Ids()) {
      graph::Tensor& tensor = subgraph_.tensors[id];
      const bool writes = producer[id].valid() && !subgraph_.ops[producer[id]].folded;
      if (!tensor.variable || tensor.constant) continue;
      if (!writes && readers_[id].empty() && is_input_[id] == 0 && is_output_[id] == 0) {
        continue;
      }
      tensor.variable = false;
      WholeRun(id, writes ? producer[id] : OpId());
    }
  }

  void Inputs() {
    const auto producer = graph::Producers(subgraph_);
    for (const TensorId id : subgraph_.tensors.Ids()) {
      // A tensor that is read but never written counts as an input.
      const bool from_nowhere = !readers_[id].empty() && !producer[id].valid();
      if (is_input_[id] != 0 || from_nowhere) ToTheEnd(id);
    }
  }

  void UnreadOutputs(const std::vector<LitertLink>& links) {
    IdVector<TensorId, char> shared(subgraph_.tensors.size(), 0);
    for (const LitertLink& link : links) shared[link.output] = 1;
    for (const Op& op : subgraph_.ops) {
      if (op.folded) continue;
      for (const TensorId id : op.outputs) {
        if (id.valid() && readers_[id].empty() && shared[id] == 0) ToTheEnd(id);
      }
    }
  }

 private:
  void ToTheEnd(TensorId tensor) {
    if (is_output_[tensor] != 0 || !IsPlanned(subgraph_.tensors[tensor])) return;
    is_output_[tensor] = 1;
    subgraph_.outputs.push_back(tensor);
  }

  const Readers& readers_;
  Subgraph& subgraph_;
  IdVector<TensorId, char> is_input_;
  IdVector<TensorId, char> is_output_;
};

// Makes shared outputs one with their owners.
void Merge(const std::vector<LitertLink>& links, const Readers& readers, Subgraph* subgraph,
           IdVector<TensorId, TensorId>* owner) {
  for (const TensorId id : subgraph->tensors.Ids()) owner->push_back(id);
  for (const LitertLink& link : links) {
    (*owner)[link.output] = (*owner)[link.input];
    subgraph->ops[link.op].outputs.front() = TensorId();
    for (const OpId reader : readers[link.output]) {
      subgraph->control_edges.push_back({link.op, reader});
    }
  }
  for (Op& op : subgraph->ops) {
    for (auto* list : {&op.inputs, &op.captures}) {
      for (TensorId& id : *list) {
        if (id.valid()) id = (*owner)[id];
      }
    }
  }
}

IdVector<SubgraphId, char> Called(const graph::Graph& graph) {
  IdVector<SubgraphId, char> called(graph.subgraphs.size(), 0);
  for (const Subgraph& subgraph : graph.subgraphs) {
    for (const Op& op : subgraph.ops) {
      for (const SubgraphId body : op.bodies) called[body] = 1;
    }
  }
  return called;
}

// nullopt: no kernel requests any.
std::optional<graph::Graph> WithKernelScratch(const graph::Graph& graph,
                                              const plan::Profile& profile) {
  std::optional<graph::Graph> with;
  if (profile.runtime != plan::Runtime::kTflm) return with;
  for (const SubgraphId s : graph.subgraphs.Ids()) {
    const Subgraph& subgraph = graph.subgraphs[s];
    for (const OpId id : subgraph.ops.Ids()) {
      const std::int64_t bytes =
          ops::TflmScratchOrStated(subgraph, subgraph.ops[id], plan::TargetOf(profile));
      if (bytes == subgraph.ops[id].scratch_bytes) continue;
      if (!with) with = graph;
      with->subgraphs[s].ops[id].scratch_bytes = bytes;
    }
  }
  return with;
}

}  // namespace

RuntimeGraph::RuntimeGraph(const graph::Graph& given, const plan::Profile& profile)
    : given_(given), with_scratch_(WithKernelScratch(given, profile)) {
  const graph::Graph& graph = file();
  const bool plain = !profile.keeps_inputs && !profile.keeps_unread && !profile.counts_variables &&
                     !profile.shares_as_litert;
  if (plain && ops::IsStateless(graph)) return;
  apart_ = graph;
  ops::AddStateEdges(&*apart_);
  if (plain) return;
  const auto called = Called(graph);
  std::vector<std::pair<Readers, std::vector<LitertLink>>> of_subgraph;
  for (const SubgraphId id : graph.subgraphs.Ids()) {
    Readers readers = ReadersOf(graph.subgraphs[id]);
    std::vector<LitertLink> links;
    Subgraph& subgraph = apart_->subgraphs[id];
    Keeper keeper(readers, &subgraph);
    if (profile.shares_as_litert) {
      const Sharing sharing(subgraph, readers);
      links = sharing.links();
      subgraph.control_edges.insert(subgraph.control_edges.end(), sharing.edges().begin(),
                                    sharing.edges().end());
      if (called[id] == 0) keeper.KeptOutputs();
    }
    if (profile.keeps_unread) keeper.UnreadOutputs(links);
    if (profile.counts_variables && called[id] == 0) keeper.Variables();
    if (profile.keeps_inputs) keeper.Inputs();
    of_subgraph.emplace_back(std::move(readers), std::move(links));
  }
  const auto shares = [](const auto& of) { return !of.second.empty(); };
  if (std::none_of(of_subgraph.begin(), of_subgraph.end(), shares)) return;
  merged_ = apart_;
  for (const SubgraphId id : graph.subgraphs.Ids()) {
    const auto& [readers, links] = of_subgraph[id.index()];
    IdVector<TensorId, TensorId> owner;
    Merge(links, readers, &merged_->subgraphs[id], &owner);
    for (const LitertLink& link : links) {
      shared_.push_back(
          {id, link.op, link.input, link.output, owner[link.output], link.overwrites});
    }
  }
}

void AddSharedOutputs(const RuntimeGraph& runtime, const Timeline& apart, plan::EntryPlan* entry) {
  const graph::Graph& graph = runtime.file();
  IdVector<SubgraphId, IdVector<OpId, const SharedOutput*>> by_op;
  IdVector<SubgraphId, IdVector<TensorId, const SharedOutput*>> by_output;
  IdVector<SubgraphId, IdVector<TensorId, const plan::TensorPlacement*>> owner_at;
  for (const Subgraph& subgraph : graph.subgraphs) {
    by_op.push_back(IdVector<OpId, const SharedOutput*>(subgraph.ops.size(), nullptr));
    by_output.push_back(IdVector<TensorId, const SharedOutput*>(subgraph.tensors.size(), nullptr));
    owner_at.push_back(
        IdVector<TensorId, const plan::TensorPlacement*>(subgraph.tensors.size(), nullptr));
  }
  for (const SharedOutput& shared : runtime.shared()) {
    by_op[shared.subgraph][shared.op] = &shared;
    by_output[shared.subgraph][shared.output] = &shared;
  }
  for (std::size_t slot = 0; slot < entry->steps.size(); ++slot) {
    const plan::Step& step = entry->steps[slot];
    if (!step.op.valid() || by_op[step.subgraph][step.op] == nullptr) continue;
    const SharedOutput& shared = *by_op[step.subgraph][step.op];
    const auto kind =
        shared.overwrites ? plan::OverlapKind::kInPlace : plan::OverlapKind::kHoldsInput;
    entry->overlaps.push_back(
        {static_cast<std::int32_t>(slot), step.subgraph, shared.input, shared.output, kind, 0});
  }
  for (const plan::TensorPlacement& placement : entry->tensors) {
    owner_at[placement.subgraph][placement.tensor] = &placement;
  }
  std::vector<plan::TensorPlacement> added;
  IdVector<SubgraphId, IdVector<TensorId, std::size_t>> known;
  for (const Subgraph& subgraph : graph.subgraphs) {
    known.push_back(IdVector<TensorId, std::size_t>(subgraph.tensors.size(), 0));
  }
  for (const LiveTensor& live : apart.tensors) {
    const SharedOutput* shared = by_output[live.subgraph][live.tensor];
    if (shared == nullptr || entry->tensors.empty()) continue;
    std::size_t& at = known[live.subgraph][live.tensor];
    if (at == 0) {
      const auto bytes = graph::TensorBytes(graph.subgraphs[live.subgraph].tensors[live.tensor]);
      const plan::TensorPlacement& owner = *owner_at[live.subgraph][shared->owner];
      added.push_back({live.subgraph, live.tensor, owner.offset, bytes.value_or(0), live.first,
                       live.last, owner.memory});
      at = added.size();
    } else {
      added[at - 1].first = std::min(added[at - 1].first, live.first);
      added[at - 1].last = std::max(added[at - 1].last, live.last);
    }
  }
  entry->tensors.insert(entry->tensors.end(), added.begin(), added.end());
}

}  // namespace neap::compile
