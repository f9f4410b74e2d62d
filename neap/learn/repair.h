// SPDX-License-Identifier: Apache-2.0
//
// What is done to the sequence of a network before anybody can use it ("post-inference processing"
// of the document).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "neap/learn/dag.h"

namespace neap::learn {

// Nodes that stand before one of their parents.
std::int32_t Violations(const Dag& dag, std::span<const Node> order);

// A topological order: every node at its place, or, where a parent stands behind it, right behind
// the last of its parents. Orders without violation stay as they are. O((V + E) log V).
std::vector<Node> Repair(const Dag& dag, std::span<const Node> order);

}  // namespace neap::learn
