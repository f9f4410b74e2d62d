// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

#include "neap/base/id.h"
#include "neap/base/index.h"

namespace neap {

template <typename Tag>
constexpr std::size_t At(Id<Tag> id) {
  return id.index();
}

// Kahn's algorithm with the smallest ready node first: 0, 1, 2, ... wherever that is a topological
// order. `successors[v]` are the nodes after v; a node may occur several times. Nodes on a cycle
// and those behind it are left out. O((nodes + edges) log nodes).
template <typename Node>
std::vector<Node> TopologicalOrder(const std::vector<std::vector<Node>>& successors) {
  std::vector<std::size_t> missing(successors.size(), 0);
  for (const std::vector<Node>& nodes : successors) {
    for (const Node next : nodes) ++missing[At(next)];
  }
  std::priority_queue<Node, std::vector<Node>, std::greater<>> ready;
  for (std::size_t node = 0; node < missing.size(); ++node) {
    if (missing[node] == 0) ready.push(static_cast<Node>(node));
  }
  std::vector<Node> order;
  order.reserve(successors.size());
  while (!ready.empty()) {
    order.push_back(ready.top());
    ready.pop();
    for (const Node next : successors[At(order.back())]) {
      if (--missing[At(next)] == 0) ready.push(next);
    }
  }
  return order;
}

}  // namespace neap
