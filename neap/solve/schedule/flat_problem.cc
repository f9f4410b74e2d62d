// SPDX-License-Identifier: Apache-2.0
#include "neap/solve/schedule/flat_problem.h"

#include <algorithm>
#include <utility>

namespace neap::schedule {

FlatProblem::Rows<OpIndex> FlatProblem::RowsOf(
    OpIndex num_ops, const std::vector<std::pair<OpIndex, OpIndex>>& pairs) {
  Rows<OpIndex> rows;
  rows.begin.reserve(At(num_ops) + 1);
  rows.items.reserve(pairs.size());
  std::size_t at = 0;
  for (OpIndex op = 0; op < num_ops; ++op) {
    rows.begin.push_back(rows.items.size());
    for (; at < pairs.size() && pairs[at].first == op; ++at) {
      const bool again = at > 0 && pairs[at] == pairs[at - 1];
      if (!again) rows.items.push_back(pairs[at].second);
    }
  }
  rows.begin.push_back(rows.items.size());
  return rows;
}

FlatProblem::FlatProblem(const Problem& problem)
    : problem_(problem), shares_(!problem.in_place.empty() || !problem.take_over.empty()) {
  auto pairs = problem.precedences;
  std::sort(pairs.begin(), pairs.end());
  successors_ = RowsOf(problem.num_ops, pairs);
  for (auto& [before, after] : pairs) std::swap(before, after);
  std::sort(pairs.begin(), pairs.end());
  predecessors_ = RowsOf(problem.num_ops, pairs);

  std::vector<std::size_t> count(At(problem.num_ops) + 1, 0);
  for (const Buffer& buffer : problem.buffers) {
    for (const OpIndex user : buffer.users) ++count[At(user) + 1];
  }
  for (std::size_t op = 1; op < count.size(); ++op) count[op] += count[op - 1];
  buffers_of_.begin = count;
  buffers_of_.items.resize(count.back());
  for (std::size_t index = 0; index < problem.buffers.size(); ++index) {
    for (const OpIndex user : problem.buffers[index].users) {
      buffers_of_.items[count[At(user)]++] = static_cast<BufferIndex>(index);
    }
  }
  if (!shares_) return;
  in_place_.assign(At(problem.num_ops), -1);
  take_over_.assign(At(problem.num_ops), -1);
  for (std::size_t i = 0; i < problem.in_place.size(); ++i) {
    in_place_[At(problem.in_place[i].op)] = static_cast<std::int32_t>(i);
  }
  for (std::size_t i = 0; i < problem.take_over.size(); ++i) {
    take_over_[At(problem.take_over[i].op)] = static_cast<std::int32_t>(i);
  }
}

std::int64_t FlatProblem::Size() const {
  return num_ops() +
         static_cast<std::int64_t>(problem_.buffers.size() + successors_.items.size() * 2 +
                                   buffers_of_.items.size() * 2);
}

}  // namespace neap::schedule
