// SPDX-License-Identifier: Apache-2.0
#include "neap/compile/overlap.h"

#include <algorithm>
#include <optional>

#include "neap/base/bytes.h"
#include "neap/ops/traits.h"

namespace neap::compile {
namespace {

using graph::Op;
using graph::OpId;
using graph::Subgraph;
using graph::TensorId;

bool Contains(const std::vector<TensorId>& list, TensorId id) {
  return std::find(list.begin(), list.end(), id) != list.end();
}

// What the kernel allows for output 0 and this input, whatever the order.
std::optional<ops::OverlapRule> RuleOf(const Subgraph& subgraph, const Op& op, std::size_t input,
                                       const OverlapOptions& options) {
  const TensorId id = op.inputs[input];
  if (!id.valid() || !IsPlanned(subgraph.tensors[id]) || op.outputs.empty()) return std::nullopt;
  const TensorId output = op.outputs.front();
  if (!output.valid() || output == id || !IsPlanned(subgraph.tensors[output])) return std::nullopt;
  const auto rule = ops::OverlapRuleOf(subgraph, op, input, options.kernels);
  if (!rule || rule->kind == ops::OverlapRule::Kind::kHoldsInput) return rule;
  // The value is lost: nobody may want it afterwards.
  if (Contains(subgraph.outputs, id) || Contains(op.captures, id)) return std::nullopt;
  if (options.keep_inputs && Contains(subgraph.inputs, id)) return std::nullopt;
  return rule;
}

// Each input once.
bool IsRepeated(const Op& op, std::size_t input) {
  return std::find(op.inputs.begin(), op.inputs.begin() + static_cast<std::ptrdiff_t>(input),
                   op.inputs[input]) != op.inputs.begin() + static_cast<std::ptrdiff_t>(input);
}

// Bytes that the output may have in common with inputs, at most.
std::int64_t MostSaved(const Subgraph& subgraph, const Op& op, const TensorSizes& sizes,
                       const plan::Profile& profile, const OverlapOptions& options) {
  // In place, the whole output.
  const bool in_place = profile.in_place && (ops::IsElementwise(op) || ops::IsReshapeLike(op));
  if (in_place && !op.inputs.empty() && !op.outputs.empty() && op.inputs[0].valid() &&
      op.outputs[0].valid() && IsPlanned(subgraph.tensors[op.inputs[0]])) {
    return sizes.counted[op.outputs[0]];
  }
  std::int64_t saved = 0;
  std::int64_t most = 0;  // of the output that inputs can cover
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    if (IsRepeated(op, i)) continue;
    const auto rule = RuleOf(subgraph, op, i, options);
    if (!rule) continue;
    std::int64_t covered = sizes.counted[op.outputs.front()];
    if (rule->kind == ops::OverlapRule::Kind::kStartsBelow) {
      covered = std::max<std::int64_t>(covered - AlignUp(rule->bytes, profile.alignment), 0);
    }
    most = std::max(most, covered);
    saved += std::min(sizes.counted[op.inputs[i]], covered);
  }
  return std::min(saved, most);
}

}  // namespace

std::vector<plan::Overlap> AllowedOverlaps(const graph::Graph& graph, graph::SubgraphId entry,
                                           const Timeline& timeline,
                                           const OverlapOptions& options) {
  std::vector<plan::Overlap> allowed;
  if (options.kernels == ops::KernelLibrary::kNone) return allowed;
  const Subgraph& subgraph = graph.subgraphs[entry];
  IdVector<TensorId, std::int32_t> last(subgraph.tensors.size(), -1);
  for (const LiveTensor& live : timeline.tensors) {
    if (live.subgraph == entry) last[live.tensor] = live.last;
  }
  for (std::size_t slot = 0; slot < timeline.steps.size(); ++slot) {
    const plan::Step& step = timeline.steps[slot];
    if (step.subgraph != entry || !step.op.valid()) continue;
    const Op& op = subgraph.ops[step.op];
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      if (IsRepeated(op, i)) continue;
      const auto rule = RuleOf(subgraph, op, i, options);
      if (!rule) continue;
      plan::Overlap overlap;
      overlap.slot = static_cast<std::int32_t>(slot);
      overlap.subgraph = entry;
      overlap.input = op.inputs[i];
      overlap.output = op.outputs.front();
      overlap.bytes = rule->bytes;
      overlap.kind = plan::OverlapKind::kHoldsInput;
      if (rule->kind == ops::OverlapRule::Kind::kStartsBelow) {
        overlap.kind = plan::OverlapKind::kStartsBelow;
        // Operators with bodies have no rule: each takes one slot.
        if (last[overlap.input] != overlap.slot + 1) continue;
      }
      allowed.push_back(overlap);
    }
  }
  return allowed;
}

bool MayOverlap(const Subgraph& subgraph, const OverlapOptions& options) {
  for (const Op& op : subgraph.ops) {
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      if (!op.folded && RuleOf(subgraph, op, i, options)) return true;
    }
  }
  return false;
}

std::int64_t SingleOperatorArenaBound(const Subgraph& subgraph, const TensorSizes& sizes,
                                      const plan::Profile& profile, const OverlapOptions& options) {
  std::int64_t bound = 0;
  for (const Op& op : subgraph.ops) {
    if (op.folded) continue;
    std::vector<TensorId> tensors = op.inputs;
    tensors.insert(tensors.end(), op.captures.begin(), op.captures.end());
    tensors.insert(tensors.end(), op.outputs.begin(), op.outputs.end());
    std::sort(tensors.begin(), tensors.end());
    tensors.erase(std::unique(tensors.begin(), tensors.end()), tensors.end());
    std::int64_t bytes = AlignUp(op.scratch_bytes, profile.alignment);
    for (const TensorId id : tensors) {
      if (id.valid() && IsPlanned(subgraph.tensors[id])) bytes += sizes.counted[id];
    }
    bound = std::max(bound, bytes - MostSaved(subgraph, op, sizes, profile, options));
  }
  return bound;
}

}  // namespace neap::compile
