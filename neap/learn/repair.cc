// SPDX-License-Identifier: Apache-2.0
#include "neap/learn/repair.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <queue>

namespace neap::learn {
namespace {

std::vector<std::size_t> PlacesIn(std::span<const Node> order) {
  std::vector<std::size_t> place(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) place[static_cast<std::size_t>(order[i])] = i;
  return place;
}

}  // namespace

std::int32_t Violations(const Dag& dag, std::span<const Node> order) {
  const auto place = PlacesIn(order);
  std::int32_t count = 0;
  for (std::size_t node = 0; node < order.size(); ++node) {
    const auto& parents = dag.parents[node];
    count += std::any_of(parents.begin(), parents.end(), [&](Node parent) {
      return place[static_cast<std::size_t>(parent)] > place[node];
    });
  }
  return count;
}

std::vector<Node> Repair(const Dag& dag, std::span<const Node> order) {
  const auto place = PlacesIn(order);
  const auto children = ChildrenOf(dag);
  std::vector<std::size_t> missing(order.size());
  // A node that had to wait has the first place of all as soon as its last parent has run.
  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
  for (std::size_t node = 0; node < order.size(); ++node) {
    missing[node] = dag.parents[node].size();
    if (missing[node] == 0) ready.push(place[node]);
  }
  std::vector<Node> repaired;
  repaired.reserve(order.size());
  while (!ready.empty()) {
    const Node node = order[ready.top()];
    ready.pop();
    repaired.push_back(node);
    for (const Node child : children[static_cast<std::size_t>(node)]) {
      const auto at = static_cast<std::size_t>(child);
      if (--missing[at] == 0) ready.push(place[at]);
    }
  }
  return repaired;
}

}  // namespace neap::learn
