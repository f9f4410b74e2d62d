// SPDX-License-Identifier: Apache-2.0
#include "neap/solve/schedule/parts.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

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

// A buffer of a part: the part, and the buffer's index there.
using InPart = std::pair<std::int32_t, BufferIndex>;

struct Split {
  const Problem& problem;
  std::vector<std::int32_t> part_of = {};  // for each operator
  std::vector<OpIndex> local = {};         // for each operator, its index in its part
  std::vector<Part> parts = {};
  // Change of the bytes that are live across a part without being used in it.
  std::vector<std::int64_t> across = {};
  // For each buffer, the parts that use it; empty if no rule of the problem names buffers.
  std::vector<std::vector<InPart>> where = {};

  Problem& Inner(std::int32_t part) { return parts[At(part)].problem; }
  // -1: the part does not use it.
  BufferIndex IndexIn(std::int32_t part, BufferIndex buffer) const {
    for (const auto& [used_in, index] : where[At(buffer)]) {
      if (used_in == part) return index;
    }
    return -1;
  }
};

void AddOperators(Split* split) {
  const Problem& problem = split->problem;
  split->local.assign(At(problem.num_ops), 0);
  for (OpIndex op = 0; op < problem.num_ops; ++op) {
    Part& part = split->parts[At(split->part_of[At(op)])];
    split->local[At(op)] = static_cast<OpIndex>(part.ops.size());
    part.ops.push_back(op);
  }
  for (Part& part : split->parts) {
    part.problem.num_ops = static_cast<OpIndex>(part.ops.size());
    if (problem.scratch_bytes.empty()) continue;
    for (const OpIndex op : part.ops) {
      part.problem.scratch_bytes.push_back(problem.scratch_bytes[At(op)]);
    }
  }
  for (const auto& [before, after] : problem.precedences) {
    const std::int32_t part = split->part_of[At(before)];
    if (part != split->part_of[At(after)]) continue;
    split->Inner(part).precedences.emplace_back(split->local[At(before)], split->local[At(after)]);
  }
}

void AddBuffers(Split* split) {
  const Problem& problem = split->problem;
  const auto count = static_cast<std::int32_t>(split->parts.size());
  split->across.assign(At(count) + 1, 0);
  std::vector<InPart> placed;
  std::vector<BufferIndex> index_in(At(count), -1);
  if (!problem.in_place.empty() || !problem.take_over.empty()) {
    split->where.resize(problem.buffers.size());
  }
  const auto add_across = [&](std::int32_t begin, std::int32_t end, std::int64_t bytes) {
    split->across[At(begin)] += bytes;
    split->across[At(end) + 1] -= bytes;
  };
  for (std::size_t b = 0; b < problem.buffers.size(); ++b) {
    const Buffer& buffer = problem.buffers[b];
    std::int32_t first = count;
    std::int32_t last = -1;
    for (const OpIndex user : buffer.users) {
      first = std::min(first, split->part_of[At(user)]);
      last = std::max(last, split->part_of[At(user)]);
    }
    if (buffer.live_at_start && (last >= 0 || buffer.live_at_end)) first = -1;
    if (buffer.live_at_end && (last >= 0 || buffer.live_at_start)) last = count;
    if (first > last) continue;
    const std::int32_t begin = std::max(first, 0);
    const std::int32_t end = std::min(last, count - 1);
    if (begin <= end) add_across(begin, end, buffer.bytes);
    placed.clear();
    for (const OpIndex user : buffer.users) {
      const std::int32_t s = split->part_of[At(user)];
      Problem& inner = split->Inner(s);
      if (index_in[At(s)] < 0) {
        index_in[At(s)] = static_cast<BufferIndex>(inner.buffers.size());
        inner.buffers.push_back({buffer.bytes, {}, first<s, last> s});
        split->parts[At(s)].buffers.push_back(static_cast<BufferIndex>(b));
        placed.emplace_back(s, index_in[At(s)]);
        add_across(s, s, -buffer.bytes);
      }
      inner.buffers[At(index_in[At(s)])].users.push_back(split->local[At(user)]);
    }
    for (const auto& [s, index] : placed) index_in[At(s)] = -1;
    if (!split->where.empty()) split->where[b] = placed;
  }
}

void AddTakeOvers(Split* split) {
  for (const TakeOver& part : split->problem.take_over) {
    const std::int32_t s = split->part_of[At(part.op)];
    Problem& inner = split->Inner(s);
    TakeOver out;
    out.op = split->local[At(part.op)];
    for (const BufferIndex b : part.inputs) {
      const BufferIndex index = split->IndexIn(s, b);
      if (!inner.buffers[At(index)].live_at_end) out.inputs.push_back(index);
    }
    for (const BufferIndex b : part.outputs) out.outputs.push_back(split->IndexIn(s, b));
    std::sort(out.inputs.begin(), out.inputs.end());
    std::sort(out.outputs.begin(), out.outputs.end());
    if (!out.inputs.empty()) inner.take_over.push_back(std::move(out));
  }
}

void AddInPlace(Split* split) {
  for (const InPlace& pair : split->problem.in_place) {
    const std::int32_t s = split->part_of[At(pair.op)];
    // A buffer that is also used by later parts is never freed in this one.
    const BufferIndex input = split->IndexIn(s, pair.input);
    const BufferIndex output = split->IndexIn(s, pair.output);
    Problem& inner = split->Inner(s);
    if (inner.buffers[At(input)].live_at_end || inner.buffers[At(output)].live_at_start) continue;
    inner.in_place.push_back({split->local[At(pair.op)], input, output});
  }
}

void AddLiveAcross(Split* split) {
  std::int64_t base = 0;
  for (std::size_t s = 0; s < split->parts.size(); ++s) {
    base += split->across[s];
    if (base == 0) continue;
    split->parts[s].problem.buffers.push_back({base, {}, true, true});
    split->parts[s].buffers.push_back(-1);
  }
}

}  // namespace

std::vector<Part> SplitAtHourglasses(const Problem& problem) {
  Split split{problem};
  std::int32_t count = 0;
  split.part_of = PartOf(problem, &count);
  split.parts.resize(At(count));
  AddOperators(&split);
  AddBuffers(&split);
  AddTakeOvers(&split);
  AddInPlace(&split);
  AddLiveAcross(&split);
  return std::move(split.parts);
}

}  // namespace neap::schedule
