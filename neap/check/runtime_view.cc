// SPDX-License-Identifier: Apache-2.0
#include "neap/check/runtime_view.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <string>
#include <tuple>

#include "neap/check/state_order.h"
#include "neap/ops/litert.h"
#include "neap/ops/tflm_scratch.h"

namespace neap::check {
namespace {

using graph::Op;
using graph::OpId;
using graph::Subgraph;
using graph::SubgraphId;
using graph::TensorId;

using Pairs = std::vector<std::pair<OpId, OpId>>;

// All operators so that each comes after those it waits for; fewer when that cannot be.
std::vector<OpId> InOrder(const Subgraph& subgraph, const Pairs& waits) {
  IdVector<OpId, std::vector<OpId>> after(subgraph.ops.size());
  IdVector<OpId, std::size_t> missing(subgraph.ops.size(), 0);
  for (const auto& [first, second] : waits) {
    after[first].push_back(second);
    ++missing[second];
  }
  std::vector<OpId> order;
  for (const OpId op : subgraph.ops.Ids()) {
    if (missing[op] == 0) order.push_back(op);
  }
  for (std::size_t at = 0; at < order.size(); ++at) {
    for (const OpId next : after[order[at]]) {
      if (--missing[next] == 0) order.push_back(next);
    }
  }
  return order;
}

// One subgraph: the consumers of each tensor, and LiteRT's links.
class SubgraphMemory {
 public:
  explicit SubgraphMemory(const Subgraph& subgraph)
      : subgraph_(subgraph),
        readers_(subgraph.tensors.size()),
        wanted_(subgraph.tensors.size(), 0),
        written_(subgraph.tensors.size(), 0) {
    for (const OpId id : subgraph.ops.Ids()) {
      const Op& op = subgraph.ops[id];
      if (op.folded) continue;
      for (const auto* list : {&op.inputs, &op.captures}) {
        for (const TensorId tensor : *list) {
          if (!tensor.valid()) continue;
          readers_[tensor].push_back(id);
          ++wanted_[tensor];
        }
      }
      for (const TensorId tensor : op.outputs) {
        if (tensor.valid()) written_[tensor] = 1;
      }
    }
    for (const auto* list : {&subgraph.inputs, &subgraph.outputs}) {
      for (const TensorId tensor : *list) ++wanted_[tensor];
    }
    inputs_.insert(subgraph.inputs.begin(), subgraph.inputs.end());
    outputs_.insert(subgraph.outputs.begin(), subgraph.outputs.end());
  }

  const std::vector<OpId>& ReadersOf(TensorId tensor) const { return readers_[tensor]; }
  bool IsWritten(TensorId tensor) const { return written_[tensor] != 0; }
  bool IsInput(TensorId tensor) const { return inputs_.contains(tensor); }
  bool IsOutput(TensorId tensor) const { return outputs_.contains(tensor); }

  // Outputs with the inputs they overwrite; `before`: the operators that have to run first so that
  // no value is lost.
  std::map<TensorId, RuntimeView::Share> Shares(Pairs* before) const {
    std::map<TensorId, RuntimeView::Share> shares;
    std::map<TensorId, TensorId> owners;  // as LiteRT thinks
    std::map<TensorId, TensorId> values;  // of views: whose bytes they show
    const auto look = [](const std::map<TensorId, TensorId>& map, TensorId tensor) {
      const auto at = map.find(tensor);
      return at == map.end() ? tensor : at->second;
    };
    for (const OpId id : InOrder(subgraph_, Dependencies(subgraph_))) {
      const Op& op = subgraph_.ops[id];
      const ops::LitertSharing fact = ops::LitertSharingOf(op);
      if (op.folded || fact.inputs == 0 || op.outputs.empty()) continue;
      const TensorId output = op.outputs[0];
      if (!InArena(output) || IsOutput(output)) continue;
      TensorId input;
      for (int i = fact.inputs - 1; i >= 0; --i) {
        if (static_cast<std::size_t>(i) >= op.inputs.size()) continue;
        const TensorId candidate = op.inputs[static_cast<std::size_t>(i)];
        if (InArena(candidate) && IsWritten(candidate) && !IsInput(candidate) &&
            (fact.keeps_data || MayBeOverwritten(candidate, output))) {
          input = candidate;  // the first of them wins
        }
      }
      if (!input.valid()) continue;
      const TensorId owner = look(owners, input);
      if (!fact.keeps_data && wanted_[owner] > 1) continue;
      owners[output] = owner;
      const std::int64_t bytes = Bytes(output);
      if (bytes == 0 || bytes != Bytes(input) || bytes != Bytes(owner)) continue;
      if (IsKept(owner) || IsKept(output)) continue;
      shares[output] = {id, input, !fact.keeps_data};
      if (fact.keeps_data) values[output] = look(values, input);
    }
    KeepValues(values, &shares, before);
    return shares;
  }

 private:
  std::int64_t Bytes(TensorId tensor) const {
    return graph::TensorBytes(subgraph_.tensors[tensor]).value_or(0);
  }
  bool InArena(TensorId tensor) const {
    return tensor.valid() && !subgraph_.tensors[tensor].constant &&
           !subgraph_.tensors[tensor].variable;
  }
  bool MayBeOverwritten(TensorId input, TensorId output) const {
    return wanted_[input] == 1 && Bytes(input) > 4 && Bytes(input) == Bytes(output);
  }
  bool IsKept(TensorId tensor) const {
    if (kept_.empty()) {
      kept_.assign(subgraph_.tensors.size(), 0);
      for (const Op& op : subgraph_.ops) {
        if (!op.folded && ops::LitertKeepsOutput(subgraph_, op)) kept_[op.outputs[0].index()] = 1;
      }
    }
    return kept_[tensor.index()] != 0;
  }

  // All consumers of a value, through any view of it, run before it is overwritten. Outputs for
  // which this is impossible are not shared.
  void KeepValues(const std::map<TensorId, TensorId>& values,
                  std::map<TensorId, RuntimeView::Share>* shares, Pairs* before) const {
    std::set<OpId> views;
    std::map<TensorId, std::vector<OpId>> writers;  // by value
    std::map<TensorId, std::vector<TensorId>> shown;
    const auto value_of = [&](TensorId tensor) {
      const auto at = values.find(tensor);
      return at == values.end() ? tensor : at->second;
    };
    for (const auto& [output, share] : *shares) {
      if (share.overwrites) {
        writers[value_of(share.input)].push_back(share.op);
      } else {
        views.insert(share.op);
      }
    }
    for (const auto& [view, value] : values) shown[value].push_back(view);
    std::set<OpId> lost;
    std::set<OpId> waiting;
    for (const auto& [value, ops] : writers) {
      if (ops.size() > 1) {
        lost.insert(ops.begin(), ops.end());
        continue;
      }
      shown[value].push_back(value);
      for (const TensorId tensor : shown[value]) {
        for (const OpId reader : readers_[tensor]) {
          if (reader == ops[0] || views.contains(reader)) continue;
          before->emplace_back(reader, ops[0]);
          waiting.insert(ops[0]);
        }
      }
    }
    if (!before->empty() || !lost.empty()) {
      Pairs waits = Dependencies(subgraph_);
      waits.insert(waits.end(), before->begin(), before->end());
      if (InOrder(subgraph_, waits).size() < subgraph_.ops.size()) {
        lost.insert(waiting.begin(), waiting.end());
        before->clear();
      }
    }
    std::erase_if(*shares, [&](const auto& share) { return lost.contains(share.second.op); });
  }

  const Subgraph& subgraph_;
  IdVector<TensorId, std::vector<OpId>> readers_;
  IdVector<TensorId, int> wanted_;  // reads, and being an input or an output
  IdVector<TensorId, char> written_;
  std::set<TensorId> inputs_;
  std::set<TensorId> outputs_;
  mutable std::vector<char> kept_;
};

void Append(const std::set<TensorId>& tensors, std::vector<TensorId>* list) {
  const std::set<TensorId> known(list->begin(), list->end());
  for (const TensorId tensor : tensors) {
    if (!known.contains(tensor)) list->push_back(tensor);
  }
}

// The subgraph with the lifetimes of the profile.
void ExtendLifetimes(const SubgraphMemory& memory, const plan::Profile& profile, bool called,
                     const std::map<TensorId, RuntimeView::Share>& shares, Subgraph* subgraph) {
  std::set<TensorId> always;
  std::set<TensorId> to_the_end;
  for (const TensorId id : subgraph->tensors.Ids()) {
    graph::Tensor& tensor = subgraph->tensors[id];
    if (tensor.constant) continue;
    const bool read = !memory.ReadersOf(id).empty();
    const bool named = memory.IsInput(id) || memory.IsOutput(id);
    if (tensor.variable) {
      if (!profile.counts_variables || called) continue;
      if (!read && !named && !memory.IsWritten(id)) continue;
      tensor.variable = false;
      always.insert(id);
    } else if (memory.IsWritten(id)) {
      if (profile.keeps_unread && !read && !shares.contains(id)) to_the_end.insert(id);
    } else if (profile.keeps_inputs && (memory.IsInput(id) || read)) {
      to_the_end.insert(id);
    }
  }
  for (const Op& op : subgraph->ops) {
    if (profile.shares_as_litert && !called && !op.folded &&
        ops::LitertKeepsOutput(*subgraph, op) && !subgraph->tensors[op.outputs[0]].constant) {
      always.insert(op.outputs[0]);
    }
  }
  // There from the start: no operator makes them, but their readers wait for the one that did.
  for (const OpId id : subgraph->ops.Ids()) {
    if (subgraph->ops[id].folded) continue;
    for (TensorId& output : subgraph->ops[id].outputs) {
      if (!output.valid() || !always.contains(output)) continue;
      for (const OpId reader : memory.ReadersOf(output)) {
        if (reader != id) subgraph->control_edges.push_back({id, reader});
      }
      output = TensorId();
    }
  }
  Append(always, &subgraph->inputs);
  to_the_end.merge(always);
  Append(to_the_end, &subgraph->outputs);
}

bool RequestsScratch(const Subgraph& subgraph, const target::Target& target) {
  return std::any_of(subgraph.ops.begin(), subgraph.ops.end(), [&](const Op& op) {
    return ops::TflmScratchOrStated(subgraph, op, target) != op.scratch_bytes;
  });
}

}  // namespace

RuntimeView::RuntimeView(const graph::Graph& given, const plan::Profile& profile) : graph_(given) {
  const target::Target& target = plan::TargetOf(profile);
  if (profile.runtime == plan::Runtime::kTflm &&
      std::any_of(given.subgraphs.begin(), given.subgraphs.end(),
                  [&](const Subgraph& subgraph) { return RequestsScratch(subgraph, target); })) {
    scratched_ = given;
    for (Subgraph& subgraph : scratched_->subgraphs) {
      for (Op& op : subgraph.ops) op.scratch_bytes = ops::TflmScratchOrStated(subgraph, op, target);
    }
  }
  const graph::Graph& graph = Scratched();
  const bool plain = !profile.keeps_inputs && !profile.keeps_unread && !profile.counts_variables &&
                     !profile.shares_as_litert;
  std::optional<graph::Graph> ordered;
  if (HasState(graph)) {
    ordered = graph;
    OrderStates(&*ordered);
  }
  if (plain) {
    apart_ = std::move(ordered);
    return;
  }
  const graph::Graph& base = ordered ? *ordered : graph;
  apart_ = base;
  std::set<SubgraphId> called;
  for (const Subgraph& subgraph : graph.subgraphs) {
    for (const Op& op : subgraph.ops) called.insert(op.bodies.begin(), op.bodies.end());
  }
  std::vector<SubgraphMemory> memories;
  for (const SubgraphId id : graph.subgraphs.Ids()) {
    const SubgraphMemory& memory = memories.emplace_back(base.subgraphs[id]);
    Subgraph& apart = apart_->subgraphs[id];
    Pairs before;
    std::map<TensorId, Share> shares;
    if (profile.shares_as_litert) shares = memory.Shares(&before);
    ExtendLifetimes(memory, profile, called.contains(id), shares, &apart);
    for (const auto& [first, second] : before) apart.control_edges.push_back({first, second});
    for (const auto& [output, share] : shares) shares_.emplace(std::pair(id, output), share);
  }
  // Each chain is walked once.
  for (const auto& [key, share] : shares_) {
    std::vector<TensorId> chain = {key.second};
    TensorId owner = share.input;
    for (bool ends = false; !ends;) {
      const auto known = owners_.find({key.first, owner});
      const auto next = shares_.find({key.first, owner});
      ends = known != owners_.end() || next == shares_.end();
      if (known != owners_.end()) owner = known->second;
      if (ends) break;
      chain.push_back(owner);
      owner = next->second.input;
    }
    for (const TensorId tensor : chain) owners_[{key.first, tensor}] = owner;
  }
  merged_ = apart_;
  for (const auto& [key, share] : shares_) {
    Subgraph& merged = merged_->subgraphs[key.first];
    merged.ops[share.op].outputs[0] = TensorId();
    for (const OpId reader : memories[key.first.index()].ReadersOf(key.second)) {
      merged.control_edges.push_back({share.op, reader});
    }
  }
  for (const SubgraphId id : merged_->subgraphs.Ids()) {
    for (Op& op : merged_->subgraphs[id].ops) {
      for (auto* list : {&op.inputs, &op.captures}) {
        for (TensorId& tensor : *list) {
          if (tensor.valid()) tensor = OwnerOf(id, tensor);
        }
      }
    }
  }
}

TensorId RuntimeView::OwnerOf(SubgraphId subgraph, TensorId tensor) const {
  const auto at = owners_.find({subgraph, tensor});
  return at == owners_.end() ? tensor : at->second;
}

namespace {

using Key = std::tuple<std::int32_t, SubgraphId, TensorId, TensorId, plan::OverlapKind>;

// The overlaps that the view requires; the entry keeps its other overlaps.
void TakeOverlaps(const graph::Graph& graph, const RuntimeView& view, plan::EntryPlan* entry,
                  Findings* findings) {
  std::set<Key> expected;
  std::map<std::pair<SubgraphId, OpId>, std::pair<TensorId, RuntimeView::Share>> by_op;
  for (const auto& [key, share] : view.shares()) {
    by_op[{key.first, share.op}] = {key.second, share};
  }
  for (std::size_t slot = 0; slot < entry->steps.size(); ++slot) {
    const plan::Step& step = entry->steps[slot];
    const auto at = by_op.find({step.subgraph, step.op});
    if (at == by_op.end()) continue;
    const auto& [output, share] = at->second;
    expected.insert(
        {static_cast<std::int32_t>(slot), step.subgraph, share.input, output,
         share.overwrites ? plan::OverlapKind::kInPlace : plan::OverlapKind::kHoldsInput});
  }
  std::erase_if(entry->overlaps, [&](const plan::Overlap& o) {
    return o.bytes == 0 && expected.erase({o.slot, o.subgraph, o.input, o.output, o.kind}) > 0;
  });
  for (const auto& [slot, subgraph, input, output, kind] : expected) {
    findings->Add(graph, subgraph, OpId(), output,
                  "slot " + std::to_string(slot) + ": the runtime puts it over tensor " +
                      std::to_string(input.value()) + ": expected an overlap '" +
                      std::string(NameOf(kind)) + "'");
  }
}

}  // namespace

plan::EntryPlan CheckSharedOutputs(const graph::Graph& graph, const RuntimeView& view,
                                   const plan::Profile& profile, const plan::EntryPlan& entry,
                                   bool order_only, Findings* findings) {
  plan::EntryPlan rest = entry;
  TakeOverlaps(graph, view, &rest, findings);
  if (order_only) return rest;
  for (const plan::Step& step : entry.steps) {
    if (!step.moved.valid()) continue;
    findings->Add(graph, step.subgraph, OpId(), step.moved,
                  "is moved, expected no moves where tensors share addresses");
    return rest;
  }
  std::map<std::pair<SubgraphId, TensorId>, plan::TensorPlacement> shared;
  std::map<std::pair<SubgraphId, TensorId>, plan::TensorPlacement> owners;
  std::erase_if(rest.tensors, [&](const plan::TensorPlacement& placement) {
    const std::pair key(placement.subgraph, placement.tensor);
    if (!view.shares().contains(key)) {
      owners.emplace(key, placement);
      return false;
    }
    // A second placement of the tensor stays in `rest`, where the replay reports it.
    return shared.emplace(key, placement).second;
  });
  Findings ignored;  // the steps are judged with the rest
  Replayer replayer(view.Apart(), profile, &ignored);
  const auto replay = replayer.Replay(rest);
  if (!replay) return rest;
  for (const auto& one : view.shares()) {
    const auto& key = one.first;
    const auto& share = one.second;
    const auto call = replay->calls.find(key.first);
    if (call == replay->calls.end()) continue;
    const auto refuse = [&](const std::string& why) {
      findings->Add(graph, key.first, OpId(), key.second, why);
    };
    const Lifetime* lifetime = replayer.ReplayOf(key.first).Find(key.second);
    const auto found = shared.find(key);
    const auto owner = owners.find({key.first, view.OwnerOf(key.first, key.second)});
    if (lifetime == nullptr || owner == owners.end()) continue;  // the rest has no place for it
    if (found == shared.end()) {
      refuse("has no place, expected that of tensor " + std::to_string(share.input.value()));
      continue;
    }
    const plan::TensorPlacement& placement = found->second;
    const SlotRange range = {call->second.first_begin + lifetime->range.first,
                             call->second.last_begin + lifetime->range.last};
    if (placement.memory != owner->second.memory) {
      refuse("is in another memory than its input");
    }
    if (placement.offset != owner->second.offset) {
      refuse("offset is " + std::to_string(placement.offset) + ", expected " +
             std::to_string(owner->second.offset) + ": the runtime puts it over tensor " +
             std::to_string(share.input.value()));
    }
    if (placement.bytes != lifetime->bytes) {
      refuse("bytes is " + std::to_string(placement.bytes) + ", expected " +
             std::to_string(lifetime->bytes));
    }
    if (placement.first != range.first || placement.last != range.last) {
      refuse("is live in slots [" + std::to_string(placement.first) + ", " +
             std::to_string(placement.last) + "), expected [" + std::to_string(range.first) + ", " +
             std::to_string(range.last) + ")");
    }
  }
  return rest;
}

}  // namespace neap::check
