// SPDX-License-Identifier: Apache-2.0
#include "neap/transform/cascade/needs_memo.h"

#include <utility>

#include "neap/transform/cascade/constants.h"

namespace neap::cascade {

using graph::Op;
using graph::OpId;
using ops::Box;

std::size_t NeedsMemo::Hash::operator()(const Box& box) const {
  constexpr std::uint64_t kFactor = 0x9E3779B97F4A7C15;
  std::uint64_t hash = 0;
  for (const ops::Interval& along : box) {
    hash = (hash ^ static_cast<std::uint64_t>(along.begin)) * kFactor;
    hash = (hash ^ static_cast<std::uint64_t>(along.end)) * kFactor;
  }
  return static_cast<std::size_t>(hash ^ (hash >> 32));
}

const NeedsMemo::Needs& NeedsMemo::Of(OpId id, const Box& part) {
  const auto [at, first] = known_[id].try_emplace(part);
  if (first) {
    at->second = Compute(subgraph_.ops[id], part);
    ++size_;
  }
  return at->second;
}

void NeedsMemo::Trim() {
  if (size_ <= kMost) return;
  for (auto& of_operator : known_) of_operator.clear();
  size_ = 0;
}

NeedsMemo::Needs NeedsMemo::Compute(const Op& op, const Box& part) const {
  Needs needs;
  const auto refuse = [](const char* why) { return Needs{why, {}}; };
  if (!ops::ComputesPart(subgraph_, op, part)) {
    return refuse("its arithmetic depends on all of its input");
  }
  needs.inputs.resize(op.inputs.size());
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    if (!op.inputs[i].valid()) continue;
    auto need = ops::NeedOf(subgraph_, op, i, part);
    if (!need) return refuse("the input of a part of its output is not known");
    if (ops::IsEmpty(need->box)) return refuse("a part of its output needs nothing");
    const graph::Tensor& tensor = subgraph_.tensors[op.inputs[i]];
    if (!tensor.constant) {
      needs.inputs[i] = std::move(need);
    } else if (need->box != ops::WholeBox(*tensor.shape) && !MayCut(op, tensor)) {
      return refuse("one of its constants would have to be cut");
    }
  }
  return needs;
}

}  // namespace neap::cascade
