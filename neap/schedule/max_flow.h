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
  void AddEdge(int from, int to, std::int64_t capacity);
  // Pushes flow until it is maximal or at least `enough`. Returns the flow in total.
  std::int64_t Run(std::int64_t enough = kInfinite);
  // After a maximal Run(): the nodes from which the sink cannot be reached are the source side of
  // the largest minimum cut.
  std::vector<char> LargestSourceSide();

 private:
  struct Edge {
    int to;
    int reverse;  // index in edges_
    int next;
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
