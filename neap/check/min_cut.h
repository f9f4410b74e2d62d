// SPDX-License-Identifier: Apache-2.0
//
// Minimum cuts of small networks. Private to neap/check.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace neap::check {

// A flow network: source, sink, and edges with a residual capacity in both directions.
class MinCut {
 public:
  // Of an edge that no cut contains.
  static constexpr std::int64_t kWide = std::numeric_limits<std::int64_t>::max() / 8;

  // Adds the edges that it looks at to `work`.
  explicit MinCut(std::int64_t* work) : work_(*work), out_(2) {}

  std::size_t AddNode() {
    out_.emplace_back();
    return out_.size() - 1;
  }
  static constexpr std::size_t kSource = 0;
  static constexpr std::size_t kSink = 1;

  void AddEdge(std::size_t from, std::size_t to, std::int64_t room) {
    out_[from].push_back(edges_.size());
    edges_.push_back({to, room});
    out_[to].push_back(edges_.size());
    edges_.push_back({from, 0});
  }

  // The maximum flow: saturates shortest paths of one length after the other.
  std::int64_t Flow() {
    std::int64_t flow = 0;
    while (Label()) {
      tried_.assign(out_.size(), 0);
      for (std::int64_t more = Augment(); more > 0; more = Augment()) flow += more;
    }
    return flow;
  }
  // After Flow(): `node` is before the cut that is nearest to the source.
  bool OnSourceSide(std::size_t node) const { return label_[node] < out_.size(); }

 private:
  struct Edge {
    std::size_t to = 0;
    std::int64_t room = 0;
  };

  bool Label() {
    label_.assign(out_.size(), out_.size());
    label_[kSource] = 0;
    std::vector<std::size_t> line = {kSource};
    for (std::size_t i = 0; i < line.size(); ++i) {
      work_ += static_cast<std::int64_t>(out_[line[i]].size());
      for (const std::size_t e : out_[line[i]]) {
        const Edge& edge = edges_[e];
        if (edge.room <= 0 || label_[edge.to] <= label_[line[i]] + 1) continue;
        label_[edge.to] = label_[line[i]] + 1;
        line.push_back(edge.to);
      }
    }
    return label_[kSink] < out_.size();
  }

  std::int64_t Augment() {
    std::vector<std::size_t> trail;
    std::size_t node = kSource;
    while (node != kSink) {
      std::size_t& next = tried_[node];
      bool stuck = true;
      for (; next < out_[node].size(); ++next) {
        ++work_;
        const Edge& edge = edges_[out_[node][next]];
        if (edge.room > 0 && label_[edge.to] == label_[node] + 1) {
          trail.push_back(out_[node][next]);
          node = edge.to;
          stuck = false;
          break;
        }
      }
      if (!stuck) continue;
      if (trail.empty()) return 0;
      node = edges_[trail.back() ^ 1U].to;
      ++tried_[node];
      trail.pop_back();
    }
    std::int64_t room = kWide;
    for (const std::size_t e : trail) room = std::min(room, edges_[e].room);
    for (const std::size_t e : trail) {
      edges_[e].room -= room;
      edges_[e ^ 1U].room += room;
    }
    return room;
  }

  std::int64_t& work_;
  std::vector<std::vector<std::size_t>> out_;
  std::vector<Edge> edges_;
  std::vector<std::size_t> label_;
  std::vector<std::size_t> tried_;
};

}  // namespace neap::check
