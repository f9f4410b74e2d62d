// SPDX-License-Identifier: Apache-2.0
//
// The learned scheduler's view of a problem: an acyclic graph whose nodes have a few weights. It
// has no operators and no accelerators; the modules that own the problems convert them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace neap::learn {

using Node = std::int32_t;

// Channels of weights; each task defines their meaning (docs/algorithms/learned.md, "Graphs").
inline constexpr std::size_t kChannels = 3;

struct Dag {
  std::vector<std::vector<Node>> parents;  // per node, strictly increasing, without a cycle
  // One non-negative number a node each; or empty, which reads as zeros.
  std::array<std::vector<std::int64_t>, kChannels> weights;

  Node NumNodes() const { return static_cast<Node>(parents.size()); }
};

std::vector<std::vector<Node>> ChildrenOf(const Dag& dag);

// Kahn's order, least index first. Shorter than the graph if that has a cycle. O((V + E) log V).
std::vector<Node> TopologicalOrder(const Dag& dag);

// Most edges on a path from a source to the node: its ASAP level. O((V + E) log V).
std::vector<std::int32_t> LevelsOf(const Dag& dag);
// Most edges on a path from the node to a sink.
std::vector<std::int32_t> HeightsOf(const Dag& dag);

}  // namespace neap::learn
