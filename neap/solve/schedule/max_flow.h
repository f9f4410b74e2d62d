// SPDX-License-Identifier: Apache-2.0
//
// Maximum flow and minimum cut with 64-bit capacities (Dinic 1970). One
// object is reused for many small networks without giving memory back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace neap::schedule {

class MaxFlow {
 public:
  static constexpr std::int64_t kInfinite = std::numeric_limits<std::int64_t>::max() / 4;
  static constexpr int kSource = 0;
  static constexpr int kSink = 1;

  // Starts over with the source and the sink only.
  void Clear();
  int AddNode();
  // Before the first Run(). `tag` >= 0 comes back in TakePaths(); -1: of no interest.
  void AddEdge(int from, int to, std::int64_t capacity, int tag = -1);
  // Pushes flow until it is maximal or at least `enough`. Returns the flow in total.
  std::int64_t Run(std::int64_t enough = kInfinite) { return Run(kSource, kSink, enough); }
  // After a maximal Run(): the same as if `from` were joined to the source and `to` to the sink
  // (one of them is that anyway).
  std::int64_t Run(int from, int to, std::int64_t enough);
  // Remembers the flow; Return() goes back to it as often as wanted.
  void Remember();
  void Return();
  // After a maximal Run() to `to`: the nodes from which it and the sink cannot be reached are the
  // source side of the largest minimum cut. Valid until the next call.
  const std::vector<char>& LargestSourceSide(int to = kSink);
  // After a maximal Run() from `from`: the nodes that can be reached from it and the source, that
  // side of the smallest minimum cut.
  const std::vector<char>& SmallestSourceSide(int from = kSource);

  // The flow as paths from source to sink, cycles left out.
  struct Path {
    std::int64_t amount = 0;
    // The path after the source, in order: nodes, and edges with a tag.
    struct Item {
      bool is_edge = false;
      int id = 0;  // node, or tag of the edge
    };
    std::vector<Item> items;
  };
  // Call after Run(); uses up the flow.
  std::vector<Path> TakePaths();

 private:
  struct Given {
    int from;
    int to;
    std::int64_t capacity;
    int tag;
  };
  // Of a node: the edges that leave it are next to each other, the last one given first. Each knows
  // the rest of its reverse, so that a search against the direction of the edges finds all that
  // it needs in one place.
  struct Edge {
    int to;
    int back;  // its reverse
    std::int64_t residual;
    std::int64_t back_residual;
  };
  static constexpr int kReverse = -2;
  int Begin(int node) const { return begin_[static_cast<std::size_t>(node)]; }
  int End(int node) const { return begin_[static_cast<std::size_t>(node) + 1]; }
  Edge& At(int edge) { return edges_[static_cast<std::size_t>(edge)]; }
  void Build();
  void Push(int edge, std::int64_t amount);
  bool BuildLevels(int from, int to);
  std::int64_t Augment(int from, int to);

  int nodes_ = 2;
  std::vector<Given> given_;
  bool built_ = false;
  std::vector<int> begin_;  // per node, and one more: of its edges
  std::vector<Edge> edges_;
  std::vector<int> tags_;  // per edge; kReverse: not a given one
  std::vector<char> source_side_;
  std::vector<int> level_;
  std::vector<int> at_;
  std::vector<int> queue_;
  std::vector<int> path_;
  std::int64_t flow_ = 0;
  std::vector<Edge> remembered_;
  std::int64_t remembered_flow_ = 0;
};

}  // namespace neap::schedule
