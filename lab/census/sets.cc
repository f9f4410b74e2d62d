// SPDX-License-Identifier: Apache-2.0
#include "lab/census/sets.h"

#include <cstddef>

namespace neap::census {
namespace {

using schedule::BufferIndex;
using schedule::OpIndex;

bool Meet(const OpSet& a, const OpSet& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if ((a[i] & b[i]) != 0) return true;
  }
  return false;
}
bool Contains(const OpSet& set, const OpSet& part) {
  for (std::size_t i = 0; i < set.size(); ++i) {
    if ((part[i] & ~set[i]) != 0) return false;
  }
  return true;
}

}  // namespace

Sets::Sets(const schedule::Problem& problem)
    : problem_(problem), words_((static_cast<std::size_t>(problem.num_ops) + 63) / 64) {
  const auto ops = static_cast<std::size_t>(problem.num_ops);
  predecessors_.assign(ops, Empty());
  buffers_.resize(ops);
  in_place_.assign(ops, -1);
  for (const auto& [before, after] : problem.precedences) {
    Add(&predecessors_[static_cast<std::size_t>(after)], before);
  }
  for (std::size_t b = 0; b < problem.buffers.size(); ++b) {
    const schedule::Buffer& buffer = problem.buffers[b];
    users_.push_back(Empty());
    for (const OpIndex op : buffer.users) {
      Add(&users_.back(), op);
      buffers_[static_cast<std::size_t>(op)].push_back(static_cast<BufferIndex>(b));
    }
    if (buffer.live_at_start) live_at_start_ += buffer.bytes;
  }
  for (std::size_t i = 0; i < problem.in_place.size(); ++i) {
    in_place_[static_cast<std::size_t>(problem.in_place[i].op)] = static_cast<std::int32_t>(i);
  }
}

bool Sets::IsReady(const OpSet& set, OpIndex op) const {
  return !Has(set, op) && Contains(set, predecessors_[static_cast<std::size_t>(op)]);
}

Sets::StepCost Sets::CostOf(const OpSet& set, std::int64_t live_bytes, OpIndex op) const {
  const auto at = static_cast<std::size_t>(op);
  OpSet after = set;
  Add(&after, op);
  std::int64_t touched_first = 0;
  std::int64_t finished = 0;
  for (const BufferIndex b : buffers_[at]) {
    const schedule::Buffer& buffer = problem_.buffers[static_cast<std::size_t>(b)];
    const OpSet& users = users_[static_cast<std::size_t>(b)];
    if (!buffer.live_at_start && !Meet(users, set)) touched_first += buffer.bytes;
    if (!buffer.live_at_end && Contains(after, users)) finished += buffer.bytes;
  }
  StepCost cost;
  cost.hill_bytes = live_bytes + touched_first;
  if (!problem_.scratch_bytes.empty()) cost.hill_bytes += problem_.scratch_bytes[at];
  if (in_place_[at] >= 0) {
    const schedule::InPlace& rule = problem_.in_place[static_cast<std::size_t>(in_place_[at])];
    if (Contains(after, users_[static_cast<std::size_t>(rule.input)])) {
      cost.hill_bytes -= problem_.buffers[static_cast<std::size_t>(rule.output)].bytes;
    }
  }
  cost.live_after_bytes = live_bytes + touched_first - finished;
  return cost;
}

}  // namespace neap::census
