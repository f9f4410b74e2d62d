// SPDX-License-Identifier: Apache-2.0
//
// The cheapest set of choices of which some need others. Private to the bound.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace neap::stream {

// Choices with a cost, which may be negative. A set is closed if it contains all that its choices
// need.
class Closure {
 public:
  int Add(std::int64_t cost);
  void Need(int choice, int needed);

  // The minimum cost of a closed set, at most 0; O(V^2 E) at worst. Adds the edges it looks at to
  // `steps`.
  std::int64_t Solve(std::int64_t* steps);
  // After Solve(): whether a set of minimum cost contains the choice.
  bool Contains(int choice) const { return level_[Index(choice)] >= 0; }

 private:
  static std::size_t Index(int node) { return static_cast<std::size_t>(node); }
  void Edge(int from, int to, std::int64_t capacity);
  bool FindLevels(std::int64_t* steps);
  std::int64_t Push(std::int64_t* steps);

  struct Arc {
    int to = 0;
    std::int64_t capacity = 0;
    int next = -1;  // of the same node
  };
  std::vector<std::int64_t> costs_;
  std::vector<Arc> arcs_;  // an arc and its reverse, one after the other
  std::vector<int> first_;
  std::vector<int> at_;
  std::vector<int> level_;
  int source_ = 0;
  int sink_ = 0;
  struct Pair {
    int choice = 0;
    int needed = 0;
  };
  std::vector<Pair> needs_;
};

}  // namespace neap::stream
