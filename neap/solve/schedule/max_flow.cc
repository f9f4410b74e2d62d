// SPDX-License-Identifier: Apache-2.0
#include "neap/solve/schedule/max_flow.h"

#include <algorithm>
#include <utility>

namespace neap::schedule {

void MaxFlow::Clear() {
  head_.assign(2, -1);
  edges_.clear();
  tags_.clear();
  flow_ = 0;
}

int MaxFlow::AddNode() {
  head_.push_back(-1);
  return static_cast<int>(head_.size()) - 1;
}

void MaxFlow::AddEdge(int from, int to, std::int64_t capacity, int tag) {
  if (from == to || capacity == 0) return;
  const auto index = static_cast<int>(edges_.size());
  edges_.push_back({to, head_[static_cast<std::size_t>(from)], capacity});
  head_[static_cast<std::size_t>(from)] = index;
  edges_.push_back({from, head_[static_cast<std::size_t>(to)], 0});
  head_[static_cast<std::size_t>(to)] = index + 1;
  tags_.push_back(tag);
}

// Distances to `to`, up to that of `from`: nodes from which it cannot be reached have none, so that
// paths run into few dead ends.
bool MaxFlow::BuildLevels(int from, int to) {
  level_.assign(head_.size(), -1);
  level_[static_cast<std::size_t>(to)] = 0;
  queue_.assign(1, to);
  for (std::size_t i = 0; i < queue_.size(); ++i) {
    const auto node = static_cast<std::size_t>(queue_[i]);
    const int level = level_[node] + 1;
    for (int e = head_[node]; e >= 0; e = edges_[static_cast<std::size_t>(e)].next) {
      const int other = edges_[static_cast<std::size_t>(e)].to;
      if (level_[static_cast<std::size_t>(other)] >= 0) continue;
      // The edge into this node is the reverse of the one that leaves it.
      if (edges_[static_cast<std::size_t>(e ^ 1)].residual == 0) continue;
      level_[static_cast<std::size_t>(other)] = level;
      if (other == from) return true;
      queue_.push_back(other);
    }
  }
  return false;
}

// Extends path_, which begins at `from`, to `to` and pushes what fits. path_ then ends before the
// first full edge, where the next path goes on. 0: there is no path. Iteratively: networks may be
// thousands of nodes deep.
std::int64_t MaxFlow::Augment(int from, int to) {
  int node = path_.empty() ? from : edges_[static_cast<std::size_t>(path_.back())].to;
  while (node != to) {
    int& e = at_[static_cast<std::size_t>(node)];
    const int level = level_[static_cast<std::size_t>(node)] - 1;
    while (e >= 0) {
      const Edge& edge = edges_[static_cast<std::size_t>(e)];
      if (edge.residual > 0 && level_[static_cast<std::size_t>(edge.to)] == level) break;
      e = edge.next;
    }
    if (e >= 0) {
      path_.push_back(e);
      node = edges_[static_cast<std::size_t>(e)].to;
      continue;
    }
    if (path_.empty()) return 0;
    // Dead end: step back and pass over the edge that led here.
    const int back = path_.back();
    path_.pop_back();
    node = edges_[static_cast<std::size_t>(back ^ 1)].to;
    at_[static_cast<std::size_t>(node)] = edges_[static_cast<std::size_t>(back)].next;
  }
  std::int64_t pushed = kInfinite;
  for (const int e : path_) pushed = std::min(pushed, edges_[static_cast<std::size_t>(e)].residual);
  std::size_t first_full = path_.size();
  for (std::size_t i = path_.size(); i-- > 0;) {
    const int e = path_[i];
    edges_[static_cast<std::size_t>(e)].residual -= pushed;
    edges_[static_cast<std::size_t>(e ^ 1)].residual += pushed;
    if (edges_[static_cast<std::size_t>(e)].residual == 0) first_full = i;
  }
  path_.resize(first_full);
  return pushed;
}

std::int64_t MaxFlow::Run(int from, int to, std::int64_t enough) {
  while (flow_ < enough && BuildLevels(from, to)) {
    at_ = head_;
    path_.clear();
    while (flow_ < enough) {
      const std::int64_t pushed = Augment(from, to);
      if (pushed == 0) break;
      flow_ += pushed;
    }
  }
  return flow_;
}

void MaxFlow::Remember() {
  remembered_flow_ = flow_;
  remembered_residual_.clear();
  for (const Edge& edge : edges_) remembered_residual_.push_back(edge.residual);
}

void MaxFlow::Return() {
  flow_ = remembered_flow_;
  for (std::size_t e = 0; e < edges_.size(); ++e) edges_[e].residual = remembered_residual_[e];
}

std::vector<MaxFlow::Path> MaxFlow::TakePaths() {
  const auto flow_on = [&](int e) -> std::int64_t& {
    return edges_[static_cast<std::size_t>(e ^ 1)].residual;
  };
  const auto carries = [&](int e) { return (e & 1) == 0 && flow_on(e) > 0; };
  std::vector<Path> paths;
  std::vector<int> where(head_.size(), -1);  // position of a node on the current walk
  while (true) {
    path_.clear();
    std::fill(where.begin(), where.end(), -1);
    int node = kSource;
    where[kSource] = 0;
    while (node != kSink) {
      int e = head_[static_cast<std::size_t>(node)];
      while (e >= 0 && !carries(e)) e = edges_[static_cast<std::size_t>(e)].next;
      if (e < 0) break;  // only at the source: elsewhere what comes in goes out
      path_.push_back(e);
      node = edges_[static_cast<std::size_t>(e)].to;
      if (where[static_cast<std::size_t>(node)] < 0) {
        where[static_cast<std::size_t>(node)] = static_cast<int>(path_.size());
        continue;
      }
      // A cycle: take it out of the flow and start the walk again.
      const auto first = path_.begin() + where[static_cast<std::size_t>(node)];
      std::int64_t around = kInfinite;
      for (auto at = first; at != path_.end(); ++at) around = std::min(around, flow_on(*at));
      for (auto at = first; at != path_.end(); ++at) flow_on(*at) -= around;
      path_.clear();
      std::fill(where.begin(), where.end(), -1);
      node = kSource;
      where[kSource] = 0;
    }
    if (path_.empty()) return paths;
    Path path;
    path.amount = kInfinite;
    for (const int e : path_) path.amount = std::min(path.amount, flow_on(e));
    for (const int e : path_) {
      flow_on(e) -= path.amount;
      const Edge& edge = edges_[static_cast<std::size_t>(e)];
      const int tag = tags_[static_cast<std::size_t>(e) / 2];
      if (tag >= 0) path.items.push_back({true, tag});
      if (edge.to != kSink) path.items.push_back({false, edge.to});
    }
    paths.push_back(std::move(path));
  }
}

const std::vector<char>& MaxFlow::LargestSourceSide(int to) {
  source_side_.assign(head_.size(), 1);
  source_side_[kSink] = 0;
  queue_.assign(1, kSink);
  if (to != kSink) {
    source_side_[static_cast<std::size_t>(to)] = 0;
    queue_.push_back(to);
  }
  for (std::size_t i = 0; i < queue_.size(); ++i) {
    for (int e = head_[static_cast<std::size_t>(queue_[i])]; e >= 0;
         e = edges_[static_cast<std::size_t>(e)].next) {
      const int other = edges_[static_cast<std::size_t>(e)].to;
      // The edge into this node is the reverse of the one that leaves it.
      const bool reaches = edges_[static_cast<std::size_t>(e ^ 1)].residual > 0;
      if (reaches && source_side_[static_cast<std::size_t>(other)] != 0) {
        source_side_[static_cast<std::size_t>(other)] = 0;
        queue_.push_back(other);
      }
    }
  }
  return source_side_;
}

const std::vector<char>& MaxFlow::SmallestSourceSide() {
  source_side_.assign(head_.size(), 0);
  source_side_[kSource] = 1;
  queue_.assign(1, kSource);
  for (std::size_t i = 0; i < queue_.size(); ++i) {
    for (int e = head_[static_cast<std::size_t>(queue_[i])]; e >= 0;
         e = edges_[static_cast<std::size_t>(e)].next) {
      const Edge& edge = edges_[static_cast<std::size_t>(e)];
      if (edge.residual == 0 || source_side_[static_cast<std::size_t>(edge.to)] != 0) continue;
      source_side_[static_cast<std::size_t>(edge.to)] = 1;
      queue_.push_back(edge.to);
    }
  }
  return source_side_;
}

}  // namespace neap::schedule
