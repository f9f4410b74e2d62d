// SPDX-License-Identifier: Apache-2.0
//
// Turns the sequence of a network into a valid order ("post-inference processing" in the
// publication).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "neap/learn/dag.h"

namespace neap::learn {

// Nodes that come before one of their parents.
std::int32_t Violations(const Dag& dag, std::span<const Node> order);

// A topological order: every node keeps its place, or, where a parent comes later, follows directly
// after the last of its parents. Orders without violation stay as they are. O((V + E) log V).
std::vector<Node> Repair(const Dag& dag, std::span<const Node> order);

}  // namespace neap::learn
