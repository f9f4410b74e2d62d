// SPDX-License-Identifier: Apache-2.0
//
// A minimum cut (Picard 1976) by Dinic's algorithm.
#include "neap/transform/stream/closure.h"

#include <algorithm>
#include <limits>

namespace neap::stream {

constexpr std::int64_t kEndless = std::numeric_limits<std::int64_t>::max() / 4;

int Closure::Add(std::int64_t cost) {
  costs_.push_back(cost);
  return static_cast<int>(costs_.size()) - 1;
}

void Closure::Need(int choice, int needed) { needs_.push_back({choice, needed}); }

void Closure::Edge(int from, int to, std::int64_t capacity) {
  arcs_.push_back({to, capacity, first_[Index(from)]});
  first_[Index(from)] = static_cast<int>(arcs_.size()) - 1;
  arcs_.push_back({from, 0, first_[Index(to)]});
  first_[Index(to)] = static_cast<int>(arcs_.size()) - 1;
}

bool Closure::FindLevels(std::int64_t* steps) {
  std::fill(level_.begin(), level_.end(), -1);
  std::vector<int> queue = {source_};
  level_[Index(source_)] = 0;
  for (std::size_t i = 0; i < queue.size(); ++i) {
    for (int a = first_[Index(queue[i])]; a >= 0; a = arcs_[Index(a)].next) {
      ++*steps;
      const Arc& arc = arcs_[Index(a)];
      if (arc.capacity == 0 || level_[Index(arc.to)] >= 0) continue;
      level_[Index(arc.to)] = level_[Index(queue[i])] + 1;
      // What is as far away as the sink is on no shortest path.
      if (arc.to == sink_) return true;
      queue.push_back(arc.to);
    }
  }
  return level_[Index(sink_)] >= 0;
}

// Along one path after the other, each as far as it goes; 0: none is left.
std::int64_t Closure::Push(std::int64_t* steps) {
  std::vector<int> path;  // arcs
  for (int node = source_; node != sink_;) {
    int& a = at_[Index(node)];
    while (a >= 0) {
      ++*steps;
      const Arc& arc = arcs_[Index(a)];
      if (arc.capacity > 0 && level_[Index(arc.to)] == level_[Index(node)] + 1) break;
      a = arc.next;
    }
    if (a >= 0) {
      path.push_back(a);
      node = arcs_[Index(a)].to;
      continue;
    }
    if (path.empty()) return 0;
    node = arcs_[Index(path.back() ^ 1)].to;
    at_[Index(node)] = arcs_[Index(path.back())].next;
    path.pop_back();
  }
  std::int64_t flow = kEndless;
  for (const int a : path) flow = std::min(flow, arcs_[Index(a)].capacity);
  for (const int a : path) {
    arcs_[Index(a)].capacity -= flow;
    arcs_[Index(a ^ 1)].capacity += flow;
  }
  return flow;
}

std::int64_t Closure::Solve(std::int64_t* steps) {
  source_ = static_cast<int>(costs_.size());
  sink_ = source_ + 1;
  arcs_.clear();
  first_.assign(costs_.size() + 2, -1);
  level_.assign(first_.size(), -1);
  std::int64_t least = 0;  // without what the negative ones need
  for (std::size_t n = 0; n < costs_.size(); ++n) {
    const std::int64_t cost = costs_[n];
    if (cost < 0) {
      Edge(source_, static_cast<int>(n), -cost);
      least += cost;
    } else if (cost > 0) {
      Edge(static_cast<int>(n), sink_, cost);
    }
  }
  for (const Pair& pair : needs_) Edge(pair.choice, pair.needed, kEndless);
  while (FindLevels(steps)) {
    at_ = first_;
    while (const std::int64_t flow = Push(steps)) least += flow;
  }
  return least;
}

}  // namespace neap::stream
