// SPDX-License-Identifier: Apache-2.0
#include "neap/transform/rewrite/channels/dead.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "neap/base/check.h"
#include "neap/ops/macs.h"
#include "neap/transform/rewrite/channels/narrow.h"
#include "neap/transform/rewrite/channels/shared.h"
#include "neap/transform/rewrite/compose.h"
#include "neap/transform/rewrite/draft.h"

namespace neap::rewrite {

using graph::Op;
using graph::OpId;
using graph::Subgraph;
using graph::Tensor;
using graph::TensorId;

namespace {

using Flags = std::vector<char>;  // by channel

// Sets of tensors whose channels can only be removed together, with their removed channels.
class Channels {
 public:
  explicit Channels(const graph::Graph& graph)
      : facts_(graph),
        main_(graph.subgraphs[graph::SubgraphId(0)]),
        order_(RunnableOrder(main_)),
        weighted_(main_.ops.size()),
        leader_(main_.tensors.size()) {
    for (const OpId id : main_.ops.Ids()) {
      if (facts_.plain[id] != 0) weighted_[id] = ReadWeighted(main_, main_.ops[id]);
    }
    ranges_ = RangesOf(main_, order_, weighted_);
    for (const TensorId id : main_.tensors.Ids()) leader_[id] = id;
    JoinSets();
    fixed_ = IdVector<TensorId, char>(main_.tensors.size(), 0);
    removed_.resize(main_.tensors.size());
    FixSets();
    dense_readers_.resize(main_.tensors.size());
    for (const OpId id : main_.ops.Ids()) {
      if (IsDense(id)) dense_readers_[Leader(main_.ops[id].inputs[0])].push_back(id);
    }
  }

  // Removes channels of `allowed` (by leader; nullptr: of all sets) until no more can be.
  void Remove(const IdVector<TensorId, Flags>* allowed) {
    for (int pass = 0; pass < kMaxPasses; ++pass) {
      bool changed = false;
      for (auto id = order_.rbegin(); id != order_.rend(); ++id) {
        if (IsProducer(*id))
          changed = RemoveOf(Leader(main_.ops[*id].outputs[0]), allowed) || changed;
      }
      if (!changed) return;
    }
  }

  // Whether the operator computes channels of its own, which an application can name.
  bool IsProducer(OpId id) const {
    return weighted_[id] && TensorsWithSameChannels(main_, main_.ops[id], weighted_[id]).empty();
  }
  TensorId Leader(TensorId id) const {
    while (leader_[id] != id) id = leader_[id];
    return id;
  }
  const Flags& RemovedOf(TensorId id) const { return removed_[Leader(id)]; }
  const Subgraph& main() const { return main_; }
  const IdVector<OpId, std::optional<WeightedOp>>& weighted() const { return weighted_; }
  const IdVector<TensorId, Ranges>& ranges() const { return ranges_; }

 private:
  void JoinSets() {
    for (const OpId id : main_.ops.Ids()) {
      if (facts_.plain[id] == 0) continue;
      const auto tensors = TensorsWithSameChannels(main_, main_.ops[id], weighted_[id]);
      for (const TensorId tensor : tensors) {
        const TensorId a = Leader(tensors.front());
        const TensorId b = Leader(tensor);
        leader_[std::max(a, b)] = std::min(a, b);
      }
    }
  }

  // Sets with a tensor that another operator reads or writes, or that the caller sees, stay.
  void FixSets() {
    const auto fix = [&](TensorId id) {
      if (id.valid()) fixed_[Leader(id)] = 1;
    };
    for (const TensorId id : main_.inputs) fix(id);
    for (const TensorId id : main_.outputs) fix(id);
    for (const TensorId id : main_.tensors.Ids()) {
      const bool computed = facts_.producer[id].valid() && !main_.tensors[id].constant;
      if (!computed || main_.tensors[id].variable) fix(id);
    }
    for (const OpId id : main_.ops.Ids()) {
      const Op& op = main_.ops[id];
      const bool joined =
          facts_.plain[id] != 0 && !TensorsWithSameChannels(main_, op, weighted_[id]).empty();
      if (joined || IsDense(id)) continue;
      for (const auto* list : {&op.inputs, &op.captures, &op.outputs}) {
        for (const TensorId tensor : *list) fix(tensor);
      }
    }
    for (const TensorId id : main_.tensors.Ids()) {
      if (Leader(id) == id && fixed_[id] == 0) {
        removed_[id].assign(static_cast<std::size_t>(ChannelsOf(main_.tensors[id])), 0);
      }
    }
  }

  // Every output channel reads every input channel.
  bool IsDense(OpId id) const { return weighted_[id] && !weighted_[id]->per_channel; }

  bool RemoveOf(TensorId leader, const IdVector<TensorId, Flags>* allowed) {
    if (fixed_[leader] != 0) return false;
    Flags& removed = removed_[leader];
    auto kept = std::count(removed.begin(), removed.end(), 0);
    bool changed = false;
    // From the last one, so that the first is kept.
    for (std::size_t c = removed.size(); c-- > 0;) {
      if (removed[c] != 0 || kept == 1) continue;
      if (allowed != nullptr && ((*allowed)[leader].empty() || (*allowed)[leader][c] == 0))
        continue;
      if (!CanRemove(leader, c)) continue;
      removed[c] = 1;
      --kept;
      changed = true;
    }
    return changed;
  }

  bool CanRemove(TensorId leader, std::size_t channel) const {
    return std::all_of(dense_readers_[leader].begin(), dense_readers_[leader].end(),
                       [&](OpId reader) { return CanDrop(reader, channel); });
  }

  // The sums of the operator change by the same number everywhere.
  bool CanDrop(OpId id, std::size_t channel) const {
    const WeightedOp& op = *weighted_[id];
    const Range& range = ranges_[main_.ops[id].inputs[0]][channel];
    const Flags& dead = RemovedOf(main_.ops[id].outputs[0]);
    const bool is_zero = range == Range{op.in_zero, op.in_zero};
    if (is_zero) return true;
    for (std::size_t tap = 0; tap < op.taps.size(); ++tap) {
      if (op.taps[tap] == Tap::kPadding) continue;
      const bool folds = range.IsConstant() && op.taps[tap] == Tap::kInput && !op.bias.empty();
      if (folds) continue;
      for (std::int64_t out = 0; out < op.out_channels; ++out) {
        const bool is_dead = !dead.empty() && dead[static_cast<std::size_t>(out)] != 0;
        if (!is_dead && op.Weight(out, tap, static_cast<std::int64_t>(channel)) != 0) return false;
      }
    }
    return true;
  }

  const Facts facts_;
  const Subgraph& main_;
  const std::vector<OpId> order_;
  IdVector<OpId, std::optional<WeightedOp>> weighted_;
  IdVector<TensorId, Ranges> ranges_;
  IdVector<TensorId, TensorId> leader_;
  IdVector<TensorId, std::vector<OpId>> dense_readers_;  // by leader
  IdVector<TensorId, char> fixed_;                       // by leader
  IdVector<TensorId, Flags> removed_;                    // by leader; empty: fixed
};

bool HasRemoved(const Flags& flags) {
  return std::any_of(flags.begin(), flags.end(), [](char flag) { return flag != 0; });
}

std::vector<plan::Rewrite> ApplicationsOf(const Channels& channels) {
  std::vector<plan::Rewrite> applications;
  for (const OpId id : channels.main().ops.Ids()) {
    if (!channels.IsProducer(id)) continue;
    const Flags& removed = channels.RemovedOf(channels.main().ops[id].outputs[0]);
    if (!HasRemoved(removed)) continue;
    plan::Rewrite rewrite;
    rewrite.rule = std::string(kDeadChannels);
    rewrite.op = id;
    for (std::size_t c = 0; c < removed.size(); ++c) {
      if (removed[c] != 0) rewrite.parameters.push_back(static_cast<std::int64_t>(c));
    }
    applications.push_back(std::move(rewrite));
  }
  return applications;
}

graph::Graph GraphOf(const graph::Graph& graph, const Channels& channels) {
  const Subgraph& main = channels.main();
  Removal removal;
  removal.removed.resize(main.tensors.size());
  for (const TensorId id : main.tensors.Ids()) removal.removed[id] = channels.RemovedOf(id);
  return Narrow(graph, removal, channels.weighted(), channels.ranges());
}

Diagnostic NotDead(const Subgraph& main, OpId id, const std::string& what) {
  Diagnostic error = BadInput("rewrite '" + std::string(kDeadChannels) + "' " + what);
  if (main.ops.Has(id)) error.op = graph::Describe(id, main.ops[id]);
  return error;
}

}  // namespace

RuleInfo DeadChannelsRule() {
  return {
      kDeadChannels,
      "remove channels of int8 whose value is constant, and add them to the next bias (.tflite)",
      true, true};
}

Narrowed RemoveDeadChannels(const graph::Graph& graph) {
  if (graph.subgraphs.empty()) return {graph, {}};
  Channels channels(graph);
  channels.Remove(nullptr);
  Narrowed out;
  out.applications = ApplicationsOf(channels);
  out.graph = out.applications.empty() ? graph : GraphOf(graph, channels);
  return out;
}

bool IsWorthwhile(const graph::Graph& given, const graph::Graph& narrowed) {
  const auto count = [](const graph::Graph& graph, bool weights) {
    const Subgraph& main = graph.subgraphs[graph::SubgraphId(0)];
    std::int64_t sum = 0;
    for (const Op& op : main.ops) {
      const Tensor* const filter = graph::Operand(main, op.inputs, 1);
      if (!weights) {
        sum += ops::MultiplyAccumulates(main, op);
      } else if (filter != nullptr && filter->constant) {
        sum += graph::TensorBytes(*filter).value_or(0);
      }
    }
    return sum;
  };
  const auto falls = [&](bool weights) {
    const std::int64_t before = count(given, weights);
    return before > 0 && before - count(narrowed, weights) >= before / kLeastShare;
  };
  return falls(true) || falls(false);
}

Result<graph::Graph> ApplyDeadChannels(const graph::Graph& graph,
                                       std::span<const plan::Rewrite> applications) {
  if (graph.subgraphs.empty()) return Fail(BadInput("has no subgraph"));
  Channels channels(graph);
  const Subgraph& main = channels.main();
  IdVector<TensorId, Flags> allowed(main.tensors.size());
  for (const plan::Rewrite& application : applications) {
    const OpId id = application.op;
    if (!main.ops.Has(id) || !channels.IsProducer(id)) {
      return Fail(NotDead(main, id, "is not applicable to its operator"));
    }
    Flags& flags = allowed[channels.Leader(main.ops[id].outputs[0])];
    flags.resize(channels.RemovedOf(main.ops[id].outputs[0]).size());
    for (const std::int64_t channel : application.parameters) {
      if (channel < 0 || static_cast<std::size_t>(channel) >= flags.size()) {
        return Fail(NotDead(
            main, id, "removes channel " + std::to_string(channel) + ", which cannot be removed"));
      }
      flags[static_cast<std::size_t>(channel)] = 1;
    }
  }
  channels.Remove(&allowed);
  const std::vector<plan::Rewrite> possible = ApplicationsOf(channels);
  for (const plan::Rewrite& application : applications) {
    const auto found = std::find_if(possible.begin(), possible.end(),
                                    [&](const auto& other) { return other.op == application.op; });
    if (found == possible.end() || found->parameters != application.parameters) {
      return Fail(NotDead(main, application.op, "removes a channel that is not dead"));
    }
  }
  if (possible.size() != applications.size()) {
    return Fail(BadInput("rewrites '" + std::string(kDeadChannels) +
                         "' do not name every operator whose channels they remove"));
  }
  graph::Graph edited = GraphOf(graph, channels);
  NEAP_CHECK_OK(graph::Verify(edited));
  return edited;
}

}  // namespace neap::rewrite
