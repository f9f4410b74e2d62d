// SPDX-License-Identifier: Apache-2.0
//
// Maximum flow and minimum cut with 64-bit capacities (Dinic 1970). Private to neap/schedule. One
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
  std::int64_t Run(std::int64_t enough = kInfinite);
  // After a maximal Run(): the nodes from which the sink cannot be reached are the source side of
  // the largest minimum cut.
  std::vector<char> LargestSourceSide();

  // The flow as paths from source to sink, cycles left out.
  struct Path {
    std::int64_t amount = 0;
    // What the path passes after the source, in order: nodes, and edges with a tag.
    struct Item {
      bool is_edge = false;
      int id = 0;  // node, or tag of the edge
    };
    std::vector<Item> items;
  };
  // Call after Run(); uses up the flow.
  std::vector<Path> TakePaths();

 private:
  struct Edge {
    int to;
    int reverse;  // index in edges_
    int next;
    int tag;
    bool forward;
    std::int64_t residual;
  };
  bool BuildLevels();
  std::int64_t Augment(std::int64_t limit);

  std::vector<int> head_;
  std::vector<Edge> edges_;
  std::vector<int> level_;
  std::vector<int> at_;
  std::vector<int> queue_;
  std::vector<int> path_;
  std::int64_t flow_ = 0;
};

}  // namespace neap::schedule
