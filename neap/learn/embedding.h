// SPDX-License-Identifier: Apache-2.0
//
// A graph as rows of numbers, one row a node, in the order in which the network reads them. Both
// kinds contain the publication's features: absolute coordinates (the ASAP level), relative ones
// (levels and numbers of the parents), the node's number and its memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "neap/learn/dag.h"

namespace neap::learn {

enum class Embedding : std::uint8_t {
  // The document's row of 15: level from 1, levels of six parents (0: none), numbers of six parents
  // (-1: none), number, memory; divided by constants that suit graphs of 30 nodes, because the
  // document's batch normalisation is left out.
  kDocument = 0,
  // Every coordinate relative to the graph (level to depth, number to nodes, weights to their
  // largest and their mean), and features that the publication does not have: height above the
  // sinks, the other channels, degrees, the share of the weights earlier in the queue. The same
  // range for 30 nodes and for 782.
  kRelative = 1,
};

// The order in which the network reads the nodes.
enum class Queue : std::uint8_t {
  kNumber = 0,  // by number: random in sampled graphs, as in the public generator
  kLevel = 1,   // by ASAP level, then number
};

inline constexpr std::size_t kParentsSeen = 6;  // those of the highest levels, then least number
inline constexpr std::size_t kDocumentFeatures = 2 * kParentsSeen + 3;
inline constexpr std::size_t kRelativeFeatures = 2 * kParentsSeen + 3 + 2 * kChannels + 2 + 2;

std::size_t FeaturesOf(Embedding embedding);

struct Rows {
  std::size_t features = 0;
  std::vector<float> values;     // row-major, one row a node
  std::vector<Node> node_of;     // row -> node
  std::vector<std::size_t> row;  // node -> row
  // Rows of the parents of each row, for a network that may only point at ready nodes.
  std::vector<std::vector<std::size_t>> parents;

  std::size_t size() const { return node_of.size(); }
};

// Only correctly rounded operations: the same bits on every machine. O((V + E) log V).
Rows Embed(const Dag& dag, Embedding embedding, Queue queue);

}  // namespace neap::learn
