// SPDX-License-Identifier: Apache-2.0
#include "neap/transform/cascade/needs_memo.h"

#include <utility>

#include "neap/ops/op_table.h"
#include "neap/ops/recurrence.h"
#include "neap/transform/cascade/constants.h"
#include "neap/transform/cascade/cut_axes.h"
#include "neap/transform/cascade/tile_rules.h"

namespace neap::cascade {

using graph::Op;
using graph::OpId;
using ops::Box;
using ops::Interval;

std::size_t NeedsMemo::Hash::operator()(const Box& box) const {
  constexpr std::uint64_t kFactor = 0x9E3779B97F4A7C15;
  std::uint64_t hash = 0;
  for (const ops::Interval& along : box) {
    hash = (hash ^ static_cast<std::uint64_t>(along.begin)) * kFactor;
    hash = (hash ^ static_cast<std::uint64_t>(along.end)) * kFactor;
  }
  return static_cast<std::size_t>(hash ^ (hash >> 32));
}

const NeedsMemo::Needs& NeedsMemo::Of(OpId id, const Box& part, std::size_t output) {
  const Op& op = subgraph_.ops[id];
  const auto [at, first] = known_[op.outputs[output]].try_emplace(part);
  if (first) {
    at->second = Compute(op, part, output);
    ++size_;
  }
  return at->second;
}

void NeedsMemo::Trim() {
  if (size_ <= kMost) return;
  for (auto& of_tensor : known_) of_tensor.clear();
  size_ = 0;
}

NeedsMemo::Needs NeedsMemo::Compute(const Op& op, const Box& part, std::size_t output) const {
  Needs needs;
  const auto refuse = [](const char* why) {
    Needs refused;
    refused.refusal = why;
    return refused;
  };
  // Columns are computed one like the other, by the part of the second operand that has them.
  Box all_columns = part;
  for (std::size_t d = 0; d < part.size(); ++d) {
    const Interval all = {0, (*subgraph_.tensors[op.outputs[output]].shape)[d]};
    if (part[d] == all || !ColumnsOf(subgraph_, op, d)) continue;
    all_columns[d] = all;
    needs.columns = true;
  }
  if (needs.columns && !CutsColumns(subgraph_, op, runtime_)) {
    return refuse("its sums depend on the number of columns");
  }
  if (!ops::ComputesPart(subgraph_, op, all_columns)) {
    return refuse("its arithmetic depends on all of its input");
  }
  needs.inputs.resize(op.inputs.size());
  const bool splits = ops::Has(op, ops::trait::kSplits);
  const bool in_steps = RunsInSteps(subgraph_, op);
  for (std::size_t d = 1; in_steps && d < part.size(); ++d) {
    const Box whole = ops::WholeBox(*subgraph_.tensors[op.outputs[output]].shape);
    if (part[d] != whole[d]) return refuse("runs in steps of time alone");
  }
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    if (!op.inputs[i].valid()) continue;
    if (in_steps && i > 0) continue;  // constants
    auto need = in_steps ? ops::NeedOfSteps(subgraph_, op, i, part, output)
                         : ops::NeedOf(subgraph_, op, i, part, output);
    if (!need) return refuse("the input of a part of its output is not known");
    if (ops::IsEmpty(need->box)) return refuse("a part of its output needs nothing");
    const graph::Tensor& tensor = subgraph_.tensors[op.inputs[i]];
    if (!tensor.constant) {
      if (splits && i == DataInputOf(op)) Widen(op, output, &need->box);
      if (i == 0) WidenToBorders(subgraph_, op, part, &*need);
      needs.inputs[i] = std::move(need);
    } else if (need->box != ops::WholeBox(*tensor.shape)) {
      if (!MayCut(subgraph_, op, op.inputs[i]))
        return refuse("one of its constants would have to be cut");
      needs.constants[i] = need->box;
    }
  }
  return needs;
}

// Its producers compute all of an axis of which no tile is a part.
void NeedsMemo::Widen(const Op& op, std::size_t output, Box* source) const {
  const Box whole = ops::WholeBox(*subgraph_.tensors[op.inputs[DataInputOf(op)]].shape);
  const auto all =
      SourceOf(subgraph_, op, output, ops::WholeBox(*subgraph_.tensors[op.outputs[output]].shape));
  for (std::size_t d = 0; all && d < whole.size(); ++d) {
    if ((*source)[d] == (*all)[d]) (*source)[d] = whole[d];
  }
}

}  // namespace neap::cascade
