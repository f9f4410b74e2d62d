// SPDX-License-Identifier: Apache-2.0
#include "neap/solve/schedule/parts.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "neap/base/index.h"

namespace neap::schedule {
namespace {

// For every operator that was, at some moment of a topological traversal, the only ready one: how
// many operators had run before it; -1 for the others. `order` receives the traversal.
std::vector<std::int32_t> AloneAt(OpIndex num_ops,
                                  const std::vector<std::vector<OpIndex>>& successors,
                                  std::vector<std::int32_t> missing, std::vector<OpIndex>* order) {
  std::vector<std::int32_t> alone(At(num_ops), -1);
  std::vector<OpIndex> ready;
  for (OpIndex op = 0; op < num_ops; ++op) {
    if (missing[At(op)] == 0) ready.push_back(op);
  }
  std::int32_t done = 0;
  while (!ready.empty()) {
    const OpIndex op = ready.back();
    ready.pop_back();
    if (ready.empty()) alone[At(op)] = done;
    order->push_back(op);
    ++done;
    for (const OpIndex next : successors[At(op)]) {
      if (--missing[At(next)] == 0) ready.push_back(next);
    }
  }
  return alone;
}

// Number of the part of every operator. An operator that is alone both ways is comparable with
// all others iff the operators before it and those after it together are all the others: each side
// counts the incomparable ones once.
std::vector<std::int32_t> PartOf(const Problem& problem, std::int32_t* parts) {
  const OpIndex ops = problem.num_ops;
  std::vector<std::vector<OpIndex>> successors(At(ops));
  std::vector<std::vector<OpIndex>> predecessors(At(ops));
  std::vector<std::int32_t> in(At(ops), 0);
  std::vector<std::int32_t> out(At(ops), 0);
  for (const auto& [before, after] : problem.precedences) {
    successors[At(before)].push_back(after);
    predecessors[At(after)].push_back(before);
    ++in[At(after)];
    ++out[At(before)];
  }
  std::vector<OpIndex> order;
  std::vector<OpIndex> reverse_order;
  const auto before = AloneAt(ops, successors, in, &order);
  const auto after = AloneAt(ops, predecessors, out, &reverse_order);
  std::vector<std::int32_t> part(At(ops), 0);
  std::int32_t current = 0;
  bool open = false;  // the current part has operators
  for (const OpIndex op : order) {
    const bool hourglass =
        before[At(op)] >= 0 && after[At(op)] >= 0 && before[At(op)] + after[At(op)] == ops - 1;
    if (hourglass && open) ++current;
    part[At(op)] = current;
    open = true;
    if (hourglass) {
      ++current;
      open = false;
    }
  }
  *parts = current + (open ? 1 : 0);
  return part;
}

}  // namespace

std::vector<Part> SplitAtHourglasses(const Problem& problem) {
  std::int32_t count = 0;
  const std::vector<std::int32_t> part_of = PartOf(problem, &count);
  std::vector<Part> parts(At(count));
  std::vector<OpIndex> local(At(problem.num_ops), 0);
  for (OpIndex op = 0; op < problem.num_ops; ++op) {
    Part& part = parts[At(part_of[At(op)])];
    local[At(op)] = static_cast<OpIndex>(part.ops.size());
    part.ops.push_back(op);
  }
  for (Part& part : parts) {
    part.problem.num_ops = static_cast<OpIndex>(part.ops.size());
    if (!problem.scratch_bytes.empty()) {
      for (const OpIndex op : part.ops) {
        part.problem.scratch_bytes.push_back(problem.scratch_bytes[At(op)]);
      }
    }
  }
  for (const auto& [before, after] : problem.precedences) {
    if (part_of[At(before)] != part_of[At(after)]) continue;
    parts[At(part_of[At(before)])].problem.precedences.emplace_back(local[At(before)],
                                                                    local[At(after)]);
  }
  // Bytes live across a part without being touched in it, by differences.
  std::vector<std::int64_t> across(At(count) + 1, 0);
  std::vector<std::pair<std::int32_t, BufferIndex>> placed;  // (part, index there) of a buffer
  std::vector<BufferIndex> index_in(At(count), -1);
  std::vector<std::vector<std::pair<std::int32_t, BufferIndex>>> where(
      problem.in_place.empty() && problem.take_over.empty() ? 0 : problem.buffers.size());
  for (std::size_t b = 0; b < problem.buffers.size(); ++b) {
    const Buffer& buffer = problem.buffers[b];
    std::int32_t first = count;
    std::int32_t last = -1;
    for (const OpIndex user : buffer.users) {
      first = std::min(first, part_of[At(user)]);
      last = std::max(last, part_of[At(user)]);
    }
    if (buffer.live_at_start && (last >= 0 || buffer.live_at_end)) first = -1;
    if (buffer.live_at_end && (last >= 0 || buffer.live_at_start)) last = count;
    if (first > last) continue;
    const std::int32_t begin = std::max(first, 0);
    const std::int32_t end = std::min(last, count - 1);
    if (begin <= end) {
      across[At(begin)] += buffer.bytes;
      across[At(end) + 1] -= buffer.bytes;
    }
    placed.clear();
    for (const OpIndex user : buffer.users) {
      const std::int32_t s = part_of[At(user)];
      Problem& inner = parts[At(s)].problem;
      if (index_in[At(s)] < 0) {
        index_in[At(s)] = static_cast<BufferIndex>(inner.buffers.size());
        inner.buffers.push_back({buffer.bytes, {}, first<s, last> s});
        parts[At(s)].buffers.push_back(static_cast<BufferIndex>(b));
        placed.emplace_back(s, index_in[At(s)]);
        across[At(s)] -= buffer.bytes;
        across[At(s) + 1] += buffer.bytes;
      }
      inner.buffers[At(index_in[At(s)])].users.push_back(local[At(user)]);
    }
    for (const auto& [s, index] : placed) index_in[At(s)] = -1;
    if (!where.empty()) where[b] = placed;
  }
  const auto find_in = [&](std::int32_t s, BufferIndex b) {
    for (const auto& [part, index] : where[At(b)]) {
      if (part == s) return index;
    }
    return BufferIndex{-1};
  };
  for (const TakeOver& part : problem.take_over) {
    const std::int32_t s = part_of[At(part.op)];
    Problem& inner = parts[At(s)].problem;
    TakeOver out;
    out.op = local[At(part.op)];
    for (const BufferIndex b : part.inputs) {
      const BufferIndex index = find_in(s, b);
      if (!inner.buffers[At(index)].live_at_end) out.inputs.push_back(index);
    }
    for (const BufferIndex b : part.outputs) out.outputs.push_back(find_in(s, b));
    std::sort(out.inputs.begin(), out.inputs.end());
    std::sort(out.outputs.begin(), out.outputs.end());
    if (!out.inputs.empty()) inner.take_over.push_back(std::move(out));
  }
  for (const InPlace& pair : problem.in_place) {
    const std::int32_t s = part_of[At(pair.op)];
    const auto find = [&](BufferIndex b) { return find_in(s, b); };
    // A buffer that is also used by later parts is never freed in this one.
    const BufferIndex input = find(pair.input);
    const BufferIndex output = find(pair.output);
    Problem& inner = parts[At(s)].problem;
    if (inner.buffers[At(input)].live_at_end || inner.buffers[At(output)].live_at_start) continue;
    inner.in_place.push_back({local[At(pair.op)], input, output});
  }
  std::int64_t base = 0;
  for (std::size_t s = 0; s < parts.size(); ++s) {
    base += across[s];
    if (base == 0) continue;
    parts[s].problem.buffers.push_back({base, {}, true, true});
    parts[s].buffers.push_back(-1);
  }
  return parts;
}

}  // namespace neap::schedule
