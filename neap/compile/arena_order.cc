// SPDX-License-Identifier: Apache-2.0
#include "neap/compile/arena_order.h"

#include <algorithm>
#include <set>
#include <utility>

#include "neap/base/check.h"
#include "neap/base/index.h"
#include "neap/solve/schedule/schedule.h"

namespace neap::compile {
namespace {

using graph::Op;
using graph::OpId;
using graph::Subgraph;
using graph::TensorId;
using schedule::BufferIndex;
using schedule::OpIndex;

class ArenaLowerer {
 public:
  ArenaLowerer(const Subgraph& subgraph, const TensorSizes& sizes,
               const IdVector<OpId, std::int64_t>& scratch_bytes, const plan::Profile& profile,
               const OverlapOptions& options)
      : subgraph_(subgraph), options_(options) {
    plan::Profile apart = profile;
    apart.in_place = false;
    plain_ = LowerOrder(subgraph, sizes, scratch_bytes, apart);
    for (const OpId id : plain_.ops) {
      savings_.push_back(SavingsOf(subgraph, subgraph.ops[id], sizes, profile, options));
    }
    buffer_of_ = IdVector<TensorId, BufferIndex>(subgraph.tensors.size(), -1);
    for (std::size_t b = 0; b < plain_.tensors.size(); ++b) {
      buffer_of_[plain_.tensors[b]] = static_cast<BufferIndex>(b);
    }
    before_.resize(plain_.ops.size());
    for (const auto& [before, after] : plain_.problem.precedences) {
      before_[At(after)].push_back(before);
    }
  }

  Lowered Run() {
    EndHeldInputs();
    BeginViews(options_);
    FindParts();
    Lowered lowered;
    lowered.ops = plain_.ops;
    lowered.problem.num_ops = plain_.problem.num_ops;
    lowered.problem.precedences = plain_.problem.precedences;
    lowered.problem.scratch_bytes = plain_.problem.scratch_bytes;
    for (std::size_t b = 0; b < parts_.size(); ++b) {
      first_part_.push_back(static_cast<BufferIndex>(lowered.problem.buffers.size()));
      std::int64_t begin = 0;
      for (const std::int64_t end : parts_[b]) {
        schedule::Buffer part = plain_.problem.buffers[b];
        part.bytes = end - begin;
        lowered.problem.buffers.push_back(std::move(part));
        begin = end;
      }
    }
    for (std::size_t op = 0; op < savings_.size(); ++op) {
      schedule::TakeOver taken = TakeOverOf(op);
      if (!taken.inputs.empty() && !taken.outputs.empty()) {
        lowered.problem.take_over.push_back(std::move(taken));
      }
    }
    return lowered;
  }

 private:
  schedule::Buffer& BufferOf(TensorId tensor) {
    return plain_.problem.buffers[At(buffer_of_[tensor])];
  }
  TensorId InputOf(std::size_t op, const Saving& saving) const {
    return subgraph_.ops[plain_.ops[op]].inputs[saving.input];
  }
  TensorId OutputOf(std::size_t op) const { return subgraph_.ops[plain_.ops[op]].outputs.front(); }
  bool Uses(TensorId tensor, std::size_t op) {
    const auto& users = BufferOf(tensor).users;
    return std::binary_search(users.begin(), users.end(), static_cast<OpIndex>(op));
  }

  // From the operator that contains it on, an input is part of the output and costs nothing.
  // Before, it is used by the operators that come before that one in every order; others are
  // uncertain.
  void EndHeldInputs() {
    for (std::size_t op = 0; op < savings_.size(); ++op) {
      for (const Saving& saving : savings_[op].inputs) {
        if (!saving.held || buffer_of_[InputOf(op, saving)] < 0) continue;
        schedule::Buffer& buffer = BufferOf(InputOf(op, saving));
        buffer.live_at_end = false;
        if (buffer.users == std::vector<OpIndex>{static_cast<OpIndex>(op)}) continue;
        const std::set<OpIndex> earlier = AncestorsOf(static_cast<OpIndex>(op));
        std::erase_if(buffer.users, [&](OpIndex user) {
          return user != static_cast<OpIndex>(op) && earlier.count(user) == 0;
        });
      }
    }
  }

  std::set<OpIndex> AncestorsOf(OpIndex op) const {
    std::set<OpIndex> found;
    std::vector<OpIndex> stack = {op};
    while (!stack.empty()) {
      const OpIndex at = stack.back();
      stack.pop_back();
      for (const OpIndex before : before_[At(at)]) {
        if (found.insert(before).second) stack.push_back(before);
      }
    }
    return found;
  }

  // Ends of the parts of every buffer: wherever somebody takes over a beginning of it.
  void FindParts() {
    std::vector<std::set<std::int64_t>> ends(plain_.problem.buffers.size());
    for (std::size_t b = 0; b < ends.size(); ++b) {
      ends[b].insert(plain_.problem.buffers[b].bytes);
    }
    const auto cut = [&](TensorId tensor, std::int64_t bytes) {
      const BufferIndex b = buffer_of_[tensor];
      if (b >= 0 && bytes > 0) ends[At(b)].insert(bytes);
    };
    for (std::size_t op = 0; op < savings_.size(); ++op) {
      if (savings_[op].inputs.empty()) continue;
      cut(OutputOf(op), savings_[op].max_bytes);
      for (const Saving& saving : savings_[op].inputs) cut(InputOf(op, saving), saving.bytes);
    }
    for (const auto& list : ends) parts_.emplace_back(list.begin(), list.end());
  }

  // The parts of a tensor up to `bytes`.
  void AddParts(TensorId tensor, std::int64_t bytes, std::vector<BufferIndex>* list) const {
    const auto& ends = parts_[At(buffer_of_[tensor])];
    for (std::size_t part = 0; part < ends.size() && ends[part] <= bytes; ++part) {
      list->push_back(first_part_[At(buffer_of_[tensor])] + static_cast<BufferIndex>(part));
    }
  }

  schedule::TakeOver TakeOverOf(std::size_t op) {
    schedule::TakeOver taken;
    taken.op = static_cast<OpIndex>(op);
    if (savings_[op].inputs.empty() || buffer_of_[OutputOf(op)] < 0) return taken;
    if (!Uses(OutputOf(op), op)) return taken;
    AddParts(OutputOf(op), savings_[op].max_bytes, &taken.outputs);
    for (const Saving& saving : savings_[op].inputs) {
      const TensorId input = InputOf(op, saving);
      if (buffer_of_[input] < 0 || !Uses(input, op)) continue;
      AddParts(input, saving.bytes, &taken.inputs);
    }
    std::sort(taken.inputs.begin(), taken.inputs.end());
    return taken;
  }

  // A piece of an input counts from those on who come after all that use the whole; before, it may
  // be part of it.
  void BeginViews(const OverlapOptions& options) {
    for (std::size_t at = 0; at < plain_.ops.size(); ++at) {
      const Op& op = subgraph_.ops[plain_.ops[at]];
      for (std::size_t i = 0; i < op.outputs.size(); ++i) {
        const auto view = ViewOf(subgraph_, op, i, options);
        if (!view || buffer_of_[op.outputs[i]] < 0) continue;
        schedule::Buffer& piece = BufferOf(op.outputs[i]);
        const TensorId whole = op.inputs[view->input];
        std::vector<OpIndex> users;
        if (buffer_of_[whole] >= 0 && !WholeIsKept(whole)) users = BufferOf(whole).users;
        std::erase_if(piece.users, [&](OpIndex user) {
          const std::set<OpIndex> earlier = AncestorsOf(user);
          return users.empty() || !std::all_of(users.begin(), users.end(), [&](OpIndex other) {
                   return earlier.count(other) != 0;
                 });
        });
        if (piece.users.empty()) piece.live_at_end = false;
      }
    }
  }
  bool WholeIsKept(TensorId whole) const {
    const auto& outputs = subgraph_.outputs;
    return std::find(outputs.begin(), outputs.end(), whole) != outputs.end();
  }

  const Subgraph& subgraph_;
  const OverlapOptions& options_;
  Lowered plain_;
  std::vector<OpSavings> savings_;                // per operator of the problem
  IdVector<TensorId, BufferIndex> buffer_of_;     // in plain_
  std::vector<std::vector<OpIndex>> before_;      // direct predecessors
  std::vector<std::vector<std::int64_t>> parts_;  // per buffer of plain_: ends of its parts
  std::vector<BufferIndex> first_part_;           // per buffer of plain_
};

}  // namespace

Lowered LowerArena(const Subgraph& subgraph, const TensorSizes& sizes,
                   const IdVector<OpId, std::int64_t>& scratch_bytes, const plan::Profile& profile,
                   const OverlapOptions& options) {
  return ArenaLowerer(subgraph, sizes, scratch_bytes, profile, options).Run();
}

ArenaOrder SearchArenaOrder(const Subgraph& subgraph, const TensorSizes& sizes,
                            const IdVector<OpId, std::int64_t>& scratch_bytes,
                            const plan::Profile& profile, const OverlapOptions& options,
                            const Limits& limits) {
  const Lowered lowered = LowerArena(subgraph, sizes, scratch_bytes, profile, options);
  const auto wrong = schedule::Validate(lowered.problem);
  NEAP_CHECK(!wrong, "the ordering problem with overlaps is wrong: " + wrong.value_or(""));
  const schedule::Outcome outcome = schedule::Solve(lowered.problem, limits);
  ArenaOrder found;
  found.lower_bound_bytes = outcome.lower_bound_bytes;
  for (const OpIndex op : outcome.order) found.order.push_back(lowered.ops[At(op)]);
  found.certificate.kind = plan::CertificateKind::kSearch;
  if (outcome.bound_op >= 0) found.certificate.op = lowered.ops[At(outcome.bound_op)];
  found.certificate.states = outcome.states;
  found.certificate.reversed = outcome.reversed;
  return found;
}

}  // namespace neap::compile
