// SPDX-License-Identifier: Apache-2.0
#include "neap/solve/arena/neighbours.h"

#include <algorithm>
#include <cstddef>

namespace neap::arena {
namespace {

// Calls visit(a, b) once for every pair that shares a step, until it returns false.
template <typename Visit>
bool ForEachPair(std::span<const LiveRange> ranges, Visit visit) {
  std::vector<BufferIndex> order;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    if (!ranges[i].empty()) order.push_back(static_cast<BufferIndex>(i));
  }
  const auto range = [&](BufferIndex i) -> const LiveRange& {
    return ranges[static_cast<std::size_t>(i)];
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](BufferIndex a, BufferIndex b) { return range(a).first < range(b).first; });
  std::vector<BufferIndex> live;
  for (const BufferIndex b : order) {
    std::erase_if(live, [&](BufferIndex a) { return range(a).last <= range(b).first; });
    for (const BufferIndex a : live) {
      if (!visit(a, b)) return false;
    }
    live.push_back(b);
  }
  return true;
}

}  // namespace

std::optional<Neighbours> Neighbours::Build(std::span<const LiveRange> ranges,
                                            std::int64_t max_pairs) {
  Neighbours result;
  result.begins_.assign(ranges.size() + 1, 0);
  std::int64_t pairs = 0;
  const bool few = ForEachPair(ranges, [&](BufferIndex a, BufferIndex b) {
    ++result.begins_[static_cast<std::size_t>(a) + 1];
    ++result.begins_[static_cast<std::size_t>(b) + 1];
    return ++pairs <= max_pairs;
  });
  if (!few) return std::nullopt;
  for (std::size_t i = 0; i < ranges.size(); ++i) result.begins_[i + 1] += result.begins_[i];
  result.items_.resize(result.begins_.back());
  std::vector<std::size_t> next(result.begins_.begin(), result.begins_.end() - 1);
  ForEachPair(ranges, [&](BufferIndex a, BufferIndex b) {
    result.items_[next[static_cast<std::size_t>(a)]++] = b;
    result.items_[next[static_cast<std::size_t>(b)]++] = a;
    return true;
  });
  return result;
}

}  // namespace neap::arena
