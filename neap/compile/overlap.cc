// SPDX-License-Identifier: Apache-2.0
#include "neap/compile/overlap.h"

#include <algorithm>
#include <optional>

#include "neap/base/bytes.h"
#include "neap/ops/op_table.h"
#include "neap/ops/resize.h"
#include "neap/ops/traits.h"

namespace neap::compile {
namespace {

using graph::Op;
using graph::OpId;
using graph::Subgraph;
using graph::TensorId;
using ops::Is;
using ops::OpKind;

// The kernel's rule for output 0 and this input, for every order.
std::optional<ops::OverlapRule> RuleOf(const Subgraph& subgraph, const Op& op, std::size_t input,
                                       const OverlapOptions& options) {
  const TensorId id = op.inputs[input];
  if (!id.valid() || !IsPlanned(subgraph.tensors[id]) || op.outputs.empty()) return std::nullopt;
  const TensorId output = op.outputs.front();
  if (!output.valid() || output == id || !IsPlanned(subgraph.tensors[output])) return std::nullopt;
  const auto rule = ops::OverlapRuleOf(subgraph, op, input, options.kernels);
  if (!rule || rule->kind == ops::OverlapRule::Kind::kHoldsInput) return rule;
  // The value is lost: it must have no later consumer.
  if (Contains(subgraph.outputs, id) || Contains(op.captures, id)) return std::nullopt;
  if (options.keep_inputs && Contains(subgraph.inputs, id)) return std::nullopt;
  return rule;
}

// The same for bounds, which must cover everything that the kernel may allow, not only the certain
// part.
std::optional<ops::OverlapRule> OptimisticRuleOf(const Subgraph& subgraph, const Op& op,
                                                 std::size_t input, const OverlapOptions& options) {
  auto rule = RuleOf(subgraph, op, input, options);
  if (rule && input == 0 && ops::ResizeOf(subgraph, op)) {
    rule->bytes = ops::LeastResizeDistance(subgraph, op);
  }
  return rule;
}

// Each input once.
bool IsRepeated(const Op& op, std::size_t input) {
  return std::find(op.inputs.begin(), op.inputs.begin() + static_cast<std::ptrdiff_t>(input),
                   op.inputs[input]) != op.inputs.begin() + static_cast<std::ptrdiff_t>(input);
}

// The input that output 0 may overwrite under the profile.
bool IsInPlace(const Subgraph& subgraph, const Op& op, const TensorSizes& sizes,
               const plan::Profile& profile) {
  if (!profile.in_place || !ops::WritesOverFirstInput(subgraph, op)) return false;
  if (op.inputs.empty() || op.outputs.empty() || !op.bodies.empty()) return false;
  const TensorId input = op.inputs.front();
  const TensorId output = op.outputs.front();
  return input.valid() && output.valid() && IsPlanned(subgraph.tensors[input]) &&
         IsPlanned(subgraph.tensors[output]) && !Contains(subgraph.outputs, input) &&
         sizes.exact[input] == sizes.exact[output];
}

// Tensors that only slices read from some step on may be overwritten by tensors that begin then,
// below the first byte that these slices read.
void AddDeadParts(const graph::Graph& graph, graph::SubgraphId entry, const Timeline& timeline,
                  bool keep_inputs, std::vector<plan::Overlap>* allowed) {
  const Subgraph& subgraph = graph.subgraphs[entry];
  struct Read {
    std::int32_t slot;
    std::int64_t first_byte;
  };
  IdVector<TensorId, std::vector<Read>> reads(subgraph.tensors.size());
  IdVector<TensorId, bool> sliced(subgraph.tensors.size(), false);
  for (std::size_t slot = 0; slot < timeline.steps.size(); ++slot) {
    const plan::Step& step = timeline.steps[slot];
    if (step.subgraph != entry || !step.op.valid()) continue;
    const Op& op = subgraph.ops[step.op];
    for (const auto* list : {&op.inputs, &op.captures}) {
      for (std::size_t i = 0; i < list->size(); ++i) {
        const TensorId id = (*list)[i];
        if (!id.valid() || !IsPlanned(subgraph.tensors[id])) continue;
        const std::int64_t first =
            list == &op.inputs ? ops::FirstByteRead(subgraph, op, i) : std::int64_t{0};
        reads[id].push_back({static_cast<std::int32_t>(slot), first});
        sliced[id] = sliced[id] || first > 0;
      }
    }
  }
  const auto exactly = [&](TensorId input, TensorId output) {
    return std::any_of(allowed->begin(), allowed->end(), [&](const plan::Overlap& other) {
      return other.subgraph == entry && other.input == input && other.output == output;
    });
  };
  for (const LiveTensor& live : timeline.tensors) {
    if (live.subgraph != entry || !sliced[live.tensor]) continue;
    if (Contains(subgraph.outputs, live.tensor)) continue;
    if (keep_inputs && Contains(subgraph.inputs, live.tensor)) continue;
    for (const LiveTensor& other : timeline.tensors) {
      if (other.subgraph != entry || other.first <= live.first || other.first >= live.last)
        continue;
      std::int64_t dead = 0;
      bool read = false;
      for (const Read& one : reads[live.tensor]) {
        if (one.slot < other.first) continue;
        dead = read ? std::min(dead, one.first_byte) : one.first_byte;
        read = true;
      }
      if (dead <= 0 || exactly(live.tensor, other.tensor)) continue;
      allowed->push_back(
          {other.first, entry, live.tensor, other.tensor, plan::OverlapKind::kDeadPart, dead});
    }
  }
}

void AddViews(const Subgraph& subgraph, const Op& op, std::int32_t slot, graph::SubgraphId entry,
              const OverlapOptions& options, std::vector<plan::Overlap>* allowed) {
  for (std::size_t i = 0; i < op.outputs.size(); ++i) {
    const auto view = ViewOf(subgraph, op, i, options);
    if (!view) continue;
    plan::Overlap overlap;
    overlap.slot = slot;
    overlap.subgraph = entry;
    overlap.input = op.inputs[view->input];
    overlap.output = op.outputs[i];
    overlap.bytes = view->bytes;
    overlap.kind = plan::OverlapKind::kHoldsOutput;
    allowed->push_back(overlap);
  }
}

// When the tensors of all subgraphs live, call by call.
class Lives {
 public:
  Lives(const graph::Graph& graph, const Timeline& timeline) {
    for (const Subgraph& subgraph : graph.subgraphs) {
      lives_.push_back(IdVector<TensorId, std::vector<const LiveTensor*>>(subgraph.tensors.size()));
    }
    for (const LiveTensor& live : timeline.tensors) {
      lives_[live.subgraph][live.tensor].push_back(&live);
    }
  }

  // The end of the life that `slot` is in; -1: there is none.
  std::int32_t EndAt(graph::SubgraphId subgraph, TensorId tensor, std::int32_t slot) const {
    const auto& calls = lives_[subgraph][tensor];
    const auto at =
        std::upper_bound(calls.begin(), calls.end(), slot,
                         [](std::int32_t s, const LiveTensor* live) { return s < live->last; });
    return at == calls.end() || (*at)->first > slot ? -1 : (*at)->last;
  }

 private:
  IdVector<graph::SubgraphId, IdVector<TensorId, std::vector<const LiveTensor*>>> lives_;
};

// The overlaps that the operator in one slot allows.
class OverlapsOfStep {
 public:
  OverlapsOfStep(const graph::Graph& graph, const Timeline& timeline, const OverlapOptions& options)
      : graph_(graph), timeline_(timeline), options_(options), lives_(graph, timeline) {}

  void Add(std::int32_t slot, std::vector<plan::Overlap>* allowed) const {
    const plan::Step& step = timeline_.steps[static_cast<std::size_t>(slot)];
    const Subgraph& subgraph = graph_.subgraphs[step.subgraph];
    const Op& op = subgraph.ops[step.op];
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      if (!IsRepeated(op, i)) AddRule(slot, op, i, allowed);
    }
    AddViews(subgraph, op, slot, step.subgraph, options_, allowed);
    if (ops::CopiesIntoBody(op, options_.kernels)) AddCopiedIn(slot, op, allowed);
  }

 private:
  void AddRule(std::int32_t slot, const Op& op, std::size_t input,
               std::vector<plan::Overlap>* allowed) const {
    const plan::Step& step = timeline_.steps[static_cast<std::size_t>(slot)];
    const auto rule = RuleOf(graph_.subgraphs[step.subgraph], op, input, options_);
    if (!rule) return;
    plan::Overlap overlap;
    overlap.slot = slot;
    overlap.subgraph = step.subgraph;
    overlap.input = op.inputs[input];
    overlap.output = op.outputs.front();
    overlap.bytes = rule->bytes;
    overlap.kind = plan::OverlapKind::kHoldsInput;
    if (rule->kind == ops::OverlapRule::Kind::kStartsBelow) {
      overlap.kind = plan::OverlapKind::kStartsBelow;
      // Operators with bodies have no rule: each takes one slot.
      if (lives_.EndAt(step.subgraph, overlap.input, slot) != slot + 1) return;
    }
    allowed->push_back(overlap);
  }

  void AddCopiedIn(std::int32_t slot, const Op& op, std::vector<plan::Overlap>* allowed) const {
    const plan::Step& step = timeline_.steps[static_cast<std::size_t>(slot)];
    const Subgraph& subgraph = graph_.subgraphs[step.subgraph];
    for (std::size_t i = 1; i < op.inputs.size(); ++i) {
      const TensorId input = op.inputs[i];
      if (IsRepeated(op, i) || !input.valid() || !IsPlanned(subgraph.tensors[input])) continue;
      if (Contains(subgraph.outputs, input) || Contains(op.captures, input)) continue;
      if (options_.keep_inputs && Contains(subgraph.inputs, input)) continue;
      if (IsReadAfter(slot, input)) continue;
      for (const TensorId output : op.outputs) {
        if (!output.valid() || !IsPlanned(subgraph.tensors[output])) continue;
        allowed->push_back({slot, step.subgraph, input, output, plan::OverlapKind::kCopiedIn, 0});
      }
    }
  }

  bool IsReadAfter(std::int32_t slot, TensorId input) const {
    const graph::SubgraphId id = timeline_.steps[static_cast<std::size_t>(slot)].subgraph;
    const std::int32_t end = lives_.EndAt(id, input, slot);
    for (std::int32_t later = slot + 1; later < end; ++later) {
      const plan::Step& step = timeline_.steps[static_cast<std::size_t>(later)];
      if (step.subgraph != id || !step.op.valid()) continue;
      const Op& op = graph_.subgraphs[id].ops[step.op];
      if (Contains(op.inputs, input) || Contains(op.captures, input)) return true;
    }
    return false;
  }

  const graph::Graph& graph_;
  const Timeline& timeline_;
  const OverlapOptions& options_;
  const Lives lives_;
};

}  // namespace

std::optional<ops::ViewRule> ViewOf(const Subgraph& subgraph, const Op& op, std::size_t output,
                                    const OverlapOptions& options) {
  if (!op.outputs[output].valid() || !IsPlanned(subgraph.tensors[op.outputs[output]])) {
    return std::nullopt;
  }
  const auto view = ops::ViewRuleOf(subgraph, op, output, options.kernels);
  if (!view || !IsPlanned(subgraph.tensors[op.inputs[view->input]])) return std::nullopt;
  return view;
}

std::vector<plan::Overlap> AllowedOverlaps(const graph::Graph& graph, graph::SubgraphId entry,
                                           const Timeline& timeline,
                                           const OverlapOptions& options) {
  std::vector<plan::Overlap> allowed;
  if (options.kernels == ops::KernelLibrary::kNone) return allowed;
  const OverlapsOfStep of_step(graph, timeline, options);
  for (std::size_t slot = 0; slot < timeline.steps.size(); ++slot) {
    if (timeline.steps[slot].op.valid()) of_step.Add(static_cast<std::int32_t>(slot), &allowed);
  }
  AddDeadParts(graph, entry, timeline, options.keep_inputs, &allowed);
  return allowed;
}

void KeepInputs(const Subgraph& subgraph, graph::SubgraphId entry, Timeline* timeline) {
  std::erase_if(timeline->overlaps, [&](const plan::Overlap& overlap) {
    return overlap.subgraph == entry && Contains(subgraph.inputs, overlap.input);
  });
}

OpSavings SavingsOf(const Subgraph& subgraph, const Op& op, const TensorSizes& sizes,
                    const plan::Profile& profile, const OverlapOptions& options) {
  OpSavings savings;
  std::int64_t sum = 0;
  const auto add = [&](std::size_t input, std::int64_t covered, bool held) {
    const std::int64_t bytes = std::min(sizes.counted[op.inputs[input]], covered);
    if (bytes <= 0) return;
    savings.inputs.push_back({input, bytes, held});
    savings.max_bytes = std::max(savings.max_bytes, covered);
    sum += bytes;
  };
  if (ops::CopiesIntoBody(op, options.kernels)) {
    std::int64_t outputs = 0;
    for (const TensorId id : op.outputs) outputs += id.valid() ? sizes.counted[id] : 0;
    for (std::size_t i = 1; i < op.inputs.size(); ++i) {
      const bool counts = op.inputs[i].valid() && IsPlanned(subgraph.tensors[op.inputs[i]]);
      if (counts && !IsRepeated(op, i)) add(i, outputs, false);
    }
    savings.max_bytes = std::min(savings.max_bytes, sum);
    return savings;
  }
  const bool in_place = IsInPlace(subgraph, op, sizes, profile);
  if (in_place) add(0, sizes.counted[op.outputs.front()], false);
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    if (IsRepeated(op, i)) continue;
    const auto rule = OptimisticRuleOf(subgraph, op, i, options);
    if (!rule) continue;
    const std::int64_t output = sizes.counted[op.outputs.front()];
    const bool held = rule->kind == ops::OverlapRule::Kind::kHoldsInput;
    // In place shares as much as any distance could; a contained tensor shares bytes whether it is
    // freed or not.
    if (in_place && i == 0 && !held) continue;
    if (in_place && i == 0) {
      sum = 0;
      savings = {};
    }
    add(i, held ? output : output - AlignUp(rule->bytes, profile.alignment), held);
  }
  savings.max_bytes = std::min(savings.max_bytes, sum);
  return savings;
}

namespace {

bool MayOverlapInside(const Subgraph& subgraph, const OverlapOptions& options) {
  for (const Op& op : subgraph.ops) {
    // The bytes beside a slice have no further consumer.
    if (Is(op, OpKind::kSlice) || ops::CopiesIntoBody(op, options.kernels)) return true;
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      if (!op.folded && RuleOf(subgraph, op, i, options)) return true;
    }
    for (std::size_t i = 0; i < op.outputs.size(); ++i) {
      if (!op.folded && ViewOf(subgraph, op, i, options)) return true;
    }
  }
  return false;
}

}  // namespace

bool MayOverlap(const graph::Graph& graph, graph::SubgraphId id, const OverlapOptions& options) {
  if (options.kernels == ops::KernelLibrary::kNone) return false;
  IdVector<graph::SubgraphId, char> seen(graph.subgraphs.size(), 0);
  std::vector<graph::SubgraphId> open = {id};
  seen[id] = 1;
  while (!open.empty()) {
    const Subgraph& subgraph = graph.subgraphs[open.back()];
    open.pop_back();
    if (MayOverlapInside(subgraph, options)) return true;
    for (const Op& op : subgraph.ops) {
      for (const graph::SubgraphId body : op.bodies) {
        if (seen[body] == 0) open.push_back(body);
        seen[body] = 1;
      }
    }
  }
  return false;
}

std::int64_t SingleOperatorArenaBound(const Subgraph& subgraph, const TensorSizes& sizes,
                                      const plan::Profile& profile, const OverlapOptions& options) {
  // Where an operator contains an input in its output both may be inputs of another one.
  IdVector<TensorId, std::vector<OpId>> holders(subgraph.tensors.size());
  for (const OpId id : subgraph.ops.Ids()) {
    const Op& op = subgraph.ops[id];
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      // A slice is a piece of its input, and other tensors may overlap the input's dead rows beside
      // it.
      if (Is(op, OpKind::kSlice) && i == 0 && options.kernels != ops::KernelLibrary::kNone) {
        if (op.inputs[0].valid()) holders[op.inputs[0]].push_back(id);
        if (!op.outputs.empty() && op.outputs[0].valid()) holders[op.outputs[0]].push_back(id);
        continue;
      }
      const auto rule = op.folded ? std::nullopt : RuleOf(subgraph, op, i, options);
      if (rule && rule->kind == ops::OverlapRule::Kind::kHoldsInput) {
        holders[op.inputs[i]].push_back(id);
      }
    }
    for (std::size_t i = 0; i < op.outputs.size(); ++i) {
      // A piece of something else: not to be counted anywhere.
      if (!op.folded && ViewOf(subgraph, op, i, options)) holders[op.outputs[i]].push_back(OpId());
    }
  }
  std::int64_t bound = 0;
  for (const OpId op_id : subgraph.ops.Ids()) {
    const Op& op = subgraph.ops[op_id];
    if (op.folded) continue;
    if (Is(op, OpKind::kSlice) && options.kernels != ops::KernelLibrary::kNone) continue;
    std::vector<TensorId> tensors = op.inputs;
    tensors.insert(tensors.end(), op.captures.begin(), op.captures.end());
    tensors.insert(tensors.end(), op.outputs.begin(), op.outputs.end());
    std::sort(tensors.begin(), tensors.end());
    tensors.erase(std::unique(tensors.begin(), tensors.end()), tensors.end());
    std::int64_t bytes = AlignUp(op.scratch_bytes, profile.alignment);
    for (const TensorId id : tensors) {
      if (!id.valid() || !IsPlanned(subgraph.tensors[id])) continue;
      const bool held_elsewhere = std::any_of(holders[id].begin(), holders[id].end(),
                                              [&](OpId holder) { return holder != op_id; });
      if (!held_elsewhere) bytes += sizes.counted[id];
    }
    bound = std::max(bound, bytes - SavingsOf(subgraph, op, sizes, profile, options).max_bytes);
  }
  return bound;
}

}  // namespace neap::compile
