// SPDX-License-Identifier: Apache-2.0
#include "neap/solve/schedule/max_flow.h"

#include <algorithm>
#include <utility>

namespace neap::schedule {

void MaxFlow::Clear() {
  nodes_ = 2;
  given_.clear();
  built_ = false;
  flow_ = 0;
}

int MaxFlow::AddNode() { return nodes_++; }

void MaxFlow::AddEdge(int from, int to, std::int64_t capacity, int tag) {
  if (from == to || capacity == 0) return;
  given_.push_back({from, to, capacity, tag});
}

void MaxFlow::Build() {
  if (built_) return;
  built_ = true;
  begin_.assign(static_cast<std::size_t>(nodes_) + 1, 0);
  for (const Given& given : given_) {
    ++begin_[static_cast<std::size_t>(given.from)];
    ++begin_[static_cast<std::size_t>(given.to)];
  }
  int sum = 0;
  for (int& begin : begin_) begin = sum += begin;
  edges_.resize(2 * given_.size());
  tags_.resize(edges_.size());
  for (const Given& given : given_) {
    const int edge = --begin_[static_cast<std::size_t>(given.from)];
    const int back = --begin_[static_cast<std::size_t>(given.to)];
    At(edge) = {given.to, back, given.capacity, 0};
    At(back) = {given.from, edge, 0, given.capacity};
    tags_[static_cast<std::size_t>(edge)] = given.tag;
    tags_[static_cast<std::size_t>(back)] = kReverse;
  }
}

void MaxFlow::Push(int edge, std::int64_t amount) {
  Edge& there = At(edge);
  Edge& back = At(there.back);
  there.residual -= amount;
  there.back_residual += amount;
  back.residual += amount;
  back.back_residual -= amount;
}

// Distances to `to`, up to that of `from`: nodes from which it cannot be reached have none, so that
// paths run into few dead ends.
bool MaxFlow::BuildLevels(int from, int to) {
  level_.assign(static_cast<std::size_t>(nodes_), -1);
  level_[static_cast<std::size_t>(to)] = 0;
  queue_.assign(1, to);
  for (std::size_t i = 0; i < queue_.size(); ++i) {
    const int node = queue_[i];
    const int level = level_[static_cast<std::size_t>(node)] + 1;
    for (int e = Begin(node); e < End(node); ++e) {
      const Edge& edge = At(e);
      // The edge into this node is the reverse of the one that leaves it.
      if (edge.back_residual == 0 || level_[static_cast<std::size_t>(edge.to)] >= 0) continue;
      level_[static_cast<std::size_t>(edge.to)] = level;
      if (edge.to == from) return true;
      queue_.push_back(edge.to);
    }
  }
  return false;
}

// Extends path_, which begins at `from`, to `to` and pushes what fits. path_ then ends before the
// first full edge, where the next path goes on. 0: there is no path. Iteratively: networks may be
// thousands of nodes deep.
std::int64_t MaxFlow::Augment(int from, int to) {
  int node = path_.empty() ? from : At(path_.back()).to;
  while (node != to) {
    int& e = at_[static_cast<std::size_t>(node)];
    const int end = End(node);
    const int level = level_[static_cast<std::size_t>(node)] - 1;
    for (; e < end; ++e) {
      const Edge& edge = At(e);
      if (edge.residual > 0 && level_[static_cast<std::size_t>(edge.to)] == level) break;
    }
    if (e < end) {
      path_.push_back(e);
      node = At(e).to;
      continue;
    }
    if (path_.empty()) return 0;
    // Dead end: step back and pass over the edge that led here.
    const int back = path_.back();
    path_.pop_back();
    node = At(At(back).back).to;
    at_[static_cast<std::size_t>(node)] = back + 1;
  }
  std::int64_t pushed = kInfinite;
  for (const int e : path_) pushed = std::min(pushed, At(e).residual);
  std::size_t first_full = path_.size();
  for (std::size_t i = path_.size(); i-- > 0;) {
    Push(path_[i], pushed);
    if (At(path_[i]).residual == 0) first_full = i;
  }
  path_.resize(first_full);
  return pushed;
}

std::int64_t MaxFlow::Run(int from, int to, std::int64_t enough) {
  Build();
  while (flow_ < enough && BuildLevels(from, to)) {
    at_.assign(begin_.begin(), begin_.end() - 1);
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
  Build();
  remembered_flow_ = flow_;
  remembered_ = edges_;
}

void MaxFlow::Return() {
  Build();
  flow_ = remembered_flow_;
  edges_ = remembered_;
}

std::vector<MaxFlow::Path> MaxFlow::TakePaths() {
  // The flow on a given edge is the rest of its reverse.
  const auto flow_on = [&](int e) -> std::int64_t& { return At(e).back_residual; };
  const auto carries = [&](int e) {
    return tags_[static_cast<std::size_t>(e)] != kReverse && flow_on(e) > 0;
  };
  Build();
  std::vector<Path> paths;
  std::vector<int> where(static_cast<std::size_t>(nodes_), -1);  // of a node on the current walk
  while (true) {
    path_.clear();
    std::fill(where.begin(), where.end(), -1);
    int node = kSource;
    where[kSource] = 0;
    while (node != kSink) {
      int e = Begin(node);
      while (e < End(node) && !carries(e)) ++e;
      if (e == End(node)) break;  // only at the source: elsewhere what comes in goes out
      path_.push_back(e);
      node = At(e).to;
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
      const int tag = tags_[static_cast<std::size_t>(e)];
      if (tag >= 0) path.items.push_back({true, tag});
      if (At(e).to != kSink) path.items.push_back({false, At(e).to});
    }
    paths.push_back(std::move(path));
  }
}

const std::vector<char>& MaxFlow::LargestSourceSide(int to) {
  Build();
  source_side_.assign(static_cast<std::size_t>(nodes_), 1);
  source_side_[kSink] = 0;
  queue_.assign(1, kSink);
  if (to != kSink) {
    source_side_[static_cast<std::size_t>(to)] = 0;
    queue_.push_back(to);
  }
  for (std::size_t i = 0; i < queue_.size(); ++i) {
    const int node = queue_[i];
    for (int e = Begin(node); e < End(node); ++e) {
      const Edge& edge = At(e);
      // The edge into this node is the reverse of the one that leaves it.
      if (edge.back_residual == 0 || source_side_[static_cast<std::size_t>(edge.to)] == 0) continue;
      source_side_[static_cast<std::size_t>(edge.to)] = 0;
      queue_.push_back(edge.to);
    }
  }
  return source_side_;
}

const std::vector<char>& MaxFlow::SmallestSourceSide(int from) {
  Build();
  source_side_.assign(static_cast<std::size_t>(nodes_), 0);
  source_side_[kSource] = 1;
  queue_.assign(1, kSource);
  if (from != kSource) {
    source_side_[static_cast<std::size_t>(from)] = 1;
    queue_.push_back(from);
  }
  for (std::size_t i = 0; i < queue_.size(); ++i) {
    const int node = queue_[i];
    for (int e = Begin(node); e < End(node); ++e) {
      const Edge& edge = At(e);
      if (edge.residual == 0 || source_side_[static_cast<std::size_t>(edge.to)] != 0) continue;
      source_side_[static_cast<std::size_t>(edge.to)] = 1;
      queue_.push_back(edge.to);
    }
  }
  return source_side_;
}

}  // namespace neap::schedule
