// SPDX-License-Identifier: Apache-2.0
//
// Orders to cut; see cut.h.
#include <algorithm>
#include <cstddef>
#include <numeric>
#include <queue>
#include <utility>

#include "neap/base/index.h"
#include "neap/base/random.h"
#include "neap/solve/partition/cut.h"

namespace neap::partition {
namespace {

// Of the operators that may run the one with the least key, of equals the least index.
std::vector<OpIndex> ByKey(const Problem& problem, const std::vector<std::int64_t>& keys) {
  const Relations relations(problem);
  std::vector<std::size_t> waiting(keys.size());
  using Entry = std::pair<std::int64_t, OpIndex>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
  for (std::size_t op = 0; op < keys.size(); ++op) {
    waiting[op] = relations.before[op].size();
    if (waiting[op] == 0) ready.emplace(keys[op], static_cast<OpIndex>(op));
  }
  std::vector<OpIndex> order;
  order.reserve(keys.size());
  while (!ready.empty()) {
    const OpIndex op = ready.top().second;
    ready.pop();
    order.push_back(op);
    for (const OpIndex next : relations.after[At(op)]) {
      if (--waiting[At(next)] == 0) ready.emplace(keys[At(next)], next);
    }
  }
  return order;
}

}  // namespace

std::vector<OpIndex> RepairOrder(const Problem& problem, std::span<const OpIndex> sequence) {
  std::vector<std::int64_t> keys(sequence.size());
  for (std::size_t i = 0; i < sequence.size(); ++i) {
    keys[At(sequence[i])] = static_cast<std::int64_t>(i);
  }
  return ByKey(problem, keys);
}

std::vector<OpIndex> IndexOrder(const Problem& problem) {
  return ByKey(problem, std::vector<std::int64_t>(At(problem.num_ops), 0));
}

std::vector<OpIndex> Levels(const Problem& problem) {
  const Relations relations(problem);
  std::vector<OpIndex> levels(At(problem.num_ops), 0);
  for (const OpIndex op : IndexOrder(problem)) {
    for (const OpIndex before : relations.before[At(op)]) {
      levels[At(op)] = std::max(levels[At(op)], levels[At(before)] + 1);
    }
  }
  return levels;
}

std::vector<OpIndex> AsapOrder(const Problem& problem) {
  const std::vector<OpIndex> levels = Levels(problem);
  return ByKey(problem, std::vector<std::int64_t>(levels.begin(), levels.end()));
}

std::vector<OpIndex> HeightOrder(const Problem& problem) {
  const Relations relations(problem);
  const std::vector<OpIndex> order = IndexOrder(problem);
  std::vector<std::int64_t> keys(order.size(), 0);
  for (auto op = order.rbegin(); op != order.rend(); ++op) {
    for (const OpIndex after : relations.after[At(*op)]) {
      keys[At(*op)] = std::min(keys[At(*op)], keys[At(after)] - 1);
    }
  }
  return ByKey(problem, keys);
}

std::vector<OpIndex> DepthFirstOrder(const Problem& problem) {
  const Relations relations(problem);
  std::vector<std::size_t> waiting(relations.before.size());
  std::vector<OpIndex> ready;
  for (std::size_t op = waiting.size(); op > 0; --op) {
    waiting[op - 1] = relations.before[op - 1].size();
    if (waiting[op - 1] == 0) ready.push_back(static_cast<OpIndex>(op - 1));
  }
  std::vector<OpIndex> order;
  while (!ready.empty()) {
    const OpIndex op = ready.back();
    ready.pop_back();
    order.push_back(op);
    const auto& after = relations.after[At(op)];
    for (auto next = after.rbegin(); next != after.rend(); ++next) {
      if (--waiting[At(*next)] == 0) ready.push_back(*next);
    }
  }
  return order;
}

std::vector<OpIndex> RandomOrder(const Problem& problem, std::uint64_t seed) {
  std::vector<std::int64_t> keys(At(problem.num_ops));
  std::iota(keys.begin(), keys.end(), std::int64_t{0});
  Random(seed).Shuffle(keys);
  return ByKey(problem, keys);
}

}  // namespace neap::partition
