// SPDX-License-Identifier: Apache-2.0
#include "neap/execute/dead_bytes.h"

#include <algorithm>
#include <cstring>

#include "neap/ops/op_table.h"

namespace neap::execute {
namespace {

using ops::Is;
using ops::OpKind;

// Of a slice with constant begins, as 32-bit or 64-bit integers.
std::int64_t FirstByteOf(const Program& program, const graph::Op& op) {
  const graph::Subgraph& subgraph = program.subgraph();
  if (!Is(op, OpKind::kSlice) || op.inputs.size() < 2 || !op.inputs[1].valid() ||
      !program.IsConstant(op.inputs[1])) {
    return 0;
  }
  const graph::Tensor& in = subgraph.tensors[op.inputs[0]];
  const auto begins = program.ConstantBytes(op.inputs[1]);
  const bool wide = subgraph.tensors[op.inputs[1]].type == graph::ElementType::kInt64;
  const std::size_t size = wide ? 8 : 4;
  const int bits = graph::BitsOf(in.type);
  if (!in.shape || bits % 8 != 0 || begins.size() != in.shape->size() * size) return 0;
  std::int64_t first = 0;
  for (std::size_t d = 0; d < in.shape->size(); ++d) {
    std::int64_t begin = 0;
    if (wide) {
      std::memcpy(&begin, begins.data() + d * size, size);
    } else {
      std::int32_t narrow = 0;
      std::memcpy(&narrow, begins.data() + d * size, size);
      begin = narrow;
    }
    if (begin < 0 || begin > (*in.shape)[d]) return 0;
    first = first * (*in.shape)[d] + begin;
  }
  return first * (bits / 8);
}

}  // namespace

DeadBytes::DeadBytes(const Program& program, const plan::EntryPlan& entry)
    : reads_(program.subgraph().tensors.size()) {
  const graph::Subgraph& subgraph = program.subgraph();
  const auto slots = static_cast<std::int32_t>(entry.steps.size());
  for (std::int32_t slot = 0; slot < slots; ++slot) {
    const plan::Step& step = entry.steps[static_cast<std::size_t>(slot)];
    if (step.moved.valid() && subgraph.tensors.Has(step.moved)) {
      reads_[step.moved].emplace_back(slot, 0);
    }
    if (!subgraph.ops.Has(step.op)) continue;
    const graph::Op& op = subgraph.ops[step.op];
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      if (!op.inputs[i].valid()) continue;
      reads_[op.inputs[i]].emplace_back(slot, i == 0 ? FirstByteOf(program, op) : 0);
    }
    for (const graph::TensorId id : op.captures) {
      if (id.valid()) reads_[id].emplace_back(slot, 0);
    }
  }
  for (const graph::TensorId id : subgraph.outputs) reads_[id].emplace_back(slots, 0);
}

std::int64_t DeadBytes::Of(graph::TensorId tensor, std::int32_t slot) const {
  const auto& reads = reads_[tensor];
  auto at = std::lower_bound(reads.begin(), reads.end(), std::pair(slot, std::int64_t{-1}));
  std::int64_t dead = at == reads.end() ? 0 : at->second;
  for (; at != reads.end(); ++at) dead = std::min(dead, at->second);
  return dead;
}

}  // namespace neap::execute
