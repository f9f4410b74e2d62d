// SPDX-License-Identifier: Apache-2.0
#include "neap/learn/dag.h"

#include <algorithm>

#include "neap/base/topological_order.h"

namespace neap::learn {

std::vector<std::vector<Node>> ChildrenOf(const Dag& dag) {
  std::vector<std::vector<Node>> children(dag.parents.size());
  for (Node node = 0; node < dag.NumNodes(); ++node) {
    for (const Node parent : dag.parents[static_cast<std::size_t>(node)]) {
      children[static_cast<std::size_t>(parent)].push_back(node);
    }
  }
  return children;
}

std::vector<Node> TopologicalOrder(const Dag& dag) {
  return neap::TopologicalOrder(ChildrenOf(dag));
}

std::vector<std::int32_t> LevelsOf(const Dag& dag) {
  std::vector<std::int32_t> levels(dag.parents.size(), 0);
  for (const Node node : TopologicalOrder(dag)) {
    const auto at = static_cast<std::size_t>(node);
    for (const Node parent : dag.parents[at]) {
      levels[at] = std::max(levels[at], levels[static_cast<std::size_t>(parent)] + 1);
    }
  }
  return levels;
}

std::vector<std::int32_t> HeightsOf(const Dag& dag) {
  std::vector<std::int32_t> heights(dag.parents.size(), 0);
  const auto order = TopologicalOrder(dag);
  for (auto node = order.rbegin(); node != order.rend(); ++node) {
    const auto at = static_cast<std::size_t>(*node);
    for (const Node parent : dag.parents[at]) {
      auto& height = heights[static_cast<std::size_t>(parent)];
      height = std::max(height, heights[at] + 1);
    }
  }
  return heights;
}

}  // namespace neap::learn
