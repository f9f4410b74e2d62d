// SPDX-License-Identifier: Apache-2.0
#include "neap/solve/rematerialise/bound.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "neap/base/index.h"

namespace neap::rematerialise {
namespace {

constexpr std::size_t kMostOps = 4096;

using Edges = std::vector<std::vector<OpIndex>>;

// Operators that can be reached from `op`, itself included.
std::vector<char> ReachedFrom(OpIndex op, const Edges& edges) {
  std::vector<char> reached(edges.size(), 0);
  std::vector<OpIndex> stack{op};
  reached[At(op)] = 1;
  while (!stack.empty()) {
    const OpIndex at = stack.back();
    stack.pop_back();
    for (const OpIndex next : edges[At(at)]) {
      if (reached[At(next)] != 0) continue;
      reached[At(next)] = 1;
      stack.push_back(next);
    }
  }
  return reached;
}

// First runs: an operator behind another one runs for the first time after it.
Edges Successors(const Problem& problem, bool reversed) {
  Edges edges(problem.ops.size());
  const auto add = [&](OpIndex before, OpIndex after) {
    edges[At(reversed ? after : before)].push_back(reversed ? before : after);
  };
  for (const Value& value : problem.values) {
    if (value.writer == kNoWriter) continue;
    for (const OpIndex reader : value.readers) add(value.writer, reader);
  }
  for (const auto& [before, after] : problem.precedences) add(before, after);
  return edges;
}

}  // namespace

std::int64_t LowerBound(const Problem& problem) {
  std::vector<std::int64_t> touched(problem.ops.size(), 0);
  for (std::size_t op = 0; op < problem.ops.size(); ++op) {
    touched[op] = problem.ops[op].scratch_bytes;
  }
  std::int64_t ends = 0;
  for (const Value& value : problem.values) {
    if (value.writer != kNoWriter) touched[At(value.writer)] += value.bytes;
    for (const OpIndex reader : value.readers) touched[At(reader)] += value.bytes;
    if (value.live_at_end) ends += value.bytes;
  }
  std::int64_t bound = problem.ops.empty() ? 0 : ends;  // in the last step
  for (const std::int64_t bytes : touched) bound = std::max(bound, bytes);
  if (problem.ops.size() > kMostOps) return bound;
  const Edges after = Successors(problem, false);
  const Edges before = Successors(problem, true);
  std::vector<const Value*> lasting;
  for (const Value& value : problem.values) {
    if (value.writer == kNoWriter || !problem.ops[At(value.writer)].repeatable) {
      lasting.push_back(&value);
    }
  }
  for (std::size_t op = 0; op < problem.ops.size(); ++op) {
    const auto index = static_cast<OpIndex>(op);
    const std::vector<char> behind = ReachedFrom(index, after);
    const std::vector<char> ahead = ReachedFrom(index, before);
    std::int64_t bytes = touched[op];
    for (const Value* value : lasting) {
      const bool is_written = value->writer == kNoWriter || ahead[At(value->writer)] != 0;
      if (!is_written || value->writer == index) continue;
      const auto& readers = value->readers;
      if (std::binary_search(readers.begin(), readers.end(), index)) continue;  // touched
      const bool is_read = value->live_at_end ||
                           std::any_of(readers.begin(), readers.end(),
                                       [&](OpIndex reader) { return behind[At(reader)] != 0; });
      if (is_read) bytes += value->bytes;
    }
    bound = std::max(bound, bytes);
  }
  return bound;
}

}  // namespace neap::rematerialise
