// SPDX-License-Identifier: Apache-2.0
//
// The labels that the network imitates, and the reward and metric of the publication (equations 3
// and 7).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "neap/learn/dag.h"

namespace neap::learn {

// A label is a step, counted from 1; several nodes may share one.
using Labels = std::vector<std::int32_t>;

// The document's cap on the memory of a step, in the thousandths of SamplerOptions.
inline constexpr std::int64_t kStepCap = 35'000;

// List scheduling: in every step the nodes whose parents have all run in earlier steps, highest
// first (then least number), as long as channel 0 of the step stays within the cap; one at least.
Labels AsapLabels(const Dag& dag, std::int64_t cap);
// The same on the reversed graph, counted from the end: the latest step of every node.
Labels AlapLabels(const Dag& dag, std::int64_t cap);
// A node's place in `order`, from 1.
Labels LabelsOfOrder(std::span<const Node> order);

// Nodes by their label, then by their number: the sequence that a network is taught.
std::vector<Node> OrderOfLabels(const Labels& labels);

// Equation 3: cosine between the labels in the order of the network and the same labels sorted. 1
// where no label follows a larger one. Orders of all nodes.
double CosineReward(const Labels& labels, std::span<const Node> order);

// Equation 7: places at which the two sequences differ.
std::int32_t Mismatch(const Labels& labels, std::span<const Node> order);

}  // namespace neap::learn
