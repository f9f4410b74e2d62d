// SPDX-License-Identifier: Apache-2.0
//
// Random graphs that networks are wired after.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "neap/base/random.h"

namespace neap::zoo {

// A probability as a fraction, so that no float decides about an edge.
struct Probability {
  std::uint64_t numerator = 0;
  std::uint64_t denominator = 1;
};

// Undirected edges (lower node, higher node), in ascending order.
using Edges = std::vector<std::pair<int, int>>;

// Watts and Strogatz (1998) in the form of Xie et al. (2019), section 3.3: a ring of `nodes`, each
// joined to its neighbours / 2 next nodes on both sides; then, for i = 1 ... neighbours / 2 and for
// every node v clockwise, the edge from v to the i-th next node moves, with the given probability,
// its far end to a node drawn uniformly among those that are neither v nor joined to v (it stays
// when there is none). `neighbours` is even and less than `nodes`. The result has
// nodes * neighbours / 2 edges; it need not be connected. O(nodes^2 * neighbours).
Edges WattsStrogatz(int nodes, int neighbours, Probability rewire, Random* random);

// Erdos and Renyi (1959): every pair of nodes is joined with the given probability; drawn again
// until the graph is connected. Expected O(nodes^2) for each attempt.
Edges ErdosRenyi(int nodes, Probability join, Random* random);

// Barabasi and Albert (1999) in the form of Xie et al. (2019), section 3.3: `links` nodes without
// edges; every further node is joined to `links` different earlier ones, drawn in proportion to
// their degrees (the first of them to all). 1 <= links < nodes. The result is connected and has
// links * (nodes - links) edges. O(nodes^2 * links).
Edges BarabasiAlbert(int nodes, int links, Random* random);

// A directed acyclic graph on nodes 0, 1, ...: every edge leads from a lower to a higher node, so
// that 0, 1, ... is a topological order. Predecessors ascend.
struct Wiring {
  std::vector<std::vector<int>> predecessors;
  std::vector<bool> has_successor;
};
Wiring DirectByIndex(int nodes, const Edges& edges);

}  // namespace neap::zoo
