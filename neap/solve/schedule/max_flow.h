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
  // `tag` comes back in Paths(); -1: of no interest.
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
  // The nodes that can be reached from the source: that side of the smallest minimum cut.
  const std::vector<char>& SmallestSourceSide();

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
  // Edge e and its reverse, e ^ 1, are adjacent, the given one first.
  struct Edge {
    int to;
    int next;
    std::int64_t residual;
  };
  bool BuildLevels(int from, int to);
  std::int64_t Augment(int from, int to);

  std::vector<int> head_;
  std::vector<Edge> edges_;
  std::vector<int> tags_;  // per pair of edges
  std::vector<char> source_side_;
  std::vector<int> level_;
  std::vector<int> at_;
  std::vector<int> queue_;
  std::vector<int> path_;
  std::int64_t flow_ = 0;
  std::vector<std::int64_t> remembered_residual_;
  std::int64_t remembered_flow_ = 0;
};

}  // namespace neap::schedule
