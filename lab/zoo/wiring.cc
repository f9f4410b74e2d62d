// SPDX-License-Identifier: Apache-2.0
#include "lab/zoo/wiring.h"

#include <algorithm>
#include <cstddef>

#include "neap/base/check.h"

namespace neap::zoo {
namespace {

// A symmetric adjacency matrix.
class Adjacency {
 public:
  explicit Adjacency(int nodes)
      : nodes_(nodes), joined_(static_cast<std::size_t>(nodes) * static_cast<std::size_t>(nodes)) {}

  bool Joined(int a, int b) const { return joined_[At(a, b)]; }
  bool Connected() const {
    std::vector<bool> reached(static_cast<std::size_t>(nodes_));
    std::vector<int> waiting = {0};
    reached[0] = true;
    int count = 0;
    while (!waiting.empty()) {
      const int node = waiting.back();
      waiting.pop_back();
      ++count;
      for (int other = 0; other < nodes_; ++other) {
        if (reached[static_cast<std::size_t>(other)] || !Joined(node, other)) continue;
        reached[static_cast<std::size_t>(other)] = true;
        waiting.push_back(other);
      }
    }
    return count == nodes_;
  }
  Edges Listed() const {
    Edges edges;
    for (int low = 0; low < nodes_; ++low) {
      for (int high = low + 1; high < nodes_; ++high) {
        if (Joined(low, high)) edges.emplace_back(low, high);
      }
    }
    return edges;
  }
  void Set(int a, int b, bool joined) {
    joined_[At(a, b)] = joined;
    joined_[At(b, a)] = joined;
  }
  // Nodes that an edge from `node` could be moved to.
  std::vector<int> Strangers(int node) const {
    std::vector<int> strangers;
    for (int other = 0; other < nodes_; ++other) {
      if (other != node && !Joined(node, other)) strangers.push_back(other);
    }
    return strangers;
  }

 private:
  std::size_t At(int a, int b) const {
    return static_cast<std::size_t>(a) * static_cast<std::size_t>(nodes_) +
           static_cast<std::size_t>(b);
  }
  int nodes_;
  std::vector<bool> joined_;
};

}  // namespace

Edges WattsStrogatz(int nodes, int neighbours, Probability rewire, Random* random) {
  NEAP_CHECK(neighbours >= 2 && neighbours % 2 == 0 && neighbours < nodes,
             "a ring needs an even number of neighbours, fewer than its nodes");
  Adjacency graph(nodes);
  for (int i = 1; i <= neighbours / 2; ++i) {
    for (int v = 0; v < nodes; ++v) graph.Set(v, (v + i) % nodes, true);
  }
  for (int i = 1; i <= neighbours / 2; ++i) {
    for (int v = 0; v < nodes; ++v) {
      if (!random->Chance(rewire.numerator, rewire.denominator)) continue;
      const std::vector<int> targets = graph.Strangers(v);
      if (targets.empty()) continue;
      const int target = targets[static_cast<std::size_t>(random->Below(targets.size()))];
      graph.Set(v, (v + i) % nodes, false);
      graph.Set(v, target, true);
    }
  }
  return graph.Listed();
}

Edges ErdosRenyi(int nodes, Probability join, Random* random) {
  NEAP_CHECK(nodes >= 1 && join.numerator > 0, "a graph without edges is not connected");
  while (true) {
    Adjacency graph(nodes);
    for (int low = 0; low < nodes; ++low) {
      for (int high = low + 1; high < nodes; ++high) {
        if (random->Chance(join.numerator, join.denominator)) graph.Set(low, high, true);
      }
    }
    if (graph.Connected()) return graph.Listed();
  }
}

Edges BarabasiAlbert(int nodes, int links, Random* random) {
  NEAP_CHECK(links >= 1 && links < nodes, "a new node needs enough earlier ones");
  Adjacency graph(nodes);
  // Every node as often as it has edges.
  std::vector<int> ends;
  for (int node = links; node < nodes; ++node) {
    std::vector<int> targets;
    while (static_cast<int>(targets.size()) < links) {
      const int target = node == links ? static_cast<int>(targets.size())
                                       : ends[static_cast<std::size_t>(random->Below(ends.size()))];
      if (std::find(targets.begin(), targets.end(), target) == targets.end()) {
        targets.push_back(target);
      }
    }
    for (const int target : targets) {
      graph.Set(node, target, true);
      ends.push_back(node);
      ends.push_back(target);
    }
  }
  return graph.Listed();
}

Wiring DirectByIndex(int nodes, const Edges& edges) {
  Wiring wiring;
  wiring.predecessors.resize(static_cast<std::size_t>(nodes));
  wiring.has_successor.resize(static_cast<std::size_t>(nodes));
  for (const auto& [low, high] : edges) {
    wiring.predecessors[static_cast<std::size_t>(high)].push_back(low);
    wiring.has_successor[static_cast<std::size_t>(low)] = true;
  }
  for (auto& list : wiring.predecessors) std::sort(list.begin(), list.end());
  return wiring;
}

}  // namespace neap::zoo
