// SPDX-License-Identifier: Apache-2.0
#include "neap/check/overlap_bound.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "neap/base/bytes.h"
#include "neap/check/bound_model.h"
#include "neap/check/kernel_simulation.h"
#include "neap/ops/op_table.h"

namespace neap::check {
namespace {

using graph::Op;
using graph::OpId;
using graph::Subgraph;
using graph::SubgraphId;
using graph::TensorId;
using ops::Is;
using ops::OpKind;

class Prover {
 public:
  // Of the entry subgraph, or of a body of it.
  Prover(const EntryContext& context, SubgraphId subgraph)
      : c_(context),
        subgraph_(context.graph.subgraphs[subgraph]),
        replay_(context.replayer.ReplayOf(subgraph)),
        holders_(subgraph_.tensors.size()) {
    for (const OpId id : subgraph_.ops.Ids()) {
      const Op& op = subgraph_.ops[id];
      if (Is(op, OpKind::kSlice)) {
        // Input and piece may be one, and others over dead rows of the input.
        for (const TensorId id_of : {op.inputs.empty() ? TensorId() : op.inputs[0],
                                     op.outputs.empty() ? TensorId() : op.outputs[0]}) {
          if (id_of.valid()) holders_[id_of].insert(id);
        }
        continue;
      }
      for (std::size_t i = 0; i < op.inputs.size(); ++i) {
        if (!op.folded && BytesOf(op.inputs[i]) > 0 && MayHold(op, i)) {
          holders_[op.inputs[i]].insert(id);
        }
      }
      // A piece of something else: not to be counted anywhere.
      for (std::size_t i = 0; i < op.outputs.size(); ++i) {
        if (!op.folded && MayBePiece(subgraph_, op, i, c_.kernels)) {
          holders_[op.outputs[i]].insert(OpId());
        }
      }
    }
  }

  bool Run(std::int64_t bytes) const {
    if (HasOnlyOrder() && bytes <= c_.entry.arena_given_order_lower_bound_bytes) return true;
    if (bytes <= c_.entry.peak_lower_bound_bytes && !AnyMayOverlap()) return true;
    const auto one = [&](const Op& op, std::int64_t least) { return SavesAtMost(op, least); };
    const auto sum = [&](const Op& op, std::int64_t least) { return SavesAtMostInAll(op, least); };
    // Adding up takes whole walks of kernels, and is seldom needed.
    return SomeOperatorNeeds(bytes, one) || SomeOperatorNeeds(bytes, sum);
  }

 private:
  // saves_at_most(op, b): the tensors that `op` touches share at most b bytes.
  template <typename F>
  bool SomeOperatorNeeds(std::int64_t bytes, const F& saves_at_most) const {
    for (const OpId id : subgraph_.ops.Ids()) {
      const Op& op = subgraph_.ops[id];
      if (op.folded || Is(op, OpKind::kSlice)) continue;
      std::set<TensorId> touched = Touched(op);
      // A tensor that another operator contains in its output may be part of another tensor here.
      std::erase_if(touched, [&](TensorId tensor) {
        if (!tensor.valid()) return true;
        const std::set<OpId>& holders = holders_[tensor];
        return holders.size() > holders.count(id);
      });
      const std::int64_t alone = AlignUp(op.scratch_bytes, c_.profile.alignment) + Sum(touched);
      if (alone >= bytes && saves_at_most(op, alone - bytes)) return true;
    }
    return false;
  }

  static bool Has(const std::vector<TensorId>& list, TensorId id) {
    return std::find(list.begin(), list.end(), id) != list.end();
  }

  std::int64_t BytesOf(TensorId id) const {
    const Lifetime* lifetime = id.valid() ? replay_.Find(id) : nullptr;
    return lifetime == nullptr ? 0 : AlignUp(lifetime->bytes, c_.profile.alignment);
  }
  std::int64_t Sum(const std::set<TensorId>& tensors) const {
    std::int64_t sum = 0;
    for (const TensorId id : tensors) sum += BytesOf(id);
    return sum;
  }
  static std::set<TensorId> Touched(const Op& op) {
    std::set<TensorId> tensors(op.inputs.begin(), op.inputs.end());
    tensors.insert(op.captures.begin(), op.captures.end());
    tensors.insert(op.outputs.begin(), op.outputs.end());
    return tensors;
  }

  // The output of `op` shares at most `bytes` bytes with its inputs, for any addresses.
  bool SavesAtMost(const Op& op, std::int64_t bytes) const {
    for (std::size_t i = 1; i < op.inputs.size(); ++i) {
      // Any output may overlap such an input.
      if (HandsOver(op, i, c_.kernels)) {
        return std::min(Sum({op.inputs.begin(), op.inputs.end()}),
                        Sum({op.outputs.begin(), op.outputs.end()})) <= bytes;
      }
    }
    const std::int64_t output = op.outputs.empty() ? 0 : BytesOf(op.outputs.front());
    const std::int64_t inputs = Sum({op.inputs.begin(), op.inputs.end()});
    if (std::min(inputs, output) <= bytes) return true;
    if (c_.profile.in_place && MayOverwrite(subgraph_, op, replay_)) return false;
    // Sharing more bytes means a smaller distance, and a kernel that is correct at one distance is
    // correct at every larger one; distances are multiples of the alignment.
    const std::int64_t most = output - bytes - 1;
    const std::int64_t distance = most - most % c_.profile.alignment;
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      if (BytesOf(op.inputs[i]) == 0) continue;
      if (MayHold(op, i)) return false;
      if (MayDieAt(op, op.inputs[i]) && ReadsSurvive(subgraph_, op, i, c_.kernels, distance)) {
        return false;
      }
    }
    return true;
  }
  // The same, by the sum of the bytes that the output may share with each input.
  bool SavesAtMostInAll(const Op& op, std::int64_t bytes) const {
    const std::int64_t output = op.outputs.empty() ? 0 : BytesOf(op.outputs.front());
    std::map<TensorId, std::int64_t> common;
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      if (HandsOver(op, i, c_.kernels)) return false;
      const std::int64_t all = BytesOf(op.inputs[i]);
      if (all == 0) continue;
      std::int64_t& most = common[op.inputs[i]];
      const bool overwritten =
          i == 0 && c_.profile.in_place && MayOverwrite(subgraph_, op, replay_);
      if (overwritten || MayHold(op, i)) {
        most = all;
      } else if (MayDieAt(op, op.inputs[i])) {
        const auto least = LeastDistance(subgraph_, op, i, c_.kernels, output);
        const std::int64_t below = least ? AlignUp(*least, c_.profile.alignment) : output;
        most = std::max(most, std::min(all, output - below));
      }
    }
    std::int64_t sum = 0;
    for (const auto& [tensor, most] : common) sum += most;
    return std::min(sum, output) <= bytes;
  }
  // In the entry subgraph or in any that it calls.
  bool AnyMayOverlap() const {
    return std::any_of(c_.replay.calls.begin(), c_.replay.calls.end(), [&](const auto& call) {
      const Prover called(c_, call.first);
      return std::any_of(called.subgraph_.ops.begin(), called.subgraph_.ops.end(),
                         [&](const Op& op) { return !op.folded && called.MayOverlapAt(op); });
    });
  }
  // At the largest distance that would still save something.
  bool MayOverlapAt(const Op& op) const {
    if (op.outputs.empty()) return false;
    if (Is(op, OpKind::kSlice)) return true;
    const std::int64_t distance = BytesOf(op.outputs.front()) - c_.profile.alignment;
    for (std::size_t i = 0; i < op.outputs.size(); ++i) {
      if (MayBePiece(subgraph_, op, i, c_.kernels)) return true;
    }
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      if (HandsOver(op, i, c_.kernels)) return true;
      if (BytesOf(op.inputs[i]) == 0 || distance < 0) continue;
      if (MayHold(op, i)) return true;
      if (MayDieAt(op, op.inputs[i]) && ReadsSurvive(subgraph_, op, i, c_.kernels, distance)) {
        return true;
      }
    }
    return false;
  }
  bool MayDieAt(const Op& op, TensorId input) const {
    return !Has(subgraph_.outputs, input) && !Has(op.captures, input);
  }
  bool MayHold(const Op& op, std::size_t input) const {
    if (Is(op, OpKind::kSlice)) return input == 0;
    std::int64_t at = 0;
    for (std::size_t i = 0; i < input; ++i) {
      if (!op.inputs[i].valid()) return false;
      at += graph::TensorBytes(subgraph_.tensors[op.inputs[i]]).value_or(0);
    }
    return HoldsInput(subgraph_, op, input, c_.kernels, at);
  }

  // Every operator waits for the one before it.
  bool HasOnlyOrder() const {
    const BoundModel model(subgraph_, c_.profile);
    OpId previous;
    for (const plan::Step& step : c_.entry.steps) {
      if (step.moved.valid() || step.subgraph != c_.entry.subgraph) continue;
      if (!step.op.valid()) continue;  // the slot of an entry without operators
      if (previous.valid() && !model.IsDirect(previous.value(), step.op.value())) return false;
      previous = step.op;
    }
    return true;
  }

  const EntryContext& c_;
  const Subgraph& subgraph_;
  const SubgraphReplay& replay_;
  IdVector<TensorId, std::set<OpId>> holders_;
};

}  // namespace

bool ProvesArenaBound(const EntryContext& context, std::int64_t bytes) {
  return Prover(context, context.entry.subgraph).Run(bytes);
}

}  // namespace neap::check
